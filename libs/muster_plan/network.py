"""Shared claims on network-attached devices: where they can lie, and which nodes reach them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from muster_dra import Allocation, Catalog, Node, NodeSelector, ResourceClaim, ResourceSlice, allocate
from muster_plan.booked_devices import to_allocated, to_planned
from muster_plan.gang import Gang, SharedClaim
from muster_plan.plan_types import PlannedDevice
from muster_plan.potential import Potentials
from muster_plan.snapshot import Snapshot
from muster_types import NodeName

_PROBE = NodeName("muster.dev/probe")
"""A node that no slice names: it sees network-attached pools alone."""


@dataclass(frozen=True, slots=True)
class NetworkUse:
    """Devices of network-attached pools for one shared claim; `selector` None: every node reaches them."""

    results: tuple[PlannedDevice, ...]
    selector: NodeSelector | None

    def reaches(self, node: Node) -> bool:
        return self.selector is None or self.selector.matches(node) is True


def network_uses(
    gang: Gang, shared: Sequence[SharedClaim], snapshot: Snapshot, potentials: Potentials
) -> tuple[tuple[NetworkUse | None, ...], ...]:
    """The ways to serve all open shared claims, None for a claim that takes its devices on a node.

    One way per combination of the sets of nodes that the claims' devices may serve; devices of one way are distinct.
    """
    slices = snapshot.network
    if not slices or not shared:
        return ((None,) * len(shared),)
    views = _views(slices, snapshot)
    nodes = _probes(slices, snapshot, potentials)
    ways: list[tuple[NetworkUse | None, ...]] = []
    choices = [(None, *range(len(views) * len(nodes))) for _ in shared]
    seen: set[tuple[str | None, ...]] = set()
    for picked in product(*choices):
        way: list[NetworkUse | None] = []
        allocated = snapshot.allocated
        for claim, choice in zip(shared, picked, strict=True):
            if choice is None:
                way.append(None)
                continue
            catalog, node = views[choice // len(nodes)], nodes[choice % len(nodes)]
            wanted = ResourceClaim(name=claim.id, namespace=gang.namespace, spec=claim.spec)
            outcome = allocate(node, [wanted], catalog, allocated)
            if not isinstance(outcome, Allocation) or not outcome.claims[0].results:
                break
            found = outcome.claims[0]
            results = tuple(map(to_planned, found.results))
            allocated = allocated.plus(map(to_allocated, results), claim.id)
            way.append(NetworkUse(results, found.node_selector))
        if len(way) < len(shared):
            continue
        key = tuple(None if use is None else repr(use.selector) for use in way)
        if key not in seen:
            seen.add(key)
            ways.append(tuple(way))
    return tuple(ways)


def _views(slices: Sequence[ResourceSlice], snapshot: Snapshot) -> list[Catalog]:
    """All network-attached pools, and each alone: what is met first is not always what serves most nodes."""
    pools = sorted({each.pool for each in slices}, key=lambda pool: (pool.driver, pool.name))
    parts: list[Iterable[ResourceSlice]] = [slices]
    if len(pools) > 1:
        parts.extend([each for each in slices if each.pool == pool] for pool in pools)
    tables = snapshot.tables
    classes = [tables.classes[key] for key in sorted(tables.classes)]
    rules = [tables.taint_rules[key] for key in sorted(tables.taint_rules)]
    return [Catalog.build(part, classes, taint_rules=rules, features=snapshot.features) for part in parts]


def _probes(slices: Sequence[ResourceSlice], snapshot: Snapshot, potentials: Potentials) -> list[Node]:
    """One node for each combination of label values that tells network-attached pools apart."""
    places = [place for each in slices for place in (each.place, *(device.place for device in each.devices))]
    keys = sorted(
        {
            requirement.key
            for place in places
            if place.selector is not None
            for term in place.selector.terms
            for requirement in term.expressions
        }
    )
    nodes = snapshot.tables.nodes
    labels = [nodes[key].labels for key in sorted(nodes)]
    labels += [potentials.by_group[name].node.labels for name in sorted(potentials.by_group)]
    found: dict[tuple[tuple[str, str], ...], Node] = {}
    for each in labels:
        relevant = tuple((key, each[key]) for key in keys if key in each)
        found.setdefault(relevant, Node(_PROBE, dict(relevant)))
    return [found[key] for key in sorted(found)]
