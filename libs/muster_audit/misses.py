"""Why no node takes a pod: what each class of nodes lacks, the nearest of them, and what is free in total."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from muster_audit.causes import FATAL_CAUSES, Nearness, judged
from muster_audit.cluster import Cluster
from muster_audit.expressions import drivers_of
from muster_audit.fleet import free_counts
from muster_audit.memory import Vanished
from muster_audit.rows import NodeAnswer
from muster_audit.survey import Spot, Surveyor, Wanted, any_of_all
from muster_audit.words import Cause
from muster_dra import (
    AllocatedState,
    Allocation,
    DeviceClass,
    Fatal,
    FatalKind,
    NodeError,
    NoFit,
    Reason,
    ReasonCode,
    ResourceClaim,
    allocate,
)
from muster_plan import ClusterNode
from muster_plan.eligibility import Barrier
from muster_types import format_quantity

_EXAMINED = 40
"""Classes of nodes whose reasons are worked out for one pod; those with most free devices first."""

MOST_ANSWERS = 6
"""Classes of nodes that a row lists."""
VANISHED_RANK, RESOURCES_RANK = 0, 3
_BARRIERS: Mapping[Barrier, tuple[Cause, float]] = {
    Barrier.TAINT: (Cause.TAINT, 3.4),
    Barrier.UNSCHEDULABLE: (Cause.TAINT, 3.5),
    Barrier.NOT_READY: (Cause.NO_INVENTORY, 3.6),
    Barrier.RESERVED: (Cause.HELD_FOR_GANG_REPAIR, 3.2),
    Barrier.HOST_PORT: (Cause.SHORTAGE, 3.3),
    Barrier.ANTI_AFFINITY: (Cause.TOPOLOGY_MISMATCH, 3.3),
    Barrier.AFFINITY: (Cause.TOPOLOGY_MISMATCH, 3.3),
    Barrier.SELECTOR: (Cause.SELECTOR_MISMATCH, 4.5),
    Barrier.PINNED: (Cause.TOPOLOGY_MISMATCH, 4.6),
    Barrier.NO_CLASS: (Cause.CLASS_MISSING, 4.7),
}
_BEHIND_A_BARRIER = 5.5
"""Where devices would not fit either."""


@dataclass(frozen=True, slots=True)
class Miss:
    """One class of nodes. `reason` is the engine's, None where room or a rule is in the way."""

    places: tuple[int, ...]
    cause: Cause
    rank: float
    missing: float
    text: str
    reason: Reason | None = None
    spot: Spot | None = None

    @property
    def order(self) -> tuple[float, float, int]:
        return self.rank, self.missing, self.places[0]


@dataclass(frozen=True, slots=True)
class Misses:
    """All classes, nearest first. `free` is, per request, what open nodes have free in total and at most on one."""

    all: tuple[Miss, ...]
    free: tuple[tuple[int, int], ...]

    @property
    def nearest(self) -> Miss | None:
        return self.all[0] if self.all else None

    def answers(self, nodes: Sequence[ClusterNode]) -> tuple[NodeAnswer, ...]:
        """What the nearest classes say; `nodes` are those that places count."""
        return tuple(
            NodeAnswer(tuple(nodes[place].name for place in miss.places), miss.cause, miss.text)
            for miss in self.all[:MOST_ANSWERS]
        )


def misses(
    pod: Wanted, spots: Sequence[Spot], surveyor: Surveyor, allocated: AllocatedState, cluster: Cluster
) -> Misses:
    """For a pod that fits nowhere in the state `allocated`."""
    examiner = _Examiner(pod, surveyor, allocated, cluster)
    found: list[Miss] = []
    for spot in spots:
        if spot.barrier is not None:
            found.append(examiner.barred(spot))
        elif spot.short is not None and isinstance(spot.outcome, Allocation):
            found.append(examiner.cramped(spot))
        else:
            found += examiner.devices(spot)
    found.sort(key=lambda each: each.order)
    return Misses(tuple(found), examiner.totals(spots))


