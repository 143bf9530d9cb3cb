"""Equal pods on the nodes that take them, one after the other: fullest node first, untouched domains last."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from muster_audit.fleet import Fleet, busy_devices
from muster_audit.physical import IN_USE, Physical, block
from muster_audit.survey import Spot, Surveyor, Wanted
from muster_dra import AllocatedState, Allocation, DeviceResult, NodeSelector, allocate
from muster_dra.allocated import Committed
from muster_plan import ClusterNode
from muster_plan.eligibility import conflicts
from muster_plan.labels import HOSTNAME
from muster_types import NodeName


@dataclass(frozen=True, slots=True)
class Seat:
    """Where one pod would go and with which devices; none for claims that are placed already."""

    node: NodeName
    results: tuple[DeviceResult, ...]
    mode: frozenset[str]
    """Extended resources that devices serve there."""
    choices: int
    """How many nodes would have taken the first of the pods."""
    mapped: Mapping[str, int] = field(default_factory=dict[str, int])
    """What the devices take of the node's own resources."""

    @property
    def devices(self) -> tuple[str, ...]:
        return tuple(str(result.device) for result in self.results)


@dataclass(slots=True)
class Table:
    """A state of devices and rooms that seats change."""

    allocated: AllocatedState
    extra: dict[NodeName, dict[str, int]] = field(default_factory=dict[NodeName, dict[str, int]])
    shared: dict[str, NodeSelector | None] = field(default_factory=dict[str, NodeSelector | None])


class Promises:
    """What earlier verdicts of an audit give to pods, so that later ones prefer what is left. It changes."""

    def __init__(self, allocated: AllocatedState) -> None:
        self.allocated = allocated
        self.extra: dict[NodeName, dict[str, int]] = {}

    def table(self) -> Table:
        """A copy to seat pods at."""
        return Table(self.allocated, {name: dict(used) for name, used in self.extra.items()})

    def keep(self, table: Table, given: Iterable[tuple[str, Sequence[Committed]]]) -> None:
        """What a table has become, with each subject's devices under its own name."""
        self.extra = table.extra
        for subject, results in given:
            self.allocated = self.allocated.plus(results, f"{subject} (pending)")

    def rivals(self, results: Iterable[DeviceResult]) -> tuple[str, ...]:
        """Subjects to which one of the devices was given before."""
        names = {name for result in results for name in self.allocated.holders(result.device)}
        return tuple(sorted(name.removesuffix(" (pending)") for name in names if name.endswith(" (pending)")))


def seat(
    count: int,
    pod: Wanted,
    spots: Sequence[Spot],
    surveyor: Surveyor,
    physical: Physical | None,
    table: Table,
    domains: "Domains",
    most_misses: int | None = None,
) -> list[Seat]:
    """Up to `count` pods; the table is changed. With `physical`, hardware that a seat uses under another name is
    blocked for the next. `most_misses`: give up after so many nodes that do not take one after all."""
    fleet = surveyor.fleet
    modes = {place: spot.by_claim for spot in spots if spot.fits for place in spot.places}
    if not modes:
        return []
    order = _ranked(list(modes), spots, fleet, domains)
    alone = bool(conflicts((pod.kind,), HOSTNAME))
    found: list[Seat] = []
    missed = 0
    for place in order:
        node = fleet.nodes[place]
        before = len(found)
        while len(found) < count:
            taken = _take(pod, node, modes[place], surveyor, table, physical)
            if taken is None:
                break
            found.append(replace(taken, choices=len(modes)))
            if alone:
                break
        missed += len(found) == before
        if len(found) == count or missed == most_misses:
            break
    return found


def _take(
    pod: Wanted, node: ClusterNode, mode: frozenset[str], surveyor: Surveyor, table: Table, physical: Physical | None
) -> Seat | None:
    extra = table.extra.get(node.name, {})
    if surveyor.short_of(pod, node, mode, extra) is not None:
        return None
    if any(each is not None and each.matches(node.node) is not True for each in table.shared.values()):
        return None
    claims = [claim for claim in pod.claims_on(mode) if claim.name not in table.shared]
    outcome = allocate(node.node, claims, surveyor.fleet.catalog, table.allocated)
    if not isinstance(outcome, Allocation):
        return None
    results: list[DeviceResult] = []
    for claim, allocation in zip(claims, outcome.claims, strict=True):
        results += allocation.results
        if claim.name in pod.shared:
            table.shared[claim.name] = allocation.node_selector
    own = surveyor.mapped.taken(results)
    if own and surveyor.short_of(pod, node, mode, _sum(extra, own)) is not None:
        return None
    found = Seat(node.name, tuple(results), mode, 0, own)
    take(found, pod, physical, table)
    return found


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {*one, *other}}


def take(seat_: Seat, pod: Wanted, physical: Physical | None, table: Table) -> None:
    """The table with the seat's devices and room gone."""
    table.allocated = table.allocated.plus(seat_.results, "another pod (pending)")
    if physical is not None and physical.related:
        others = physical.conflicts(result.device for result in seat_.results)
        table.allocated = block(table.allocated, [each for each in others if not table.allocated.holders(each)], IN_USE)
    used = table.extra.setdefault(seat_.node, {})
    for resource, amount in pod.kind.requests.items():
        if resource not in seat_.mode:
            used[resource] = used.get(resource, 0) + amount
    for resource, amount in seat_.mapped.items():
        used[resource] = used.get(resource, 0) + amount


class Domains:
    """Values of node labels that several nodes share but not all: racks, cliques, zones. In use once a node is."""

    def __init__(self, fleet: Fleet) -> None:
        values: dict[str, dict[str, int]] = {}
        for node in fleet.nodes:
            for key, value in node.labels.items():
                counts = values.setdefault(key, {})
                counts[value] = counts.get(value, 0) + 1
        self._keys = tuple(key for key in sorted(values) if key != HOSTNAME and 1 < len(values[key]) < len(fleet.nodes))
        self._used: set[tuple[str, str]] = set()
        for node in fleet.nodes:
            if (
                fleet.snapshot.pods_by_node.get(node.name)
                or busy_devices(node.node, fleet.catalog, fleet.allocated, frozenset())[0]
            ):
                self._used.update(self._of(node))

    def untouched(self, node: ClusterNode) -> int:
        """How many domains a pod on the node would be the first to use."""
        return sum(1 for each in self._of(node) if each not in self._used)

    def _of(self, node: ClusterNode) -> list[tuple[str, str]]:
        return [(key, node.labels[key]) for key in self._keys if key in node.labels]


def _ranked(places: list[int], spots: Sequence[Spot], fleet: Fleet, domains: Domains) -> list[int]:
    drivers = {
        result.device.driver
        for spot in spots
        if isinstance(spot.outcome, Allocation) and spot.fits
        for claim in spot.outcome.claims
        for result in claim.results
    }
    wanted = frozenset(drivers)
    keys: dict[int, tuple[int, int, int, str]] = {}
    for place in places:
        node = fleet.nodes[place]
        busy, total = busy_devices(node.node, fleet.catalog, fleet.allocated, wanted) if wanted else (0, 0)
        touched = domains.untouched(node)
        pods = len(fleet.snapshot.pods_by_node.get(node.name, ()))
        keys[place] = (total - busy, touched, 0 if pods else 1, node.name)
    return sorted(places, key=lambda place: keys[place])
