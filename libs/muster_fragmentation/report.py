"""What is free, what of it is of use, and to whom: by node group, domain and device class."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from muster_dra import (
    AllocatedState,
    ClaimRequest,
    ClaimSpec,
    DeviceRequest,
    NodeError,
    NoFit,
    Outcome,
    node_class_key,
)
from muster_fragmentation.counters import CounterWaste, counter_waste
from muster_fragmentation.fitting import Fitting, free_devices, is_about_the_pin, takes
from muster_fragmentation.shapes import Shape
from muster_plan import ClusterNode, NodeGroup, Snapshot
from muster_types import DeviceId

NO_GROUP = ""
_MOST_COUNTED = 32  # results of one claim


@dataclass(frozen=True, slots=True)
class Stranded:
    """A free device that no shape can take where it is, and what keeps the nearest shape from it."""

    device: DeviceId
    node: str
    shape: str
    why: str


@dataclass(frozen=True, slots=True)
class ClassRow:
    """Devices of one class in one group and domain. `largest`: the greatest number of them that one claim can have."""

    group: str
    domain: str
    device_class: str
    nodes: int
    devices: int
    free: int
    largest: int
    whole_nodes: int
    """Nodes of which no device of the class is held."""


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """One shape in one group and domain. `ideal`: copies if the same free devices lay side by side.

    `gangs` and `ideal_gangs` count gangs of the asked size, all members in one domain.
    """

    group: str
    domain: str
    shape: str
    devices: int
    copies: int
    ideal: int
    gangs: int
    ideal_gangs: int


@dataclass(frozen=True, slots=True)
class Report:
    """`cost`: by group, the price of the share of its nodes' devices that is stranded; only where a price is known."""

    classes: tuple[ClassRow, ...]
    shapes: tuple[ShapeRow, ...]
    stranded: tuple[Stranded, ...]
    counters: tuple[CounterWaste, ...]
    cost: Mapping[str, float]


def survey(snapshot: Snapshot, shapes: Sequence[Shape], *, domain_label: str = "", gang: int = 1) -> Report:
    """The report. `domain_label` splits each group by the value of a node label; `gang`: members of a gang."""
    fitting = Fitting(snapshot.catalog)
    places = _places(snapshot, domain_label)
    classes: list[ClassRow] = []
    rows: list[ShapeRow] = []
    for (group, domain), nodes in sorted(places.items()):
        classes += _classes(snapshot, fitting, group, domain, nodes)
        rows += [_shape(snapshot, fitting, shape, group, domain, nodes, gang) for shape in shapes]
    stranded = _stranded(snapshot, shapes) if shapes else ()
    every = [node for nodes in places.values() for node in nodes]
    waste = counter_waste((each.node for each in every), snapshot.catalog, snapshot.allocated)
    return Report(tuple(classes), tuple(rows), stranded, waste, _cost(snapshot, places, stranded))


def group_of(snapshot: Snapshot, node: ClusterNode) -> NodeGroup | None:
    """The first group by name that has the node."""
    return next((group for _, group in sorted(snapshot.tables.groups.items()) if group.has(node.labels)), None)


def _places(snapshot: Snapshot, label: str) -> dict[tuple[str, str], list[ClusterNode]]:
    found: dict[tuple[str, str], list[ClusterNode]] = {}
    nothing = AllocatedState.empty()
    for _, node in sorted(snapshot.tables.nodes.items()):
        if not free_devices(node.node, snapshot.catalog, nothing):
            continue
        group = group_of(snapshot, node)
        key = (group.name if group else NO_GROUP, node.labels.get(label, "") if label else "")
        found.setdefault(key, []).append(node)
    return found