@dataclass(slots=True)
class _Examiner:
    pod: Wanted
    surveyor: Surveyor
    allocated: AllocatedState
    cluster: Cluster

    def barred(self, spot: Spot) -> Miss:
        barrier = spot.barrier
        if barrier is None:
            raise ValueError("a barred spot has a barrier")
        cause, rank = _BARRIERS[barrier.barrier]
        if not isinstance(spot.outcome, Allocation) and barrier.barrier is not Barrier.NO_CLASS:
            rank = max(rank, _BEHIND_A_BARRIER)
        return Miss(spot.places, cause, rank, 1.0, barrier.detail, spot=spot)

    def cramped(self, spot: Spot) -> Miss:
        short = spot.short
        if short is None:
            raise ValueError("a cramped spot lacks something")
        text = (
            f"{format_quantity(short.wanted)} {short.resource} wanted, "
            f"{format_quantity(short.left)} of {format_quantity(short.total)} left"
        )
        impossible = short.total < short.wanted
        rank = 4 if impossible else RESOURCES_RANK
        missing = 1 - short.left / short.wanted
        return Miss(spot.places, Cause.SHORTAGE, rank, missing, text, spot=spot)

    def devices(self, spot: Spot) -> list[Miss]:
        """The nodes of a spot by what they have free, nearest first; of very many classes the nearest alone."""
        claims = self.pod.claims_on(spot.by_claim)
        plans = self.surveyor.fleet.catalog.plans(claims)
        if isinstance(plans, Fatal):
            return [self._fatal(spot.places, plans, spot)]
        nodes, catalog = self.surveyor.fleet.nodes, self.surveyor.fleet.catalog
        groups: dict[Hashable, list[int]] = {}
        same = self.allocated is self.surveyor.fleet.allocated
        known = self.surveyor.fleet.free(claims) if same else None
        for place in spot.places:
            free = known[place] if known is not None else free_counts(nodes[place].node, plans, catalog, self.allocated)
            groups.setdefault((free, self._marks(nodes[place])), []).append(place)
        ordered = sorted(groups.items(), key=lambda item: (-_least(item[0]), item[1][0]))
        return [self._examined(tuple(places), claims, spot) for _, places in ordered[:_EXAMINED]]

    def _marks(self, node: ClusterNode) -> Hashable:
        return bool(self.cluster.memory.vanished_on(node.name)) if self.cluster.memory.vanished else False

    def _examined(self, places: tuple[int, ...], claims: Sequence[ResourceClaim], spot: Spot) -> Miss:
        node = self.surveyor.fleet.nodes[places[0]]
        catalog = self.surveyor.fleet.catalog
        outcome = allocate(node.node, claims, catalog, self.allocated)
        if isinstance(outcome, Allocation):
            return Miss(places, Cause.SHORTAGE, RESOURCES_RANK, 1.0, "no room for another of these pods", spot=spot)
        if isinstance(outcome, Fatal):
            return self._fatal(places, outcome, spot)
        reasons = outcome.reasons
        if any(each.code is ReasonCode.ALL_OF_NONE for each in reasons):
            reasons = self._any_of_them(node, claims) or reasons
        found = judged(reasons, self.cluster.inconsistent)
        cause, text, nearness = found.cause, found.text, found.nearness
        if found.reason.code is ReasonCode.CLASS_MATCHES_NOTHING and self._has_driver(node, found.reason):
            cause, nearness = Cause.SELECTOR_MISMATCH, replace(nearness, rank=nearness.rank - 1)
        if found.reason.code in (ReasonCode.NO_DEVICES, ReasonCode.CLASS_MATCHES_NOTHING):
            gone = self._gone(node, claims)
            if gone is not None:
                return Miss(places, Cause.NO_INVENTORY, VANISHED_RANK, 1.0, gone, found.reason, spot)
        return Miss(places, cause, nearness.rank, nearness.missing, text, found.reason, spot)

    def _any_of_them(self, node: ClusterNode, claims: Sequence[ResourceClaim]) -> tuple[Reason, ...]:
        """Why there is none of "all": the reasons for asking for a single one."""
        outcome = allocate(node.node, any_of_all(claims), self.surveyor.fleet.catalog, self.allocated)
        return outcome.reasons if isinstance(outcome, NoFit | NodeError) else ()

    def _fatal(self, places: tuple[int, ...], fatal: Fatal, spot: Spot) -> Miss:
        rank = -1.0 if fatal.kind is not FatalKind.GAVE_UP else 3.9
        return Miss(places, FATAL_CAUSES[fatal.kind], rank, 1.0, fatal.message, spot=spot)

    def _has_driver(self, node: ClusterNode, reason: Reason) -> bool:
        """Whether the node shows devices of a driver that the class means: then its selector's rest is to blame."""
        drivers = class_drivers(self.surveyor.fleet.catalog.classes.get(reason.value))
        pools = self.surveyor.fleet.catalog.pools_of(node.node)
        return isinstance(pools, tuple) and any(pool.id.driver in drivers and pool.usable for pool in pools)

    def _gone(self, node: ClusterNode, claims: Sequence[ResourceClaim]) -> str | None:
        """What an earlier dump, or a claim that still holds a device there, says of inventory that the node had."""
        drivers = self.drivers(claims)
        for slice_ in self.cluster.memory.vanished_on(node.name):
            if not drivers or slice_.pool.driver in drivers:
                return _vanished_text(slice_)
        for device, ghost in self.cluster.ghosts.items():
            if (not drivers or device.driver in drivers) and self._held_on(ghost.claims[0], node):
                return (
                    f"{node.name}: no slice of {device.driver}, although claim {ghost.claims[0]} holds {device.device}"
                )
        return None

    def _held_on(self, claim: str, node: ClusterNode) -> bool:
        found = self.cluster.snapshot.claim(*claim.split("/", 1))
        allocation = None if found is None else found.allocation
        selector = None if allocation is None else allocation.node_selector
        return selector is not None and selector.matches(node.node) is True

    def drivers(self, claims: Iterable[ResourceClaim]) -> frozenset[str]:
        """Drivers that the claims' classes name; empty when one of them names none."""
        classes = self.surveyor.fleet.catalog.classes
        return wanted_drivers(claims, classes)

    def totals(self, spots: Sequence[Spot]) -> tuple[tuple[int, int], ...]:
        found: list[tuple[int, int]] = []
        fleet = self.surveyor.fleet
        for spot in spots:
            claims = self.pod.claims_on(spot.by_claim)
            plans = fleet.catalog.plans(claims)
            if not spot.open or not claims or isinstance(plans, Fatal):
                continue
            known = fleet.free(claims) if self.allocated is fleet.allocated else None
            for place in spot.places:
                node = fleet.nodes[place].node
                counts = known[place] if known else free_counts(node, plans, fleet.catalog, self.allocated)
                for index, count in enumerate(counts):
                    if index == len(found):
                        found.append((0, 0))
                    found[index] = found[index][0] + count, max(found[index][1], count)
        return tuple(found)


