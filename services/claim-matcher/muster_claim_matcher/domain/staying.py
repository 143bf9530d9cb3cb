"""Members of a gang that stay where they are while others are placed or verified anew.

A member whose pod is bound is in the cluster itself: its claims show their devices, and nothing of it is promised any
more. A member that is only booked keeps its booking. Neither is moved by a repair (group-capacity F21).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from muster_claim_matcher.domain.consumption import AllocatedClaims, unbound_members
from muster_claim_matcher.domain.ledger import Booking
from muster_claim_matcher.domain.plans import BookedPlan, Member, Reason
from muster_claim_matcher.domain.view import Holding
from muster_dra import PoolId
from muster_plan import ExistingNode, Gang, Pod, Snapshot
from muster_plan.gang import RunningMember
from muster_types import NodeName, ObjectKey, PodSetName

Place = tuple[PodSetName, int]


@dataclass(frozen=True, slots=True)
class Split:
    """`bound` and `booked` members stay; `open` ones have no place that holds. All in the order of the booking."""

    bound: tuple[Member, ...]
    booked: tuple[Member, ...]
    open: tuple[Member, ...]

    @property
    def staying(self) -> tuple[Member, ...]:
        """Who stays; the claims of bound members count as the cluster's own."""
        return (
            *(replace(m, claims=tuple(replace(c, existing=True) for c in m.claims)) for m in self.bound),
            *self.booked,
        )


def split(booking: Booking, pods: Iterable[Pod], snapshot: Snapshot, lost: frozenset[NodeName]) -> Split:
    """The members of a booking by what becomes of them when the nodes `lost` do not count any more."""
    alive = [pod for pod in pods if pod.node and not pod.finished and pod.node not in lost]
    waiting = unbound_members(booking.members, alive)
    bound: list[Member] = []
    booked: list[Member] = []
    left: list[Member] = []
    for member in booking.members:
        target = member.target
        there = isinstance(target, ExistingNode) and target.name not in lost and snapshot.node(target.name) is not None
        if not there:
            left.append(member)
        elif (member.pod_set, member.index) in waiting:
            booked.append(member)
        else:
            bound.append(member)
    return Split(tuple(bound), tuple(booked), tuple(left))


def own_holding(holding: Holding, members: tuple[Member, ...]) -> Holding:
    """What of a gang's booking stays promised to it; its orders are behind it."""
    booking = holding.booking
    return replace(holding, booking=replace(booking, members=members, plan=replace(booking.plan, orders=())))


def without(gang: Gang, members: Iterable[Member]) -> Gang:
    """The gang without members that stay: counts and minimum are lowered, their nodes pin the domains."""
    staying = [m for m in members if isinstance(m.target, ExistingNode)]
    gone: dict[PodSetName, int] = {}
    for member in staying:
        gone[member.pod_set] = gone.get(member.pod_set, 0) + 1
    groups = {each.name: each.spec.pod_group for each in gang.pod_sets}
    lowered = dict(gang.pod_groups)
    for name, group in gang.pod_groups.items():
        there = sum(count for pod_set, count in gone.items() if groups.get(pod_set) == name)
        least = group.min_count
        lowered[name] = group if least is None else replace(group, min_count=max(least - there, 0))
    sets = tuple(replace(each, count=each.count - gone.get(each.name, 0)) for each in gang.pod_sets)
    return replace(
        gang,
        pod_sets=tuple(each for each in sets if each.count > 0),
        pod_groups=lowered,
        running=tuple(RunningMember(m.pod_set, m.target.name) for m in staying if isinstance(m.target, ExistingNode)),
    )


def claims_in_parts(gang: Gang) -> Reason | None:
    """A claim that several members share, and that has no allocation yet, cannot be planned for some of them alone."""
    for pod_set in gang.pod_sets:
        for entry in pod_set.shared_claims:
            if not entry.claim.pinned:
                text = f"claim {entry.claim.id} is shared with members that stay, and shows no allocation yet"
                return Reason("SHARED_CLAIM", text, (("claim", entry.claim.id),))
    return None


def merged(booking: Booking, parts: Split, fresh: BookedPlan) -> BookedPlan:
    """The booking with the open members where `fresh` puts them; `fresh` counts the members of each set from 0."""
    numbers: dict[PodSetName, list[int]] = {}
    for member in parts.open:
        numbers.setdefault(member.pod_set, []).append(member.index)
    where = {(m.pod_set, m.index): (m.pod_set, numbers[m.pod_set][m.index]) for m in fresh.members}
    placed = {where[m.pod_set, m.index]: replace(m, index=where[m.pod_set, m.index][1]) for m in fresh.members}
    placed |= {(m.pod_set, m.index): m for m in parts.staying}
    stay = {(m.pod_set, m.index) for m in parts.staying}
    pins = [pin for pin in booking.plan.pins if (pin.pod_set, pin.index) in stay]
    pins += [replace(p, index=where[p.pod_set, p.index][1]) for p in fresh.pins if (p.pod_set, p.index) in where]
    order = [(m.pod_set, m.index) for m in booking.members]
    return replace(
        fresh,
        members=tuple(placed[place] for place in order if place in placed),
        domain=fresh.domain or booking.plan.domain,
        pins=tuple(pins),
        unplaced=(*booking.plan.unplaced, *((s, numbers[s][i]) for s, i in fresh.unplaced)),
    )


def vanished(bound: Iterable[Member], pods: Iterable[Pod], snapshot: Snapshot) -> tuple[Reason, ...]:
    """Devices that bound pods of the gang have and that nobody publishes any more (F17)."""
    nodes = {m.target.name for m in bound if isinstance(m.target, ExistingNode)}
    claims = AllocatedClaims(snapshot.tables.claims)
    published: dict[PoolId, frozenset[str]] = {}
    found: list[Reason] = []
    for pod in sorted(pods, key=lambda each: (each.namespace, each.name)):
        if pod.node not in nodes or pod.finished:
            continue
        for claim in claims.of(pod):
            for device in () if claim.allocation is None else claim.allocation.devices:
                pool = PoolId(device.device.driver, device.device.pool)
                names = published.setdefault(pool, _published(snapshot, pool))
                if device.device.device not in names:
                    text = f"pod {pod.namespace}/{pod.name}: its device {device.device} is not published any more"
                    found.append(Reason("DEVICE_GONE", text, (("nodes", str(pod.node)),)))
    return tuple(found)


def _published(snapshot: Snapshot, pool: PoolId) -> frozenset[str]:
    slices = snapshot.catalog.index.of_pool(pool)
    newest = max((each.generation for each in slices), default=0)
    return frozenset(device.name for each in slices if each.generation == newest for device in each.devices)


def lost_from(snapshot: Snapshot, lost: Iterable[NodeName]) -> Snapshot:
    """The cluster as if these nodes were gone."""
    gone = [ObjectKey("Node", "", name) for name in sorted(lost)]
    return snapshot.apply((), gone) if gone else snapshot
