"""`muster simscheduler`: stands for kube-scheduler on a simulated cluster."""

from pathlib import Path
from typing import Annotated

import typer

from muster_cli.exits import UserError
from muster_cli.live.addresses import default_state
from muster_cli.options import StateOption


def simscheduler(
    load: Annotated[list[Path] | None, typer.Option("--load", envvar="MUSTER_LOAD", help="dump of the cluster")] = None,
    state: StateOption = None,
) -> None:
    """Bind the pods of provisioned requests in the simulated cluster; part of `muster up`, a process of its own for
    services that run apart."""
    for path in load or ():
        if not path.exists():
            raise UserError(f"--load {path}: there is no such file or directory")
    from muster_cli.simulation.scheduler import SimulatedScheduler
    from muster_servicekit.runtime import Runtime, run_service
    from muster_servicekit.settings import ServiceSettings, read_settings
    from muster_servicekit.telemetry import set_up_logging

    settings = read_settings(ServiceSettings)
    set_up_logging("simscheduler", format=settings.log_format, level=settings.log_level)
    scheduler = SimulatedScheduler(tuple(load or ()), state or default_state())

    async def wire(runtime: Runtime) -> None:
        runtime.supervise("bind", scheduler.run)

    raise typer.Exit(run_service("simscheduler", wire, grace=settings.stop_grace))
