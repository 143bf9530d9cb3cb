"""Fragmentation of a dump, as documents for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from muster_cli.exits import UserError
from muster_fragmentation import CounterWaste, NoRoom, Report, Room, Shape, merged, observed_shapes
from muster_plan import Snapshot
from muster_types import NANO

Json = dict[str, object]


def choose_shapes(snapshot: Snapshot, given: Sequence[Mapping[str, object]], most: int) -> tuple[Shape, ...]:
    """The shapes of given objects, or the most frequent of the cluster."""
    if not given:
        return observed_shapes(snapshot)[:most]
    shapes = observed_shapes(Snapshot.build(given))
    if not shapes:
        raise UserError("--shape: no ResourceClaim or ResourceClaimTemplate with a request in these files")
    return shapes


def find_shape(snapshot: Snapshot, shapes: Sequence[Shape], name: str) -> Shape:
    """By namespace/name of a claim or template."""
    tables = snapshot.tables
    for shape in shapes:
        if shape.name == name:
            return shape
    for template in tables.claim_templates.values():
        if f"{template.namespace}/{template.name}" == name:
            return Shape(name, template.spec)
    for claim in tables.claims.values():
        if claim.full_name == name:
            return merged([Shape(name, claim.spec)])[0]
    known = ", ".join(shape.name for shape in shapes[:5]) or "ml/gpus"
    raise UserError(f"--moves {name}: no such claim or template; write namespace/name, for example {known}")


def report_document(report: Report, shapes: Sequence[Shape]) -> Json:
    """Everything, with amounts of counters as plain numbers."""
    return {
        "shapes": [{"name": each.name, "devices": each.devices, "seen": each.seen} for each in shapes],
        "classes": [asdict(row) for row in report.classes],
        "fits": [asdict(row) for row in report.shapes],
        "stranded": [{**asdict(each), "device": str(each.device)} for each in report.stranded],
        "counters": [_counter(each) for each in report.counters],
        "cost": dict(report.cost),
    }


def room_document(answer: tuple[Room, ...] | NoRoom) -> Json:
    """The moves, member by member."""
    rooms = answer.found if isinstance(answer, NoRoom) else answer
    return {
        "possible": not isinstance(answer, NoRoom),
        "why": answer.why if isinstance(answer, NoRoom) else "",
        "moves": sum(len(room.moves) for room in rooms),
        "members": [
            {
                "node": room.node,
                "devices": list(map(str, room.devices)),
                "moves": [
                    {
                        "claim": move.claim,
                        "source": move.source,
                        "target": move.target,
                        "devices": list(map(str, move.devices)),
                        "pods": list(move.consumers),
                    }
                    for move in room.moves
                ],
            }
            for room in rooms
        ],
    }


def amount(nano: int) -> str:
    """A counter's amount for people."""
    whole = nano / NANO
    for unit, size in (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20)):
        if abs(whole) >= size:
            return f"{whole / size:g}{unit}"
    return f"{whole:g}"


def _counter(waste: CounterWaste) -> Json:
    amounts = {"total": waste.total, "left": waste.left, "wasted": waste.wasted}
    names = {"pool": waste.pool, "counter_set": waste.counter_set, "counter": waste.counter}
    return {**names, **{name: nano / NANO for name, nano in amounts.items()}}
