"""Options that many commands share, spelled once."""

from pathlib import Path
from typing import Annotated

import typer

from muster_cli.console import Output

OutputOption = Annotated[Output, typer.Option("--output", "-o", help="table for people, json or yaml for programs")]
StateOption = Annotated[
    Path | None,
    typer.Option("--state", help="state directory of `muster up` (default: MUSTER_STATE_DIR or .muster)"),
]
ClusterOption = Annotated[str, typer.Option("--cluster", envvar="MUSTER_CLUSTER", help="cluster id")]
DEFAULT_CLUSTER = "local"
