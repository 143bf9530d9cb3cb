"""The planner's answers in the ledger's terms, and back."""

from muster_claim_matcher.domain.ledger import Booking, Unfit
from muster_claim_matcher.domain.plans import BookedPlan, Considered, Member, Order, Reason, Refusal
from muster_plan import (
    Broken,
    Gang,
    GroupOrder,
    InvalidGang,
    NoPlan,
    NoPlanKind,
    Placement,
    Plan,
    PlanReason,
    Snapshot,
)
from muster_types import GangId, Nano, NodeGroupName, PodSetName


def to_booked(plan: Plan, gang: Gang, snapshot: Snapshot) -> BookedPlan:
    return BookedPlan(
        members=to_members(plan.placements, gang),
        orders=tuple(Order(each.group, each.count, _price(snapshot, each.group)) for each in plan.orders),
        cost=plan.cost,
        new_nodes=plan.new_nodes,
        domain=plan.domain,
        alternatives=tuple(
            Considered(each.label, each.cost, f"{each.lost.value}: {each.why}" if each.why else each.lost.value)
            for each in plan.alternatives
        ),
        lower_bound=plan.bound,
        pins=plan.pins,
        survival=plan.survival,
        unplaced=plan.unplaced,
        assumptions=plan.assumptions,
    )


def to_members(placements: tuple[Placement, ...], gang: Gang) -> tuple[Member, ...]:
    requests = {pod_set.name: _requests(gang, pod_set.name) for pod_set in gang.pod_sets}
    return tuple(
        Member(each.pod_set, each.index, each.target, each.claims, requests.get(each.pod_set, ()))
        for each in placements
    )


def to_refusal(answer: NoPlan) -> Refusal:
    """The reasons, tightest first; the proof and what would help follow as reasons of their own."""
    reasons = [to_reason(each) for each in answer.reasons] or [Reason("NO_PLAN", answer.sentence())]
    if answer.proof:
        reasons.append(Reason("PROOF", answer.proof))
    reasons += [
        Reason(f"HELP_{each.kind.name}", each.text, (("subjects", ",".join(each.subjects)),) if each.subjects else ())
        for each in answer.helps
    ]
    return Refusal(answer.kind, tuple(reasons), answer.even_empty)


def to_unreadable(answer: InvalidGang) -> Refusal:
    """Objects that are missing may still be created; what is wrong in them will not heal by waiting."""
    kind = NoPlanKind.NEVER if answer.faults else NoPlanKind.NOT_NOW
    return Refusal(kind, _unreadable(answer), even_empty=bool(answer.faults))


def to_unfit(answer: Broken | InvalidGang) -> Unfit:
    if isinstance(answer, InvalidGang):
        return Unfit(_unreadable(answer))
    nodes = (("nodes", ",".join(answer.nodes)),) if answer.nodes else ()
    reasons = tuple(to_reason(each) for each in answer.reasons)
    return Unfit(tuple(Reason(each.code, each.sentence, each.facts + nodes) for each in reasons))


def to_reason(reason: PlanReason) -> Reason:
    facts = {"subject": reason.subject, **{name: str(value) for name, value in reason.data.items()}}
    return Reason(reason.code.name, reason.sentence(), tuple(sorted(facts.items())))


def to_plan(gang: GangId, booking: Booking) -> Plan:
    """The plan of a booking, as far as verification needs it."""
    booked = booking.plan
    return Plan(
        gang=gang,
        placements=tuple(Placement(each.pod_set, each.index, each.target, each.claims) for each in booking.members),
        orders=tuple(GroupOrder(each.group, each.count) for each in booked.orders),
        cost=booked.cost,
        new_nodes=booked.new_nodes,
        domains=(),
        alternatives=(),
        bound=booked.lower_bound,
        optimal=False,
        spare=(),
        pins=booked.pins,
        survival=booked.survival,
        unplaced=booked.unplaced,
        assumptions=booked.assumptions,
    )


def _unreadable(answer: InvalidGang) -> tuple[Reason, ...]:
    faults = [Reason("INVALID_OBJECT", fault) for fault in answer.faults]
    missing = [Reason("MISSING_OBJECT", f"{key} does not exist") for key in answer.missing]
    return (*faults, *missing)


def _requests(gang: Gang, name: PodSetName) -> tuple[tuple[str, Nano], ...]:
    spec = next(pod_set.spec for pod_set in gang.pod_sets if pod_set.name == name)
    return tuple(sorted(spec.requests.items()))


def _price(snapshot: Snapshot, name: NodeGroupName) -> float:
    group = snapshot.group(name)
    return 0.0 if group is None else float(group.price)
