"""Plans and reasons: domain <-> muster.type.v1."""

from collections.abc import Iterable

from muster.type.v1 import plan_pb2 as pb
from muster_claim_matcher.domain.plans import BookedPlan, Considered, Member, Order, Reason
from muster_eventstore import PermanentError
from muster_plan import (
    ExistingNode,
    NewNode,
    NoPlanKind,
    Pin,
    PinKind,
    PlannedClaim,
    PlannedDevice,
    Survival,
    Target,
)
from muster_types import (
    DeviceId,
    Nano,
    NodeGroupName,
    NodeName,
    PodSetName,
    format_quantity,
    parse_quantity,
)

_TO_KIND = {
    NoPlanKind.NEVER: pb.NO_PLAN_KIND_NEVER,
    NoPlanKind.LIMIT: pb.NO_PLAN_KIND_LIMIT,
    NoPlanKind.NOT_NOW: pb.NO_PLAN_KIND_NOT_NOW,
}
_FROM_KIND = {number: kind for kind, number in _TO_KIND.items()}
_TO_SURVIVAL = {
    Survival.UNKNOWN: pb.SURVIVAL_UNSPECIFIED,
    Survival.SURVIVES: pb.SURVIVAL_SURVIVES,
    Survival.PINNED: pb.SURVIVAL_PINNED,
}
_FROM_SURVIVAL = {number: survival for survival, number in _TO_SURVIVAL.items()}


def to_plan(plan: BookedPlan) -> pb.Plan:
    return pb.Plan(
        placements=map(to_placement, plan.members),
        orders=[
            pb.GroupOrder(node_group=each.group, count=each.count, price_per_node=each.price_per_node)
            for each in plan.orders
        ],
        cost=plan.cost,
        new_nodes=plan.new_nodes,
        domain=plan.domain,
        alternatives=[
            pb.Alternative(description=each.description, cost=each.cost, why_not=each.why_not)
            for each in plan.alternatives
        ],
        lower_bound=plan.lower_bound,
        pins=map(_to_pin, plan.pins),
        survival=_TO_SURVIVAL[plan.survival],
        unplaced=[pb.UnplacedMember(pod_set=pod_set, index=index) for pod_set, index in plan.unplaced],
        assumptions=plan.assumptions,
    )


def from_plan(message: pb.Plan) -> BookedPlan:
    return BookedPlan(
        members=tuple(map(from_placement, message.placements)),
        orders=tuple(Order(NodeGroupName(each.node_group), each.count, each.price_per_node) for each in message.orders),
        cost=message.cost,
        new_nodes=message.new_nodes,
        domain=message.domain,
        alternatives=tuple(Considered(each.description, each.cost, each.why_not) for each in message.alternatives),
        lower_bound=message.lower_bound,
        pins=tuple(map(_from_pin, message.pins)),
        survival=_from_survival(message.survival),
        unplaced=tuple((PodSetName(each.pod_set), each.index) for each in message.unplaced),
        assumptions=tuple(message.assumptions),
    )


def to_placement(member: Member) -> pb.Placement:
    message = pb.Placement(
        pod_set=member.pod_set,
        index=member.index,
        claims=map(to_claim, member.claims),
        resources={name: format_quantity(amount) for name, amount in member.resources},
    )
    _set_target(message, member.target)
    return message


def from_placement(message: pb.Placement) -> Member:
    return Member(
        PodSetName(message.pod_set),
        message.index,
        _target(message),
        tuple(map(from_claim, message.claims)),
        tuple(sorted((name, parse_quantity(amount)) for name, amount in message.resources.items())),
    )


def to_claim(claim: PlannedClaim) -> pb.PlannedClaim:
    """The devices of a claim that has its allocation already are told too; nothing of it is promised here."""
    results = map(_to_result, claim.results)
    return pb.PlannedClaim(name=claim.name, shared_claim=claim.shared, results=results, existing=claim.existing)


def from_claim(message: pb.PlannedClaim) -> PlannedClaim:
    """Before `existing` was written, a shared claim without devices meant it."""
    existing = message.existing or (bool(message.shared_claim) and not message.results)
    return PlannedClaim(message.name, message.shared_claim, existing, tuple(map(_from_result, message.results)))


def to_reasons(reasons: Iterable[Reason]) -> list[pb.Reason]:
    return [pb.Reason(code=each.code, sentence=each.sentence, facts=dict(each.facts)) for each in reasons]


def from_reasons(messages: Iterable[pb.Reason]) -> tuple[Reason, ...]:
    return tuple(Reason(each.code, each.sentence, tuple(sorted(each.facts.items()))) for each in messages)


def to_kind(kind: NoPlanKind) -> "pb.NoPlanKind.ValueType":
    return _TO_KIND[kind]


def from_kind(number: "pb.NoPlanKind.ValueType") -> NoPlanKind:
    kind = _FROM_KIND.get(number)
    if kind is None:
        raise PermanentError("UNKNOWN_KIND", f"no-plan kind {number}")
    return kind


def _to_pin(pin: Pin) -> pb.Pin:
    message = pb.Pin(kind=pin.kind.value, pod_set=pin.pod_set, index=pin.index, why=pin.why, position=pin.position)
    _set_target(message, pin.target)
    return message


def _from_pin(message: pb.Pin) -> Pin:
    try:
        kind = PinKind(message.kind)
    except ValueError as error:
        raise PermanentError("UNKNOWN_PIN", f"pin of kind {message.kind!r}: a newer version wrote it") from error
    return Pin(kind, PodSetName(message.pod_set), message.index, _target(message), message.why, message.position)


def _from_survival(number: "pb.Survival.ValueType") -> Survival:
    survival = _FROM_SURVIVAL.get(number)
    if survival is None:
        raise PermanentError("UNKNOWN_SURVIVAL", f"survival {number}: a newer version wrote it")
    return survival


def _set_target(message: pb.Placement | pb.Pin, target: Target) -> None:
    match target:
        case ExistingNode(name):
            message.node = name
        case NewNode(group, ordinal):
            message.new_node.node_group = group
            message.new_node.ordinal = ordinal


def _target(message: pb.Placement | pb.Pin) -> Target:
    match message.WhichOneof("target"):
        case "node":
            return ExistingNode(NodeName(message.node))
        case "new_node":
            return NewNode(NodeGroupName(message.new_node.node_group), message.new_node.ordinal)
        case None:
            what = message.DESCRIPTOR.name.upper()
            raise PermanentError(f"{what}_WITHOUT_TARGET", f"pod {message.index} of pod set {message.pod_set!r}")


def _to_result(result: PlannedDevice) -> pb.DeviceResult:
    device = result.device
    return pb.DeviceResult(
        request=result.request,
        device=pb.DeviceRef(driver=device.driver, pool=device.pool, device=device.device),
        admin_access=result.admin_access,
        shared=result.share,
        consumed_capacity={name: format_quantity(amount) for name, amount in result.consumed},
    )


def _from_result(message: pb.DeviceResult) -> PlannedDevice:
    device = message.device
    return PlannedDevice(
        message.request,
        DeviceId(device.driver, device.pool, device.device),
        message.admin_access,
        message.shared,
        tuple(sorted((name, Nano(parse_quantity(amount))) for name, amount in message.consumed_capacity.items())),
    )
