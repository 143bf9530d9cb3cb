"""`muster fragmentation`: what is free and of no use, and which moves would mend it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from muster_cli.console import Output, print_document, print_table, stderr, stdout
from muster_cli.exits import ExitStatus, UserError
from muster_cli.live.addresses import Addresses, default_state
from muster_cli.live.devices import folded
from muster_cli.offline.cluster_objects import read_objects
from muster_cli.offline.dumps import read_dump
from muster_cli.offline.fragmentation import amount, choose_shapes, find_shape, report_document, room_document
from muster_cli.options import DEFAULT_CLUSTER, ClusterOption, OutputOption, StateOption
from muster_fragmentation import NoRoom, Report, Room, Shape, Stranded, make_room, survey
from muster_plan import Snapshot


def fragmentation(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="DUMP...", help="files, directories, or - for standard input")
    ] = None,
    shape: Annotated[
        list[Path] | None,
        typer.Option("--shape", help="claims or templates to judge by, in place of those of the dump; repeatable"),
    ] = None,
    domain: Annotated[str, typer.Option("--domain", help="node label that splits each group, a rack for example")] = "",
    gang: Annotated[int, typer.Option("--gang", min=1, help="members of a gang, one claim each")] = 1,
    moves: Annotated[
        str, typer.Option("--moves", help="claim or template (namespace/name) to make room for, --gang times")
    ] = "",
    kubeconfig: Annotated[
        Path | None, typer.Option("--kubeconfig", help="list a live cluster, read-only, beside any files")
    ] = None,
    context: Annotated[str, typer.Option("--context", help="the context of a live cluster in the kubeconfig")] = "",
    server: Annotated[
        bool, typer.Option("--server", help="ask the inventory of a running Muster, beside any files")
    ] = False,
    state: StateOption = None,
    cluster: ClusterOption = DEFAULT_CLUSTER,
    most: Annotated[int, typer.Option("--most-shapes", min=1, help="shapes to judge by, the most frequent first")] = 8,
    output: OutputOption = Output.TABLE,
) -> None:
    """Free devices by node group and class, the largest claim that still fits, and what is free but of use to nobody.

    Shapes are the claims and templates of the dump: a device is stranded when none of them can take it where it is.
    Only devices are looked at, not CPU, memory or taints of nodes.

    A cluster comes from dump files, its API server (--kubeconfig or --context), or a running Muster (--server).

    Exit status 0: reported, or room can be made; 1: --moves found none; 2: part of the input was refused or could not
    be read; 3: the live cluster or the services do not answer.

    Examples:

      muster fragmentation examples/fleet

      muster fragmentation cluster.yaml --domain topology.kubernetes.io/rack --gang 4

      muster fragmentation cluster.yaml --moves ml/eight-gpus -o json

      muster fragmentation groups.yaml --kubeconfig ~/.kube/config --context prod
    """
    if server and (kubeconfig is not None or context):
        raise UserError("--server and --kubeconfig are two clusters; give one of them")
    if not paths and not server and kubeconfig is None and not context:
        raise UserError(
            "nothing to survey: name dump files, or --kubeconfig for a live cluster, or --server for Muster"
        )
    objects, refused = read_objects(
        paths or [],
        Addresses(state or default_state()) if server else None,
        cluster,
        (kubeconfig, context) if kubeconfig is not None or context else None,
    )
    snapshot = Snapshot.build(objects)
    given = read_dump([str(path) for path in shape]).objects if shape else []
    shapes = choose_shapes(snapshot, given, most)
    status = ExitStatus.BAD_INPUT if refused else ExitStatus.YES
    if moves:
        wanted = find_shape(snapshot, shapes, moves)
        with stderr.status(f"looking for room for {gang} × {wanted.name}"):
            answer = make_room(snapshot, wanted, gang)
        if output is Output.TABLE:
            _print_room(answer, wanted)
        else:
            print_document(room_document(answer), output)
        raise typer.Exit(ExitStatus.NO if isinstance(answer, NoRoom) and status is ExitStatus.YES else status)
    with stderr.status(f"surveying {len(snapshot.tables.nodes)} nodes by {len(shapes)} shapes"):
        report = survey(snapshot, shapes, domain_label=domain, gang=gang)
    if output is Output.TABLE:
        _print_report(report, shapes, gang, with_domain=bool(domain))
    else:
        print_document(report_document(report, shapes), output)
    raise typer.Exit(status)


def _print_report(report: Report, shapes: Sequence[Shape], gang: int, *, with_domain: bool) -> None:
    def place(group: str, domain: str) -> tuple[str, ...]:
        return (group or "(no group)", *((domain or "-",) if with_domain else ()))

    head = ("GROUP", *(("DOMAIN",) if with_domain else ()))
    print_table(
        (*head, "CLASS", "FREE", "LARGEST CLAIM", "WHOLE NODES"),
        [
            (
                *place(row.group, row.domain),
                row.device_class,
                f"{row.free} of {row.devices}",
                str(row.largest),
                f"{row.whole_nodes} of {row.nodes}",
            )
            for row in report.classes
        ],
        empty="no node publishes devices of a class; does the dump have resourceslices and deviceclasses?",
    )
    rows = [
        (
            *place(row.group, row.domain),
            row.shape,
            f"{row.copies} of {row.ideal}",
            *((f"{row.gangs} of {row.ideal_gangs}",) if gang > 1 else ()),
        )
        for row in report.shapes
        if row.ideal
    ]
    if rows:
        gangs = (f"GANGS OF {gang}",) if gang > 1 else ()
        stdout.print()
        print_table((*head, "SHAPE", "FIT, OF IDEAL", *gangs), rows, empty="")
    elif not shapes:
        stdout.print("\nno claim or template to judge by: name some by --shape to see what fits and what is stranded")
    wanted = [each for each in report.stranded if each.shape]
    if wanted:
        stdout.print()
        print_table(("STRANDED ON", "DEVICES", "NEAREST SHAPE", "WHY NOT"), _rows(wanted), empty="")
    if len(report.stranded) > len(wanted) and shapes:
        stdout.print(f"\n{len(report.stranded) - len(wanted)} free devices are of kinds that no shape asks for")
    if report.counters:
        stdout.print()
        print_table(
            ("POOL", "COUNTER", "LEFT", "OF USE TO NOBODY"),
            [
                (each.pool, f"{each.counter_set}/{each.counter}", amount(each.left), amount(each.wasted))
                for each in report.counters
            ],
            empty="",
        )
    for group, cost in sorted(report.cost.items()):
        stdout.print(f"stranded devices of {group} cost {cost:.2f} of its price", markup=False)


def _rows(stranded: Sequence[Stranded]) -> list[tuple[str, str, str, str]]:
    """Devices of one node that are stranded for one reason, in one row."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for each in stranded:
        rows.setdefault((each.node, each.shape, each.why), []).append(each.device.device)
    return [(node, " ".join(folded(names)), shape, why) for (node, shape, why), names in rows.items()]


def _print_room(answer: tuple[Room, ...] | NoRoom, shape: Shape) -> None:
    rooms: Sequence[Room] = answer.found if isinstance(answer, NoRoom) else answer
    rows = [
        (move.claim, move.source, move.target, " ".join(device.device for device in move.devices))
        for room in rooms
        for move in room.moves
    ]
    print_table(("MOVE", "FROM", "TO", "DEVICES"), rows, empty="nothing has to move")
    for room in rooms:
        devices = " ".join(device.device for device in room.devices)
        stdout.print(f"then {shape.name} fits on {room.node}: {devices}", markup=False, soft_wrap=True)
    if isinstance(answer, NoRoom):
        stdout.print(answer.why, markup=False, soft_wrap=True)
