"""`muster streams apply`: create or update the streams of a NATS server."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import DownloadColumn, Progress, TextColumn

from muster_cli.console import Output, print_document, print_table, stderr
from muster_cli.exits import UserError
from muster_cli.live.addresses import Addresses, default_state
from muster_cli.live.store import run_on_store
from muster_cli.options import OutputOption, StateOption
from muster_eventstore import (
    AppliedStream,
    Copied,
    JetStreamStore,
    apply_streams,
    backup_stream,
    copies_in,
    load_specs,
    restore_stream,
)

app = typer.Typer(
    no_args_is_help=True,
    help="The streams of the event store: make them, copy them into files, bring copies back.\n\nExamples:\n\n"
    "  muster streams apply\n\n  muster streams backup /backups/monday\n\n  muster streams restore /backups/monday",
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


@app.command()
def backup(
    directory: Annotated[Path, typer.Argument(help="where to; a directory for each stream is made in it")],
    output: OutputOption = Output.TABLE,
    state: StateOption = None,
) -> None:
    """Copy every stream into files, messages and positions of consumers alike.

    Each copy is of one moment; stop the services first where all of them must be of the same one.
    """

    async def use(store: JetStreamStore) -> list[Copied]:
        with _progress() as told:
            return [await backup_stream(store.client, spec.name, directory, told(spec.name)) for spec in load_specs()]

    _print_copies(run_on_store(Addresses(state or default_state()), use), output)


@app.command()
def restore(
    directory: Annotated[Path, typer.Argument(help="what `muster streams backup` wrote")],
    replace: Annotated[bool, typer.Option("--replace", help="also over streams that hold messages")] = False,
    output: OutputOption = Output.TABLE,
    state: StateOption = None,
) -> None:
    """Bring streams back from files, with their sequences, in place of those of the server.

    Stop the services first; what they remember of a stream is thrown away at their next start where it does not fit.
    """
    copies = copies_in(directory)
    if not copies:
        raise UserError(f"{directory} holds no copy of a stream; name the directory that was given to `backup`")

    async def use(store: JetStreamStore) -> list[Copied]:
        held = {folder.name: (await store.state(folder.name)).messages for folder in copies}
        full = sorted(name for name, messages in held.items() if messages)
        if full and not replace:
            raise UserError(f"{', '.join(full)}: these streams hold messages; --replace puts the copies in their place")
        done: list[Copied] = []
        with _progress() as told:
            for folder in copies:
                await store.client.jetstream().delete_stream(folder.name)
                done.append(await restore_stream(store.client, folder, told(folder.name)))
        return done

    _print_copies(run_on_store(Addresses(state or default_state()), use), output)


@contextmanager
def _progress() -> Generator[Callable[[str], Callable[[int], None]]]:
    columns = TextColumn("{task.description}"), DownloadColumn()
    with Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal) as progress:

        def of(name: str) -> Callable[[int], None]:
            task = progress.add_task(name)
            return lambda size: progress.advance(task, size)

        yield of


def _print_copies(copied: list[Copied], output: Output) -> None:
    if output is not Output.TABLE:
        print_document([{"stream": c.stream, "messages": c.messages, "bytes": c.bytes} for c in copied], output)
        return
    rows = [(each.stream, f"{each.messages:,}", f"{each.bytes:,}") for each in copied]
    print_table(("STREAM", "MESSAGES", "BYTES"), rows, empty="there is no stream")
