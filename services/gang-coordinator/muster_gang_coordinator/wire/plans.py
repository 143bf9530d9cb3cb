"""muster.type.v1 plan messages <-> domain, one function each way."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from muster.type.v1 import plan_pb2 as pb
from muster_eventstore import PermanentError
from muster_gang_coordinator.domain.plans import (
    Alternative,
    ArrivedNode,
    DeviceResult,
    ExistingNode,
    GroupOrder,
    NewNode,
    NoPlanKind,
    Pin,
    PinKind,
    Placement,
    Plan,
    PlannedClaim,
    Reason,
    ShapeMismatch,
    Survival,
    Target,
    UnplacedMember,
)
from muster_types import DeviceId, NodeGroupName, NodeName, OrderId, PodSetName

_TO_KIND = {
    NoPlanKind.NEVER: pb.NO_PLAN_KIND_NEVER,
    NoPlanKind.LIMIT: pb.NO_PLAN_KIND_LIMIT,
    NoPlanKind.NOT_NOW: pb.NO_PLAN_KIND_NOT_NOW,
}
_FROM_KIND = {number: kind for kind, number in _TO_KIND.items()}
_TO_SURVIVAL = {
    Survival.NOT_EXAMINED: pb.SURVIVAL_UNSPECIFIED,
    Survival.SURVIVES: pb.SURVIVAL_SURVIVES,
    Survival.PINNED: pb.SURVIVAL_PINNED,
}
_FROM_SURVIVAL = {number: survival for survival, number in _TO_SURVIVAL.items()}


def to_time(time: datetime) -> Timestamp:
    """An aware time."""
    stamp = Timestamp()
    stamp.FromDatetime(time.astimezone(UTC))
    return stamp


def from_time(stamp: Timestamp) -> datetime:
    """In UTC, to the microsecond."""
    return stamp.ToDatetime(UTC)


def to_kind(kind: NoPlanKind) -> pb.NoPlanKind.ValueType:
    return _TO_KIND[kind]


def from_kind(number: pb.NoPlanKind.ValueType) -> NoPlanKind:
    """PermanentError for a kind that this code does not know."""
    kind = _FROM_KIND.get(number)
    if kind is None:
        raise PermanentError("UNKNOWN_ENUM", f"NoPlanKind {number} is not known here")
    return kind


def to_reason(reason: Reason) -> pb.Reason:
    return pb.Reason(code=reason.code, sentence=reason.sentence, facts=dict(reason.facts))


def from_reason(reason: pb.Reason) -> Reason:
    return Reason(reason.code, reason.sentence, _pairs(reason.facts))


def to_reasons(reasons: Iterable[Reason]) -> list[pb.Reason]:
    return [to_reason(r) for r in reasons]


def from_reasons(reasons: Iterable[pb.Reason]) -> tuple[Reason, ...]:
    return tuple(from_reason(r) for r in reasons)


def to_arrived(node: ArrivedNode) -> pb.ArrivedNode:
    return pb.ArrivedNode(node=node.node, node_group=node.node_group, order_id=node.order_id, ordinal=node.ordinal)


def from_arrived(node: pb.ArrivedNode) -> ArrivedNode:
    return ArrivedNode(NodeName(node.node), NodeGroupName(node.node_group), OrderId(node.order_id), node.ordinal)


def to_mismatches(mismatches: Iterable[ShapeMismatch]) -> list[pb.ShapeMismatch]:
    return [
        pb.ShapeMismatch(check=m.check, expected=m.expected, actual=m.actual, sentence=m.sentence) for m in mismatches
    ]


def from_mismatches(mismatches: Iterable[pb.ShapeMismatch]) -> tuple[ShapeMismatch, ...]:
    return tuple(ShapeMismatch(m.check, m.expected, m.actual, m.sentence) for m in mismatches)


def to_placement(placement: Placement) -> pb.Placement:
    message = pb.Placement(
        pod_set=placement.pod_set,
        index=placement.index,
        claims=[_to_claim(c) for c in placement.claims],
        resources=dict(placement.resources),
    )
    _set_target(message, placement.target)
    return message


def from_placement(message: pb.Placement) -> Placement:
    return Placement(
        PodSetName(message.pod_set),
        message.index,
        _target(message),
        tuple(_from_claim(c) for c in message.claims),
        _pairs(message.resources),
    )


def to_plan(plan: Plan) -> pb.Plan:
    return pb.Plan(
        placements=[to_placement(p) for p in plan.placements],
        orders=[
            pb.GroupOrder(node_group=o.node_group, count=o.count, price_per_node=o.price_per_node) for o in plan.orders
        ],
        cost=plan.cost,
        new_nodes=plan.new_nodes,
        domain=plan.domain,
        alternatives=[
            pb.Alternative(description=a.description, cost=a.cost, why_not=a.why_not) for a in plan.alternatives
        ],
        lower_bound=plan.lower_bound,
        pins=map(to_pin, plan.pins),
        unplaced=to_unplaced(plan.unplaced),
        assumptions=plan.assumptions,
        survival=_TO_SURVIVAL[plan.survival],
    )


def from_plan(plan: pb.Plan) -> Plan:
    return Plan(
        tuple(from_placement(p) for p in plan.placements),
        tuple(GroupOrder(NodeGroupName(o.node_group), o.count, o.price_per_node) for o in plan.orders),
        plan.cost,
        plan.domain,
        tuple(Alternative(a.description, a.cost, a.why_not) for a in plan.alternatives),
        plan.lower_bound,
        tuple(map(_from_pin, plan.pins)),
        _from_survival(plan.survival),
        tuple(UnplacedMember(PodSetName(u.pod_set), u.index) for u in plan.unplaced),
        tuple(plan.assumptions),
    )


def to_pin(pin: Pin) -> pb.Pin:
    message = pb.Pin(kind=pin.kind.value, pod_set=pin.pod_set, index=pin.index, why=pin.why, position=pin.position)
    _set_target(message, pin.target)
    return message


def to_unplaced(members: Iterable[UnplacedMember]) -> list[pb.UnplacedMember]:
    return [pb.UnplacedMember(pod_set=m.pod_set, index=m.index) for m in members]


def _from_pin(message: pb.Pin) -> Pin:
    try:
        kind = PinKind(message.kind)
    except ValueError as error:
        raise PermanentError("UNKNOWN_PIN", f"a pin of kind {message.kind!r} is not known here") from error
    return Pin(kind, PodSetName(message.pod_set), message.index, _target(message), message.why, message.position)


def _from_survival(number: pb.Survival.ValueType) -> Survival:
    survival = _FROM_SURVIVAL.get(number)
    if survival is None:
        raise PermanentError("UNKNOWN_ENUM", f"Survival {number} is not known here")
    return survival


def _set_target(message: pb.Placement | pb.Pin, target: Target) -> None:
    match target:
        case ExistingNode(name):
            message.node = name
        case NewNode(node_group, ordinal):
            message.new_node.CopyFrom(pb.NewNode(node_group=node_group, ordinal=ordinal))


def _target(message: pb.Placement | pb.Pin) -> Target:
    if message.WhichOneof("target") == "new_node":
        return NewNode(NodeGroupName(message.new_node.node_group), message.new_node.ordinal)
    return ExistingNode(NodeName(message.node))


def _to_claim(claim: PlannedClaim) -> pb.PlannedClaim:
    return pb.PlannedClaim(
        name=claim.name,
        shared_claim=claim.shared_claim,
        results=[
            pb.DeviceResult(
                request=r.request,
                device=pb.DeviceRef(driver=r.device.driver, pool=r.device.pool, device=r.device.device),
                admin_access=r.admin_access,
                shared=r.shared,
                consumed_capacity=dict(r.consumed_capacity),
            )
            for r in claim.results
        ],
        existing=claim.existing,
    )


def _from_claim(claim: pb.PlannedClaim) -> PlannedClaim:
    results = tuple(
        DeviceResult(
            r.request,
            DeviceId(r.device.driver, r.device.pool, r.device.device),
            r.admin_access,
            r.shared,
            _pairs(r.consumed_capacity),
        )
        for r in claim.results
    )
    return PlannedClaim(claim.name, claim.shared_claim, results, claim.existing)


def _pairs(values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(values.items()))
