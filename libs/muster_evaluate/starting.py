"""Which work starts on the nodes that are there, and what it takes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from muster_evaluate.work import Work
from muster_plan import (
    LEAST_FRAGMENTATION,
    BookedPod,
    Booking,
    ExistingNode,
    Gang,
    NoPlan,
    Placement,
    Plan,
    Policy,
    Snapshot,
    plan,
)
from muster_types import GangId, NodeName


@dataclass(frozen=True, slots=True)
class Started:
    """`pods` of the work have a place, on `nodes`. `why`: what stands in the way of the others, "" for nobody."""

    pods: int
    nodes: frozenset[NodeName]
    snapshot: Snapshot
    why: str


def start(snapshot: Snapshot, work: Work) -> Started:
    """On what exists. A gang starts whole or not at all, single pods as many as fit. The choice of nodes and devices
    is the planner's: the best that any scheduler could do."""
    bare = replace(snapshot, tables=replace(snapshot.tables, groups={}))
    most, found = most_of(bare, work, LEAST_FRAGMENTATION)
    if isinstance(found, NoPlan):
        return Started(0, frozenset(), snapshot, reason_of(found))
    booked = book_placements(snapshot, most, found.placements)
    nodes = frozenset(each.target.name for each in found.placements if isinstance(each.target, ExistingNode))
    placed = len(found.placements)
    return Started(
        placed, nodes, booked, "" if placed >= work.pods else f"{work.pods - placed} of {work.pods} pods fit nowhere"
    )


def most_of(snapshot: Snapshot, work: Work, policy: Policy) -> tuple[Gang, Plan | NoPlan]:
    """The plan of the whole gang; of single pods that are alike the plan of as many as can have one."""
    found = plan(snapshot, work.gang, policy)
    if isinstance(found, Plan) or work.together:
        return work.gang, found
    low, high = 0, work.pods - 1
    best: tuple[Gang, Plan | NoPlan] = work.gang, found
    while low < high:
        middle = (low + high + 1) // 2
        fewer = replace(work.gang, pod_sets=(replace(work.gang.pod_sets[0], count=middle),))
        answer = plan(snapshot, fewer, policy)
        if isinstance(answer, Plan):
            low, best = middle, (fewer, answer)
        else:
            high = middle - 1
    return best


def book_placements(snapshot: Snapshot, gang: Gang, placements: Sequence[Placement]) -> Snapshot:
    """With what placements on existing nodes take."""
    specs = {each.name: each.spec for each in gang.pod_sets}
    pods = tuple(
        BookedPod(each.target, gang.namespace, specs[each.pod_set].labels, specs[each.pod_set].requests, each.claims)
        for each in placements
    )
    return snapshot.with_bookings([*snapshot.bookings.values(), Booking(GangId(gang.id), pods)])


def reason_of(found: NoPlan) -> str:
    """The first reason, which is the tightest bound."""
    return found.reasons[0].sentence() if found.reasons else found.kind.value