def _classes(
    snapshot: Snapshot, fitting: Fitting, group: str, domain: str, nodes: Sequence[ClusterNode]
) -> Iterable[ClassRow]:
    nothing = AllocatedState.empty()
    for _, device_class in sorted(snapshot.tables.classes.items()):
        one = _counted(device_class.name, 1)
        published = [fitting.copies(node.node, one, nothing) for node in nodes]
        if not any(published):
            continue
        free = [fitting.copies(node.node, one, snapshot.allocated) for node in nodes]
        whole = sum(1 for had, left in zip(published, free, strict=True) if had and had == left)
        largest = min(max(free), _MOST_COUNTED)
        yield ClassRow(
            group, domain, device_class.name, sum(map(bool, published)), sum(published), sum(free), largest, whole
        )


def _counted(device_class: str, count: int) -> Shape:
    request = DeviceRequest("devices", device_class, count=count)
    return Shape(f"{count} of {device_class}", ClaimSpec((ClaimRequest("devices", exactly=request),)))


def _shape(
    snapshot: Snapshot,
    fitting: Fitting,
    shape: Shape,
    group: str,
    domain: str,
    nodes: Sequence[ClusterNode],
    gang: int,
) -> ShapeRow:
    copies = sum(fitting.copies(node.node, shape, snapshot.allocated) for node in nodes)
    full = sum(fitting.copies(node.node, shape, AllocatedState.empty()) for node in nodes)
    ideal = min(full, max(copies, _ideal(snapshot, fitting, shape, nodes)))
    return ShapeRow(group, domain, shape.name, shape.devices, copies, ideal, copies // gang, ideal // gang)


def _ideal(snapshot: Snapshot, fitting: Fitting, shape: Shape, nodes: Sequence[ClusterNode]) -> int:
    """The tightest class: free devices of it over what a copy takes of it."""
    needs: dict[str, int] = {}
    for request in shape.spec.requests:
        if request.exactly is not None:
            wanted = 1 if shape.takes_all else request.exactly.count
            needs[request.exactly.class_name] = needs.get(request.exactly.class_name, 0) + wanted
    bounds = [
        sum(fitting.copies(node.node, _counted(name, 1), snapshot.allocated) for node in nodes) // need
        for name, need in sorted(needs.items())
        if need
    ]
    return min(bounds, default=0)


def _stranded(snapshot: Snapshot, shapes: Sequence[Shape]) -> tuple[Stranded, ...]:
    found: list[Stranded] = []
    catalog, allocated = snapshot.catalog, snapshot.allocated
    known: dict[Hashable, tuple[tuple[int, str, str], ...]] = {}
    for _, node in sorted(snapshot.tables.nodes.items()):
        free = free_devices(node.node, catalog, allocated)
        key = node_class_key(node.node, catalog, allocated)
        if key not in known:
            asked = ((index, takes(node.node, shapes, device, catalog, allocated)) for index, device in enumerate(free))
            known[key] = tuple((index, *_nearest(refusals)) for index, refusals in asked if refusals)
        found += [Stranded(free[index], node.name, shape, why) for index, shape, why in known[key]]
    return tuple(found)


def _nearest(refusals: Sequence[tuple[Shape, Outcome]]) -> tuple[str, str]:
    """The shape that lacks least, among those with a request for such a device."""
    told = [
        (reason.missing, -shape.seen, shape.name, reason.text())
        for shape, answer in refusals
        if isinstance(answer, NoFit | NodeError)
        for reason in answer.reasons[:1]
        if not is_about_the_pin(reason)
    ]
    if not told:
        return "", "no shape asks for a device of this kind"
    _, _, name, why = min(told)
    return name, why


def _cost(
    snapshot: Snapshot, places: Mapping[tuple[str, str], Sequence[ClusterNode]], stranded: Sequence[Stranded]
) -> dict[str, float]:
    lost: dict[str, Fraction] = {}
    for (name, _), nodes in sorted(places.items()):
        group = next((each for each in snapshot.tables.groups.values() if each.name == name), None)
        if group is None or not group.price:
            continue
        for node in nodes:
            devices = len(free_devices(node.node, snapshot.catalog, AllocatedState.empty()))
            idle = sum(1 for each in stranded if each.node == node.name)
            lost[name] = lost.get(name, Fraction(0)) + group.price * idle / devices
    return {name: float(cost) for name, cost in lost.items()}
