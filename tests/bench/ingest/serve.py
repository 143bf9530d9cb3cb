"""A fake API server with a large cluster, as a process of its own: `python -m bench.ingest.serve NODES KUBECONFIG`.

It writes the kubeconfig when all objects are there. Then a line on its input is a wish, answered by a line:
`change RATE SECONDS` changes pods at that rate, a tenth of it at once; the time of the change stands in the pod.
`calls` tells how many lists and watches there were since the last time.
"""

import asyncio
import sys
import time
from collections import Counter
from pathlib import Path

import uvloop

from bench.ingest.fleet import NODES, PODS_PER_NODE, objects, pod
from support.kube_api import KubeApi


async def main(nodes: int, kubeconfig: Path) -> None:
    async with KubeApi() as api:
        for obj in objects(nodes):
            api.put(obj)
        for type_id in list(api.store.shelves()):
            for _, entry in api.store.all(type_id):
                len(entry.json)  # made now: a server keeps its objects encoded
        api.compact()
        api.kubeconfig(kubeconfig)
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := (await reader.readline()).decode().split():
            match line:
                case ["change", rate, seconds]:
                    answer = await _change(api, nodes, int(rate), float(seconds))
                case ["calls"]:
                    counted = Counter(call.verb for call in api.users.calls)
                    api.users.calls.clear()
                    answer = f"{counted['list']} {counted['watch']}"
                case _:
                    answer = "unknown"
            sys.stdout.write(f"{answer}\n")
            sys.stdout.flush()


async def _change(api: KubeApi, nodes: int, rate: int, seconds: float) -> str:
    """Ten times a second; the number of changes made, and the seconds that it took."""
    begun, made, part = time.monotonic(), 0, max(1, rate // 10)
    for round_ in range(round(10 * seconds)):
        for _ in range(part):
            number, index = divmod(made % (nodes * PODS_PER_NODE), PODS_PER_NODE)
            api.put(pod(number, index, note=f"{time.time():.6f}"))
            made += 1
        await asyncio.sleep(max(0.0, begun + (round_ + 1) / 10 - time.monotonic()))
    return f"{made} {time.monotonic() - begun:.2f}"


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else NODES, Path(sys.argv[2])))
