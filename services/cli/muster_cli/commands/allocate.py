"""`muster allocate`: the scheduler's choice of devices, node by node, for problems as JSON lines."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from muster_cli.exits import UserError
from muster_cli.rows import answer_rows, stdin_lines
from muster_dra import solve_problem


def allocate(
    source: Annotated[str, typer.Argument(metavar="- | FILE", help="JSON lines in the form of shared/corpus")],
) -> None:
    """Allocate the claims of one pod on each node of a problem, exactly as kube-scheduler would.

    A line holds nodes, slices, classes, claims and what is allocated already; the answer has a status for each node:
    ok (with devices), none, nodeError, or error.

    Example:

      gzip -dc allocator-random.jsonl.gz | muster allocate -
    """
    if source == "-":
        raise typer.Exit(answer_rows(solve_problem, stdin_lines(), sys.stdout.buffer))
    try:
        with Path(source).open("rb") as lines:
            raise typer.Exit(answer_rows(solve_problem, lines, sys.stdout.buffer))
    except OSError as error:
        raise UserError(f"{source} cannot be read: {error.strerror}") from error
