"""`muster streams apply`: create or update the streams of a NATS server."""

from pathlib import Path
from typing import Annotated

import typer

from muster_cli.console import print_table
from muster_cli.live.addresses import Addresses, default_state
from muster_cli.live.store import run_on_store
from muster_cli.options import StateOption
from muster_eventstore import AppliedStream, JetStreamStore, apply_streams, load_specs

app = typer.Typer(
    no_args_is_help=True, help="The streams of the event store, as data.\n\nExample:\n\n  muster streams apply"
)


@app.command()
def apply(
    file: Annotated[Path | None, typer.Argument(help="streams file (default: the one that is shipped)")] = None,
    replicas: Annotated[int, typer.Option(min=1, max=5, help="copies of each stream; 3 in a cluster")] = 1,
    state: StateOption = None,
) -> None:
    """Bring the server's streams to the form of the file; applying again changes nothing."""

    async def use(store: JetStreamStore) -> list[AppliedStream]:
        return await apply_streams(store.client, load_specs(file), replicas=replicas)

    applied = run_on_store(Addresses(state or default_state()), use)
    print_table(
        ("STREAM", "CHANGE", "FIELDS"),
        [(stream.name, stream.change.value, ", ".join(stream.fields)) for stream in applied],
        empty="the file declares no stream",
    )
