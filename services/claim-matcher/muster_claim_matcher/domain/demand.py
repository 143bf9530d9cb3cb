"""What bookings take, what there is, and where two promises meet: invariant 1 of the architecture.

The planner avoids conflicts; this check does not trust it. It counts what lies on nodes that exist, and how many nodes
each group is asked for: the devices of a node that is still to be ordered belong to the gang that orders it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from muster_claim_matcher.domain.plans import Member, Order
from muster_plan.plan_types import ExistingNode
from muster_types import NANO, DeviceId, GangId, Nano, NodeGroupName, NodeName, format_quantity


@dataclass(frozen=True, slots=True, order=True)
class Room:
    """One resource of a node, such as cpu."""

    node: NodeName
    resource: str

    def __str__(self) -> str:
        return f"{self.resource} of node {self.node}"


@dataclass(frozen=True, slots=True, order=True)
class Share:
    """One capacity of a device that several claims may use in part."""

    device: DeviceId
    capacity: str

    def __str__(self) -> str:
        return f"{self.capacity} of device {self.device}"


@dataclass(frozen=True, slots=True, order=True)
class Counter:
    """One counter of a pool's shared counter set, which partitions of one device draw on."""

    driver: str
    pool: str
    counter_set: str
    counter: str

    def __str__(self) -> str:
        return f"counter {self.counter_set}/{self.counter} of pool {self.driver}/{self.pool}"


