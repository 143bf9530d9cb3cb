"""`muster plan`: where would a gang go, and what would have to be ordered?"""

import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from muster_cli.console import Output, print_document, print_table, stdout
from muster_cli.exits import ExitStatus, UserError
from muster_cli.live.devices import devices_line
from muster_cli.offline.dumps import read_dump
from muster_cli.options import OutputOption
from muster_cli.rows import answer_rows, stdin_lines
from muster_plan import (
    CHEAPEST,
    FEWEST_NODES,
    LEAST_FRAGMENTATION,
    PREFER_EXISTING,
    ExistingNode,
    Gang,
    InvalidGang,
    NoPlan,
    Placement,
    Plan,
    Policy,
    Snapshot,
    solve_plan_problem,
    to_json,
)
from muster_plan import plan as make_plan

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
    output: OutputOption = Output.TABLE,
) -> None:
    """Plan every ProvisioningRequest of a dump, all pods or none; nothing is booked or ordered.

    Exit status 0: all have a plan; 1: at least one has none; 2: bad input.

    Examples:

      muster plan examples/fleet examples/story-1

      muster plan cluster.yaml request.yaml --request team-a/train -o json

      gzip -dc plan.jsonl.gz | muster plan -
    """
    if policy not in POLICIES:
        raise UserError(f"policy {policy!r} is unknown; choose one of {', '.join(POLICIES)}")
    if paths == ["-"]:
        raise typer.Exit(answer_rows(solve_plan_problem, stdin_lines(), sys.stdout.buffer))
    dump = read_dump(paths)
    snapshot = Snapshot.build(dump.objects)
    wanted = [
        m
        for m in dump.manifests
        if m.key.kind == "ProvisioningRequest" and request in ("", f"{m.key.namespace}/{m.key.name}")
    ]
    if not wanted:
        raise UserError(f"no ProvisioningRequest {request or ''} in {', '.join(paths)}".replace("  ", " "))
    status = ExitStatus.BAD_INPUT if dump.rejected else ExitStatus.YES
    documents: list[object] = []
    for manifest in wanted:
        name = f"{manifest.key.namespace}/{manifest.key.name}"
        gang = Gang.from_request(manifest.obj, snapshot)
        found = gang if isinstance(gang, InvalidGang) else make_plan(snapshot, gang, POLICIES[policy])
        if not isinstance(found, Plan) and status is ExitStatus.YES:
            status = ExitStatus.NO
        documents.append({"request": name, **_document(found)})
        if output is Output.TABLE:
            _print(name, found)
    if output is not Output.TABLE:
        print_document(documents, output)
    raise typer.Exit(status)


def _devices(placement: Placement) -> str:
    by_driver: dict[str, list[str]] = {}
    for claim in placement.claims:
        for result in claim.results:
            by_driver.setdefault(result.device.driver, []).append(result.device.device)
    return devices_line(by_driver)


def _document(found: Plan | NoPlan | InvalidGang) -> dict[str, object]:
    match found:
        case Plan():
            return {"feasible": True, "plan": to_json(found)}
        case NoPlan():
            return {
                "feasible": False,
                "kind": found.kind.value,
                "evenEmpty": found.even_empty,
                "reasons": [reason.sentence() for reason in found.reasons],
                "proof": found.proof,
                "helps": [each.text for each in found.helps],
            }
        case InvalidGang():
            return {"feasible": False, "kind": "invalid", "reasons": [found.sentence()]}


def _print(name: str, found: Plan | NoPlan | InvalidGang) -> None:
    match found:
        case Plan():
            orders = ", ".join(f"{order.count} of {order.group}" for order in found.orders) or "no new node"
            stdout.print(f"[bold]{name}[/]  planned: {orders}, cost {found.cost:g}", soft_wrap=True)
            print_table(
                ("POD", "NODE", "DEVICES"),
                [
                    (
                        f"{each.pod_set}-{each.index}",
                        f"{each.target}" + ("" if isinstance(each.target, ExistingNode) else " (new)"),
                        _devices(each),
                    )
                    for each in found.placements
                ],
                empty="no member has a place",
            )
            for alternative in found.alternatives:
                stdout.print(f"  not taken: {alternative.label}: {alternative.why}", markup=False, soft_wrap=True)
        case NoPlan():
            stdout.print(f"[bold]{name}[/]  no plan ({found.kind.value})", soft_wrap=True)
            for reason in found.reasons:
                stdout.print(f"  {reason.sentence()}", markup=False, soft_wrap=True)
            for each in found.helps:
                stdout.print(f"  would help: {each.text}", markup=False, soft_wrap=True)
        case InvalidGang():
            stdout.print(f"[bold]{name}[/]  cannot be planned: {found.sentence()}", soft_wrap=True)
