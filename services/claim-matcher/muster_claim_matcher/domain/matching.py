"""Which nodes can hold a pod's claims, and what groups could add: first fit of devices, node by node."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from muster_claim_matcher.domain.plans import Reason
from muster_claim_matcher.domain.views import MatchStatus, NodeMatch, Provisionable
from muster_dra import (
    AllocatedState,
    Allocation,
    Catalog,
    DeviceResult,
    Fatal,
    Node,
    NodeError,
    NoFit,
    Outcome,
    ResourceClaim,
    allocate,
    parse_claim,
)
from muster_plan import PlannedClaim, PlannedDevice, Snapshot, parse_claim_template
from muster_plan.potential import Potential, potentials_of
from muster_types import Nano, NodeName

_MOST_ON_A_NODE = 256  # copies of the claims that are counted on one new node


def read_claims(objects: Iterable[Mapping[str, object]]) -> tuple[ResourceClaim, ...]:
    """ResourceClaims or ResourceClaimTemplates, as the claims of one pod. Raises InvalidObject."""
    found: list[ResourceClaim] = []
    for obj in objects:
        found.append(_of_template(obj) if obj.get("kind") == "ResourceClaimTemplate" else parse_claim(obj))
    return tuple(found)


def match_node(snapshot: Snapshot, name: NodeName, claims: Sequence[ResourceClaim]) -> NodeMatch:
    """What the scheduler would allocate on this node now, bookings counted as taken."""
    node = snapshot.node(name)
    if node is None:
        reason = Reason("NO_SUCH_NODE", f"node {name} is not in the cluster")
        return NodeMatch(name, MatchStatus.ERROR, (), (reason,))
    outcome = allocate(Node(name, node.labels), claims, snapshot.catalog, snapshot.allocated)
    return NodeMatch(name, *_told(outcome, claims))


def match_nodes(
    snapshot: Snapshot, claims: Sequence[ResourceClaim], names: Sequence[NodeName], limit: int
) -> list[NodeMatch]:
    """The nodes that can, then those that cannot, each by name; `limit` cuts the list, 0 does not."""
    wanted = sorted(set(names)) or sorted(node.name for node in snapshot.tables.nodes.values())
    found = [match_node(snapshot, name, claims) for name in wanted]
    found.sort(key=lambda each: (each.status is not MatchStatus.OK, each.node))
    return found[:limit] if limit else found


def list_provisionable(snapshot: Snapshot, claims: Sequence[ResourceClaim]) -> list[Provisionable]:
    """Every group by name: what it could add beyond what is there and on order."""
    potentials = potentials_of(snapshot)
    found: list[Provisionable] = []
    for name in sorted(potentials.by_group):
        potential = potentials.by_group[name]
        group = potential.group
        headroom = max(group.room - snapshot.pending_nodes(name), 0)
        fits, reasons = _count_fits(potential, potentials.catalog, potentials.allocated, claims)
        if not headroom:
            size = group.current_size + snapshot.pending_nodes(name)
            sentence = f"group {name} is at {size} of at most {group.max_size} nodes"
            reasons = (*reasons, Reason("LIMIT", sentence))
        found.append(
            Provisionable(
                group=name,
                headroom=headroom,
                price_per_node=float(group.price),
                devices_per_node=sum(len(each.devices) for each in potential.promise.slices),
                template_known=group.template.slices is not None and not potential.fault,
                fits_per_node=fits,
                fits_total=fits * headroom,
                reasons=reasons,
                labels=dict(group.template.labels),
            )
        )
    return found


def _count_fits(
    potential: Potential, catalog: Catalog, allocated: AllocatedState, claims: Sequence[ResourceClaim]
) -> tuple[int, tuple[Reason, ...]]:
    if potential.fault:
        return 0, (Reason("TEMPLATE", potential.fault),)
    if potential.group.template.slices is None:
        return 0, (Reason("NO_TEMPLATE", f"nobody said which devices a node of {potential.group.name} has"),)
    if not claims:
        return 0, ()
    asked = [_careful(potential, claim) for claim in claims]
    state = allocated
    for count in range(_MOST_ON_A_NODE):
        outcome = allocate(potential.node, asked, catalog, state)
        if not isinstance(outcome, Allocation):
            _, _, reasons = _told(outcome, asked)
            return count, reasons if not count else ()
        state = state.plus([result for each in outcome.claims for result in each.results])
    return _MOST_ON_A_NODE, ()


def _careful(potential: Potential, claim: ResourceClaim) -> ResourceClaim:
    return replace(claim, spec=potential.promise.careful(claim.spec))


def _of_template(obj: Mapping[str, object]) -> ResourceClaim:
    template = parse_claim_template(obj)
    return ResourceClaim(template.name, template.namespace, template.spec)


def _told(
    outcome: Outcome, claims: Sequence[ResourceClaim]
) -> tuple[MatchStatus, tuple[PlannedClaim, ...], tuple[Reason, ...]]:
    match outcome:
        case Allocation(allocations):
            planned = tuple(
                PlannedClaim(claim.name, "", claim.allocation is not None, tuple(map(_device, each.results)))
                for claim, each in zip(claims, allocations, strict=True)
            )
            return MatchStatus.OK, planned, ()
        case Fatal(kind, message):
            return MatchStatus.ERROR, (), (Reason(kind.name, message),)
        case NoFit() | NodeError():
            status = MatchStatus.NONE if isinstance(outcome, NoFit) else MatchStatus.NODE_ERROR
            return status, (), tuple(Reason(each.code.name, each.sentence()) for each in outcome.reasons)


def _device(result: DeviceResult) -> PlannedDevice:
    consumed = tuple((name, Nano(amount)) for name, amount in sorted(result.consumed_capacity.items()))
    return PlannedDevice(result.request, result.device, result.admin_access, result.share, consumed)