def class_drivers(device_class: DeviceClass | None) -> frozenset[str]:
    """Drivers that the selectors of a class name."""
    selectors = device_class.selectors if device_class is not None else ()
    return frozenset(name for each in selectors if each for name in drivers_of(each))


def wanted_drivers(claims: Iterable[ResourceClaim], classes: Mapping[str, DeviceClass]) -> frozenset[str]:
    """Drivers that the selectors of the claims' classes and requests name; empty when some request names none."""
    found: set[str] = set()
    for claim in claims:
        for request in claim.spec.requests:
            for option in (request.exactly, *request.first_available):
                if option is None:
                    continue
                device_class = classes.get(option.class_name)
                selectors = (*(device_class.selectors if device_class else ()), *option.selectors)
                named = {name for each in selectors if each for name in drivers_of(each)}
                if not named:
                    return frozenset()
                found |= named
    return frozenset(found)


def _least(key: Hashable) -> float:
    free = key[0] if isinstance(key, tuple) else ()
    return float(min(free, default=0)) + sum(free) / 1e6 if isinstance(free, tuple) else 0.0


def _vanished_text(slice_: Vanished) -> str:
    when = f" at {slice_.when}" if slice_.when else ""
    return f"{slice_.node}: slice of {slice_.pool.driver} deleted{when}"


__all__ = ["Miss", "Misses", "Nearness", "misses", "wanted_drivers"]