@dataclass(frozen=True, slots=True)
class Supply:
    """What there is for bookings: what the cluster's own use leaves, amounts in nano-units, nodes by their number.

    What a booked gang's pods and ordered nodes already take is not taken off, for its booking still counts it. Amounts
    that are not listed are not checked. `draws` says what a device takes from counters while somebody holds it.
    """

    room: Mapping[Room, Nano] = field(default_factory=dict)
    nodes: Mapping[NodeGroupName, int] = field(default_factory=dict)
    shares: Mapping[Share, Nano] = field(default_factory=dict)
    counters: Mapping[Counter, Nano] = field(default_factory=dict)
    draws: Mapping[DeviceId, tuple[tuple[Counter, Nano], ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Demand:
    """What one gang takes on existing nodes, and the nodes it orders by group. `twice` are devices that two of its own
    claims take as a whole."""

    whole: frozenset[DeviceId]
    shared: frozenset[DeviceId]
    shares: Mapping[Share, int]
    room: Mapping[Room, int]
    nodes: Mapping[NodeGroupName, int]
    twice: frozenset[DeviceId]

    @property
    def devices(self) -> frozenset[DeviceId]:
        return self.whole | self.shared


class ConflictKind(Enum):
    DEVICE = "device"
    SHARE = "share"
    COUNTER = "counter"
    ROOM = "room"
    NODES = "nodes"


@dataclass(frozen=True, slots=True)
class Conflict:
    """Something that would be promised twice, who holds it, and by how much it falls short (nano-units)."""

    kind: ConflictKind
    subject: str
    holders: tuple[GangId, ...]
    wanted: int = 0
    available: int = 0

    def sentence(self) -> str:
        by = f", held by gang {', '.join(self.holders)}" if self.holders else ""
        if self.kind is ConflictKind.DEVICE:
            return f"device {self.subject} would be promised twice{by}"
        wanted, available = format_quantity(self.wanted), format_quantity(self.available)
        return f"{self.subject}: {wanted} would be promised of {available}{by}"


def demand_of(members: Iterable[Member], orders: Iterable[Order] = ()) -> Demand:
    """What a gang takes; a claim that several members share counts once."""
    whole: set[DeviceId] = set()
    twice: set[DeviceId] = set()
    shared: set[DeviceId] = set()
    shares: dict[Share, int] = {}
    room: dict[Room, int] = {}
    seen: set[tuple[str, str, DeviceId]] = set()
    for member in members:
        if not isinstance(member.target, ExistingNode):
            continue
        for resource, amount in member.resources:
            key = Room(member.target.name, resource)
            room[key] = room.get(key, 0) + amount
        for claim in member.claims:
            if claim.existing:
                continue
            for result in claim.results:
                if result.admin_access:
                    continue  # it uses the device beside its holder
                if claim.shared:
                    key = (claim.shared, result.request, result.device)
                    if key in seen:
                        continue
                    seen.add(key)
                if result.share:
                    shared.add(result.device)
                    for capacity, amount in result.consumed:
                        share = Share(result.device, capacity)
                        shares[share] = shares.get(share, 0) + amount
                elif result.device in whole:
                    twice.add(result.device)
                else:
                    whole.add(result.device)
    return Demand(
        whole=frozenset(whole),
        shared=frozenset(shared),
        shares=shares,
        room=room,
        nodes={order.group: order.count for order in orders},
        twice=frozenset(twice | (whole & shared)),
    )


def find_conflicts(demand: Demand, others: Mapping[GangId, Demand], supply: Supply) -> tuple[Conflict, ...]:
    """Everything of `demand` that others hold or that exceeds what there is; sorted, empty when all is free."""
    found = [
        *_devices(demand, others),
        *_shares(demand, others, supply),
        *_counters(demand, others, supply),
        *_room(demand, others, supply),
        *_nodes(demand, others, supply),
    ]
    return tuple(sorted(found, key=lambda each: (each.kind.value, each.subject)))


def _devices(demand: Demand, others: Mapping[GangId, Demand]) -> Iterator[Conflict]:
    holders: dict[DeviceId, list[GangId]] = {device: [] for device in demand.twice}
    for gang in sorted(others):
        other = others[gang]
        for device in (demand.whole & other.devices) | (demand.shared & other.whole):
            holders.setdefault(device, []).append(gang)
    for device in sorted(holders):
        yield Conflict(ConflictKind.DEVICE, str(device), tuple(holders[device]))


def _shares(demand: Demand, others: Mapping[GangId, Demand], supply: Supply) -> Iterator[Conflict]:
    for share in sorted(demand.shares):
        holders = tuple(gang for gang in sorted(others) if share in others[gang].shares)
        wanted = demand.shares[share] + sum(others[gang].shares[share] for gang in holders)
        available = supply.shares.get(share)
        if available is not None and wanted > available:
            yield Conflict(ConflictKind.SHARE, str(share), holders, wanted, available)


def _counters(demand: Demand, others: Mapping[GangId, Demand], supply: Supply) -> Iterator[Conflict]:
    drawing = frozenset(supply.draws)
    wanted: dict[Counter, int] = {}
    for device in demand.devices & drawing:
        for counter, amount in supply.draws[device]:
            wanted[counter] = wanted.get(counter, 0) + amount
    holders: dict[Counter, set[GangId]] = {counter: set() for counter in wanted}
    for gang in sorted(others):
        for device in (others[gang].devices & drawing) - demand.devices:
            for counter, amount in supply.draws[device]:
                if counter in wanted:
                    wanted[counter] += amount
                    holders[counter].add(gang)
    for counter in sorted(wanted):
        available = supply.counters.get(counter)
        if available is not None and wanted[counter] > available:
            yield Conflict(
                ConflictKind.COUNTER, str(counter), tuple(sorted(holders[counter])), wanted[counter], available
            )


def _room(demand: Demand, others: Mapping[GangId, Demand], supply: Supply) -> Iterator[Conflict]:
    for room in sorted(demand.room):
        holders = tuple(gang for gang in sorted(others) if room in others[gang].room)
        wanted = demand.room[room] + sum(others[gang].room[room] for gang in holders)
        available = supply.room.get(room)
        if available is not None and wanted > available:
            yield Conflict(ConflictKind.ROOM, str(room), holders, wanted, available)


def _nodes(demand: Demand, others: Mapping[GangId, Demand], supply: Supply) -> Iterator[Conflict]:
    for group in sorted(demand.nodes):
        holders = tuple(gang for gang in sorted(others) if others[gang].nodes.get(group))
        wanted = demand.nodes[group] + sum(others[gang].nodes[group] for gang in holders)
        available = supply.nodes.get(group)
        if available is not None and wanted > available:
            subject = f"new nodes of group {group}"
            yield Conflict(ConflictKind.NODES, subject, holders, wanted * NANO, available * NANO)
