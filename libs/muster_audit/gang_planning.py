"""A gang against the cluster as it is and as it could grow: the planner asked, and the answer's parts put in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from muster_audit.fleet import Fleet
from muster_audit.gangs import Subject
from muster_audit.scene import Scene
from muster_audit.seating import Table, seat
from muster_audit.survey import Spot, Surveyor, Wanted, wanted
from muster_plan import (
    LEAST_FRAGMENTATION,
    BookedPod,
    Booking,
    ExistingNode,
    Gang,
    GroupOrder,
    NoPlan,
    Placement,
    Plan,
    PodGroup,
    Snapshot,
    plan,
)
from muster_plan.booked_devices import hold
from muster_plan.topology import Topology
from muster_types import GangId, NodeName


@dataclass(slots=True)
class Planning:
    """One state of the cluster for gangs. `present` is without node groups, `growing` with them."""

    scene: Scene
    surveyor: Surveyor
    present: Snapshot
    growing: Snapshot

    @classmethod
    def of(cls, scene: Scene, surveyor: Surveyor, bookings: Sequence[Booking] = ()) -> "Planning":
        """The state of a surveyor, with further bookings taken."""
        fleet = surveyor.fleet
        base = replace(fleet.snapshot, allocated=fleet.allocated)
        if bookings:
            booked = fleet.snapshot.with_bookings([*fleet.snapshot.bookings.values(), *bookings])
            base = replace(booked, allocated=hold(fleet.allocated, bookings))
            surveyor = Surveyor(Fleet(base, base.allocated), surveyor.sold_twice, surveyor.mapped)
        groups = tuple(base.tables.groups)
        return cls(scene, surveyor, base.apply((), gone=groups) if groups else base, base)

    def among(self, names: frozenset[NodeName]) -> "Planning":
        """With these of the nodes alone."""
        others = [key for key in self.present.tables.nodes if key.name not in names]
        return replace(self, present=self.present.apply((), gone=others), growing=self.growing.apply((), gone=others))

    def now(self, gang: Gang) -> Plan | NoPlan:
        """On what exists."""
        return plan(self.present, gang, LEAST_FRAGMENTATION)

    def later(self, gang: Gang) -> Plan | NoPlan:
        """With nodes that groups could add."""
        return plan(self.growing, gang, LEAST_FRAGMENTATION)

    def empty(self, gang: Gang) -> bool:
        """Whether it would fit on what exists if nobody held anything."""
        return isinstance(plan(self.present.emptied(""), gang, LEAST_FRAGMENTATION), Plan)


def booking_of(gang: Gang, found: Plan) -> Booking:
    """What a plan takes, as a booking."""
    specs = {each.name: each.spec for each in gang.pod_sets}
    pods = [
        BookedPod(each.target, gang.namespace, specs[each.pod_set].labels, specs[each.pod_set].requests, each.claims)
        for each in found.placements
    ]
    return Booking(GangId(gang.id), tuple(pods), found.orders)


def nodes_of(placements: Sequence[Placement]) -> tuple[str, ...]:
    """Existing nodes, sorted, each once."""
    return tuple(sorted({each.target.name for each in placements if isinstance(each.target, ExistingNode)}))


def devices_of(placements: Sequence[Placement]) -> tuple[str, ...]:
    """Devices in the order of the pods; those of a shared claim once."""
    found: list[str] = []
    seen: set[str] = set()
    for placement in placements:
        for claim in placement.claims:
            if claim.shared in seen:
                continue
            if claim.shared:
                seen.add(claim.shared)
            found += [str(each.device) for each in claim.results]
    return tuple(found)


def orders_text(orders: Sequence[GroupOrder]) -> str:
    return ", ".join(f"{each.count} of group {each.group}" for each in orders)


def without_topology(gang: Gang) -> Gang:
    """The gang with its required domains left out."""
    groups: Mapping[str, PodGroup] = {name: replace(each, topology_keys=()) for name, each in gang.pod_groups.items()}
    sets = tuple(replace(each, topology=Topology(layers=each.topology.layers)) for each in gang.pod_sets)
    return replace(gang, pod_groups=groups, pod_sets=sets, running=())


def domain_keys(gang: Gang) -> tuple[str, ...]:
    """Label keys over which the whole gang, or a pod set of it, must be together."""
    keys = {key for each in gang.pod_groups.values() for key in each.topology_keys}
    keys |= {each.topology.required for each in gang.pod_sets if each.topology.required}
    return tuple(sorted(keys))


@dataclass(frozen=True, slots=True)
class Members:
    """The pods of a gang, set by set, as they are put to nodes one by one."""

    gang: Gang
    wanted: tuple[tuple[Wanted, int], ...]
    spots: tuple[list[Spot], ...]

    @classmethod
    def of(cls, subject: Subject, planning: Planning) -> "Members":
        gang, scene = subject.gang, planning.scene
        found = [
            (wanted(gang, planning.present, scene.specs, affinities=scene.affinities, place=place), each.count)
            for place, each in enumerate(gang.pod_sets)
        ]
        return cls(gang, tuple(found), tuple(planning.surveyor.survey(pod) for pod, _ in found))

    def alone(self, place: int) -> bool:
        """Whether one pod of a set fits somewhere by itself."""
        return any(spot.fits for spot in self.spots[place])

    def seats(self, planning: Planning, places: frozenset[int] | None = None) -> list[int]:
        """Where they find a seat one after the other, on the nodes at these places of the fleet: a place for each."""
        fleet = planning.surveyor.fleet
        table = Table(fleet.allocated)
        found: list[int] = []
        for (pod, count), spots in zip(self.wanted, self.spots, strict=True):
            here = spots if places is None else _within(spots, places)
            taken = seat(count, pod, here, planning.surveyor, planning.scene.physical, table, planning.scene.domains)
            found += [fleet.place_of[each.node] for each in taken]
        return found

    def seated(self, planning: Planning, places: frozenset[int] | None = None) -> int:
        """How many find a seat."""
        return len(self.seats(planning, places))


def _within(spots: Sequence[Spot], places: frozenset[int]) -> list[Spot]:
    found = [replace(spot, places=tuple(each for each in spot.places if each in places)) for spot in spots]
    return [spot for spot in found if spot.places]


def domains_of(key: str, fleet: Fleet) -> dict[str, frozenset[int]]:
    """Places of the fleet by the value of a label."""
    found: dict[str, set[int]] = {}
    for place, node in enumerate(fleet.nodes):
        value = node.labels.get(key)
        if value is not None:
            found.setdefault(value, set()).add(place)
    return {value: frozenset(found[value]) for value in sorted(found)}
