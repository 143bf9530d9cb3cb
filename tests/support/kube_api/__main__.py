"""The fake API server as a process: `python -m support.kube_api --journal FILE --kubeconfig FILE`.

Killed and started again with the same journal it has the objects it had, as a server over etcd. It writes the
kubeconfig once it listens.
"""

import argparse
import asyncio
from pathlib import Path

from support.kube_api.backends import backend_types
from support.kube_api.journal import keep_journal
from support.kube_api.rights import restrict
from support.kube_api.server import KubeApi


async def serve(options: argparse.Namespace) -> None:
    """Until the process is ended."""
    api = KubeApi(backend_types())
    if options.rights:
        restrict(api.users, options.rights)
    keep_journal(api.store, options.journal)
    await api.start(options.port)
    api.kubeconfig(options.kubeconfig)
    while True:
        await asyncio.sleep(options.unrest or 3600)
        if options.unrest:
            api.compact()
            api.faults.cut_now()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--rights", type=Path, help="a directory as support.kube_api.rights describes it")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--unrest", type=float, default=0.0, help="seconds between two compactions with a cut of all")
    asyncio.run(serve(parser.parse_args()))


main()
