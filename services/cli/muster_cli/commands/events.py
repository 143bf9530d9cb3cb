"""`muster events`: what was decided, by whom, when, and because of what."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import typer

from muster_cli.console import Output, print_document, print_json, print_table, stderr, stdout
from muster_cli.exits import ExitStatus, UserError
from muster_cli.live.addresses import Addresses, default_state
from muster_cli.live.journal import EVENT_STREAMS, Entry, entries, follow, recorded
from muster_cli.live.store import run_on_store
from muster_cli.live.summary import summary
from muster_cli.options import DEFAULT_CLUSTER, ClusterOption, OutputOption, StateOption
from muster_eventstore import JetStreamStore

DECISIONS = tuple(stream for stream in EVENT_STREAMS if stream != "observed")


@dataclass(frozen=True, slots=True)
class Filter:
    """Which events are wanted; empty means all."""

    gang: str
    node: str
    types: frozenset[str]
    since: datetime | None
    until: datetime | None

    def wants(self, entry: Entry) -> bool:
        """Whether an event passes every condition."""
        return (
            (not self.gang or entry.is_about_gang(self.gang))
            and (not self.node or entry.names(self.node))
            and (not self.types or entry.type in self.types)
            and (self.since is None or entry.time >= self.since)
            and (self.until is None or entry.time <= self.until)
        )


def events(
    stream: Annotated[list[str] | None, typer.Option("--stream", help=f"one of {', '.join(EVENT_STREAMS)}")] = None,
    gang: Annotated[str, typer.Option("--gang", help="only events that name this gang or an order of it")] = "",
    node: Annotated[str, typer.Option("--node", help="only events that name this node")] = "",
    kind: Annotated[list[str] | None, typer.Option("--type", help="only events of this type, e.g. GangBooked")] = None,
    since: Annotated[datetime | None, typer.Option("--since", help="not before this local time")] = None,
    until: Annotated[datetime | None, typer.Option("--until", help="not after this local time")] = None,
    last: Annotated[int, typer.Option("--last", min=1, help="at most so many, the newest")] = 200,
    follow_stream: Annotated[bool, typer.Option("--follow", help="then wait for more (one --stream)")] = False,
    replay: Annotated[bool, typer.Option("--replay", help="fold all streams into an empty state and print it")] = False,
    against_services: Annotated[
        bool, typer.Option("--compare", help="with --replay: compare with what the services hold, byte for byte")
    ] = False,
    state: StateOption = None,
    cluster: ClusterOption = DEFAULT_CLUSTER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Every decision is an event and is kept. Without --stream: all decisions, not the raw observations.

    STREAM/SEQUENCE says in which stream an event stands and at which place: the events of a stream are numbered from
    1 in the order in which they were stored, events of one decision share a number, and every answer of a service
    tells up to which number it has read (`muster status`).

    Examples:

      muster events --gang train-a-1f2e3d

      muster events --node h100-b-4f1a2-0 --since "2026-05-04 12:00"

      muster events --stream provisioning --type OrderShort -o json

      muster events --replay --compare
    """
    addresses = Addresses(state or default_state())
    if replay:
        _replay(addresses, cluster, compared=against_services)
        return
    if against_services:
        raise UserError("--compare goes with --replay: `muster events --replay --compare`")
    streams = tuple(stream or DECISIONS)
    if unknown := sorted(set(streams) - set(EVENT_STREAMS)):
        raise UserError(f"no stream {unknown[0]!r}; choose of {', '.join(EVENT_STREAMS)}")
    if follow_stream and len(streams) != 1:
        raise UserError("--follow wants one --stream, for example `muster events --stream gangs --follow`")
    wanted = Filter(
        gang,
        node,
        frozenset(kind or ()),
        since.astimezone() if since else None,
        until.astimezone() if until else None,
    )

    async def use(store: JetStreamStore) -> list[Entry]:
        found = [entry for name in streams async for entry in _entries(store, name, wanted)]
        return sorted(found, key=lambda entry: (entry.time, entry.stream, entry.sequence))[-last:]

    found = run_on_store(addresses, use)
    _print(found, output)
    if follow_stream:
        _follow(addresses, streams[0], wanted, output)
    raise typer.Exit(ExitStatus.YES if found else ExitStatus.NO)


async def _entries(store: JetStreamStore, stream: str, wanted: Filter) -> AsyncGenerator[Entry, None]:
    async for message in recorded(store, stream):
        for entry in entries(message):
            if wanted.wants(entry):
                yield entry


def _follow(addresses: Addresses, stream: str, wanted: Filter, output: Output) -> None:
    async def use(store: JetStreamStore) -> None:
        after = (await store.state(stream)).last_sequence
        async for message in follow(store, stream, after):
            for entry in entries(message):
                if not wanted.wants(entry):
                    continue
                if output is Output.TABLE:
                    stdout.print("  ".join(_row(entry)), markup=False, soft_wrap=True)
                else:
                    print_document(entry.document(), output)

    run_on_store(addresses, use)


def _print(found: Sequence[Entry], output: Output) -> None:
    if output is not Output.TABLE:
        print_document([entry.document() for entry in found], output)
        return
    print_table(
        ("TIME", "STREAM/SEQUENCE", "EVENT", "WHAT"), [_row(entry) for entry in found], empty="no event matches"
    )


def _row(entry: Entry) -> tuple[str, str, str, str]:
    when = entry.time.astimezone().strftime("%m-%d %H:%M:%S.%f")[:-3]
    return when, f"{entry.stream}/{entry.sequence}", entry.type, entry.problem or summary(entry)


def _replay(addresses: Addresses, cluster: str, *, compared: bool) -> None:
    from muster_cli.live.replay import compare, replay_all  # brings four services along: a quarter of the start's time

    states = run_on_store(addresses, lambda store: replay_all(store, cluster))
    for unreadable in (problem for replayed in states.values() for problem in replayed.passed_over):
        stderr.print(f"passed over  {unreadable}", markup=False, soft_wrap=True)
    if not compared:
        print_json({name: state.document for name, state in states.items()})
        return
    verdicts = compare(addresses, cluster, states)
    for name, verdict in verdicts.items():
        stdout.print(f"{name:<10} {verdict.sentence}", markup=False)
        if not verdict.same:
            stderr.print(verdict.difference, markup=False, soft_wrap=True)
    raise typer.Exit(0 if all(verdict.same for verdict in verdicts.values()) else 1)
