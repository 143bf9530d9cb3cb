"""`muster up`: all of Muster in one process."""

from pathlib import Path
from typing import Annotated

import typer
import uvloop

from muster_cli.console import stderr, stdout
from muster_cli.exits import ExitStatus, UserError
from muster_cli.live.addresses import Addresses, ServiceName, default_state
from muster_cli.options import DEFAULT_CLUSTER, ClusterOption, StateOption


def up(
    load: Annotated[
        list[Path] | None, typer.Option("--load", help="dump of a cluster: file or directory; watched for changes")
    ] = None,
    state: StateOption = None,
    cluster: ClusterOption = DEFAULT_CLUSTER,
    seed: Annotated[int, typer.Option("--seed", help="what the simulated cloud leaves to chance")] = 1,
    log_level: Annotated[str, typer.Option("--log-level", help="debug, info, warning or error")] = "warning",
) -> None:
    """Run all services in one process, with a NATS server of their own and a simulated cloud; stop with Ctrl-C.

    No root, no container, no cluster. The dump is what `kubectl get … -o yaml` prints; nothing is written to it.

    Examples:

      muster up --load examples/fleet

      muster up --load ~/dumps/prod --state /tmp/muster-prod
    """
    for path in load or ():
        if not path.exists():
            raise UserError(f"--load {path}: there is no such file or directory")
    from muster_cli.embedded.muster import Options, run_embedded
    from muster_servicekit.embedded_nats import EmbeddedNatsError
    from muster_servicekit.telemetry import set_up_logging

    set_up_logging("muster", level=log_level)
    directory = state or default_state()

    async def on_started(nats_url: str) -> None:
        addresses = Addresses(directory)
        stdout.print(f"muster is up; state in {directory}", markup=False)
        for service in ServiceName:
            stdout.print(f"  {service.value:<17} gRPC {addresses.grpc(service)}", markup=False)
        stdout.print(f"  {'nats':<17} {nats_url}", markup=False)
        stdout.print("look around: muster status, muster gang list, muster events; ask: muster request FILE")
        stdout.file.flush()

    try:
        options = Options(directory, tuple(load or ()), cluster, seed)
        status = uvloop.run(run_embedded(options, on_started))
    except EmbeddedNatsError as error:
        raise UserError(str(error), ExitStatus.UNREACHABLE) from error
    stderr.print("muster stopped", markup=False)
    raise typer.Exit(status)
