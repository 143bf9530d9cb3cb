"""`muster plan`: where would a gang go, and what would have to be ordered?"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import typer

from muster_cli.console import Output, print_document, stderr
from muster_cli.exits import ExitStatus, UserError
from muster_cli.offline.dumps import read_dump
from muster_cli.offline.plans import plan_document, print_plan
from muster_cli.options import OutputOption
from muster_cli.rows import answer_rows, stdin_lines
from muster_plan import (
    CHEAPEST,
    FEWEST_NODES,
    LEAST_FRAGMENTATION,
    PREFER_EXISTING,
    Arrangement,
    Gang,
    InvalidGang,
    Limit,
    Plan,
    Policy,
    Snapshot,
    solve_plan_problem,
)
from muster_plan import plan as make_plan
from muster_types import NodeGroupName, ObjectKey

POLICIES: Mapping[str, Policy] = {
    "cheapest": CHEAPEST,
    "prefer-existing": PREFER_EXISTING,
    "fewest-nodes": FEWEST_NODES,
    "least-fragmentation": LEAST_FRAGMENTATION,
}
Paths = Annotated[
    list[str], typer.Argument(metavar="- | DUMP...", help="`-` for JSON lines; else files or directories")
]


def plan(
    paths: Paths,
    request: Annotated[str, typer.Option("--request", help="only this ProvisioningRequest, as namespace/name")] = "",
    policy: Annotated[str, typer.Option("--policy", help=f"one of {', '.join(POLICIES)}")] = "cheapest",
    arrange: Annotated[Arrangement, typer.Option(help="among equally good nodes")] = Arrangement.ANY,
    assume_label: Annotated[
        list[str] | None, typer.Option(help="order for this label key, which only boot will tell, and verify it then")
    ] = None,
    max_new_nodes: Annotated[int | None, typer.Option(min=0, help="over all groups together")] = None,
    max_new_devices: Annotated[int | None, typer.Option(min=0, help="over all groups together")] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, help="over all groups together")] = None,
    without_group: Annotated[list[str] | None, typer.Option(help="what if this node group gave nothing")] = None,
    without_node: Annotated[list[str] | None, typer.Option(help="what if this node were gone")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Plan every ProvisioningRequest of a dump, all pods or none; nothing is booked or ordered.

    Exit status 0: all have a plan; 1: at least one has none; 2: bad input.

    Examples:

      muster plan examples/fleet examples/story-1

      muster plan cluster.yaml request.yaml --request team-a/train -o json

      muster plan cluster.yaml request.yaml --without-group h100 --max-cost 5000

      What if there were another group: give its NodeGroup as a further file.

      gzip -dc plan.jsonl.gz | muster plan -
    """
    if policy not in POLICIES:
        raise UserError(f"policy {policy!r} is unknown; choose one of {', '.join(POLICIES)}")
    if paths == ["-"]:
        raise typer.Exit(answer_rows(solve_plan_problem, stdin_lines(), sys.stdout.buffer))
    dump = read_dump(paths)
    snapshot = Snapshot.build(dump.objects)
    status = ExitStatus.BAD_INPUT if dump.rejected or snapshot.problems else ExitStatus.YES
    for key in sorted(snapshot.problems):
        stderr.print(f"refused  {snapshot.problems[key]}", markup=False, soft_wrap=True)
    chosen = replace(
        POLICIES[policy],
        arrangement=arrange,
        assume_labels=frozenset(assume_label or ()),
        excluded_groups=frozenset(map(NodeGroupName, without_group or ())),
        limits=_limits(max_new_nodes, max_new_devices, max_cost),
    )
    snapshot = _without(snapshot, without_node or (), without_group or ())
    wanted = [
        m
        for m in dump.manifests
        if m.key.kind == "ProvisioningRequest" and request in ("", f"{m.key.namespace}/{m.key.name}")
    ]
    if not wanted:
        raise UserError(f"no ProvisioningRequest {request or ''} in {', '.join(paths)}".replace("  ", " "))
    documents: list[object] = []
    for manifest in wanted:
        name = f"{manifest.key.namespace}/{manifest.key.name}"
        gang = Gang.from_request(manifest.obj, snapshot)
        found = gang if isinstance(gang, InvalidGang) else make_plan(snapshot, gang, chosen)
        if not isinstance(found, Plan) and status is ExitStatus.YES:
            status = ExitStatus.NO
        documents.append({"request": name, **plan_document(found)})
        if output is Output.TABLE:
            print_plan(name, found)
    if output is not Output.TABLE:
        print_document(documents, output)
    raise typer.Exit(status)


def _limits(nodes: int | None, devices: int | None, cost: float | None) -> tuple[Limit, ...]:
    if nodes is None and devices is None and cost is None:
        return ()
    return (Limit("command line", max_new_nodes=nodes, max_new_devices=devices, max_cost=cost),)


def _without(snapshot: Snapshot, nodes: Sequence[str], groups: Sequence[str]) -> Snapshot:
    """Raises UserError for a name that the dump does not have: a supposition about nothing is a typing error."""
    for kind, names, table in (
        ("Node", nodes, snapshot.tables.nodes),
        ("NodeGroup", groups, snapshot.tables.groups),
    ):
        for name in names:
            if ObjectKey(kind, "", name) not in table:
                raise UserError(f"{kind} {name!r} is not in the dump")
    return snapshot.apply((), [ObjectKey("Node", "", name) for name in nodes]) if nodes else snapshot
