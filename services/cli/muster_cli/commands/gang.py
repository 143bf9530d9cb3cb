"""`muster gang`: list, show, watch, cancel; why is in a module of its own."""

from typing import Annotated
from uuid import uuid4

import typer

from muster.api.capacity.v1 import capacity_service_pb2 as pb
from muster_cli.console import Output, print_document, stderr, stdout
from muster_cli.exits import ExitStatus
from muster_cli.live import clients
from muster_cli.live.addresses import Addresses, default_state
from muster_cli.live.gangs import BAD_ENDS, ENDS, history_line, print_gang, print_gangs, timeline_line, to_document
from muster_cli.live.origins import causes_of
from muster_cli.live.store import run_on_store
from muster_cli.options import DEFAULT_CLUSTER, ClusterOption, OutputOption, StateOption

app = typer.Typer(
    no_args_is_help=True,
    help="Gangs: list them, show one, follow one, cancel one, ask why one was where it was.\n\n"
    "Examples:\n\n  muster gang list\n\n  muster gang show train-a-1f2e3d --history\n\n"
    "  muster gang cancel train-a-1f2e3d",
)
GangArgument = Annotated[str, typer.Argument(metavar="GANG", help="id, as `muster gang list` prints it")]


@app.command("list")
def list_gangs(
    state: StateOption = None, cluster: ClusterOption = DEFAULT_CLUSTER, output: OutputOption = Output.TABLE
) -> None:
    """Every gang that was asked for, newest change first."""
    gangs: list[pb.GangView] = []
    token = ""
    with clients.capacity(Addresses(state or default_state())) as capacity:
        while True:
            answer = capacity.ListGangs(pb.ListGangsRequest(cluster=cluster, page_size=500, page_token=token))
            gangs.extend(answer.gangs)
            token = answer.next_page_token
            if not token:
                break
    if output is Output.TABLE:
        print_gangs(gangs)
    else:
        print_document([to_document(gang) for gang in gangs], output)


@app.command()
def show(
    gang: GangArgument,
    history: Annotated[bool, typer.Option("--history", help="its story, event by event, with causes")] = False,
    state: StateOption = None,
    cluster: ClusterOption = DEFAULT_CLUSTER,
    output: OutputOption = Output.TABLE,
) -> None:
    """State, reasons, orders, and each member's node and devices."""
    with clients.capacity(Addresses(state or default_state())) as capacity:
        view = capacity.GetGang(pb.GetGangRequest(cluster=cluster, gang_id=gang)).gang
        events = (
            list(capacity.WatchGang(pb.WatchGangRequest(cluster=cluster, gang_id=gang, history_only=True)))
            if history
            else []
        )
    if output is not Output.TABLE:
        document = {**to_document(view), **({"history": [to_document(event) for event in events]} if history else {})}
        print_document(document, output)
        return
    print_gang(view)
    if history:
        stdout.print()
        known = run_on_store(Addresses(state or default_state()), lambda store: causes_of(store, cluster, gang))
        for event in events:
            stdout.print(history_line(event, known.get(event.sequence, "")), markup=False, soft_wrap=True)


@app.command()
def watch(
    gang: GangArgument,
    state: StateOption = None,
    cluster: ClusterOption = DEFAULT_CLUSTER,
) -> None:
    """Follow a gang until it ends: 0 when it was consumed, 1 when it ended otherwise."""
    last: pb.WatchGangResponse | None = None
    with clients.capacity(Addresses(state or default_state())) as capacity:
        for event in capacity.WatchGang(pb.WatchGangRequest(cluster=cluster, gang_id=gang, until_end=True)):
            last = event
            stdout.print(timeline_line(event), markup=False, soft_wrap=True)
            if event.state in ENDS:
                break
    raise typer.Exit(ExitStatus.NO if last is None or last.state in BAD_ENDS else ExitStatus.YES)


@app.command()
def cancel(
    gang: GangArgument,
    cause: Annotated[str, typer.Option(help="why, for the record")] = "cancelled by hand",
    state: StateOption = None,
    cluster: ClusterOption = DEFAULT_CLUSTER,
) -> None:
    """Give everything back that was booked or ordered for a gang."""
    with clients.capacity(Addresses(state or default_state())) as capacity:
        capacity.CancelGang(pb.CancelGangRequest(cluster=cluster, gang_id=gang, request_id=str(uuid4()), cause=cause))
    stderr.print(f"asked to cancel {gang}; follow it with `muster gang watch {gang}`", markup=False)
