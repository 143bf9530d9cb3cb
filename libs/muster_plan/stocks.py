"""Stocks: classes of nodes that are interchangeable for a gang, existing ones and those a group could add."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from muster_dra import AllocatedState, Catalog, Node, NodeSelector, node_class_key
from muster_plan.device_state import REACH, reach_of
from muster_plan.domains import HostSpread
from muster_plan.eligibility import (
    Barrier,
    Blocked,
    Neighbours,
    Site,
    first_blocker,
    occupant_conflict,
)
from muster_plan.gang import Gang
from muster_plan.kinds import Kind
from muster_plan.labels import HOSTNAME
from muster_plan.node_groups import NodeGroup
from muster_plan.nodes import ClusterNode
from muster_plan.potential import Potential, Potentials
from muster_plan.snapshot import Snapshot
from muster_types import Nano, NodeName


@dataclass(frozen=True, slots=True)
class Stock:
    """Nodes of which each can take the same pods. `names` are existing nodes; `potential` makes it a group's next ones.

    `free` is what is left of each resource the gang asks for. `blocked` says per kind what keeps it off. `domains`
    are the node's values of the problem's topology keys. `devices` keys the node's device state, None where no kind
    asks for devices. All else is of the first node, which stands for the class.
    """

    id: int
    names: tuple[NodeName, ...]
    potential: Potential | None
    node: Node
    free: Mapping[str, int]
    blocked: tuple[Blocked | None, ...]
    by_claim: tuple[frozenset[str], ...]
    domains: tuple[str | None, ...]
    devices: Hashable
    catalog: Catalog
    allocated: AllocatedState
    seen: tuple[int, ...] = ()  # pods on the node that each spread rule over hosts counts already

    @property
    def group(self) -> NodeGroup | None:
        return None if self.potential is None else self.potential.group

    @property
    def label(self) -> str:
        if self.potential is not None:
            return f"group {self.potential.group.name}"
        return f"node {self.names[0]}" if len(self.names) == 1 else f"{len(self.names)} nodes like {self.names[0]}"


@dataclass(frozen=True, slots=True)
class Scene:
    """The gang as stocks are built for it. `keys` are the label keys that tell domains apart."""

    gang: Gang
    kinds: tuple[Kind, ...]
    neighbours: Neighbours
    keys: tuple[str, ...]
    devices: bool  # whether anything of the gang asks for devices
    total: Mapping[str, int]  # what all pods of the gang ask for together
    host_spreads: tuple[HostSpread, ...] = ()

    @property
    def resources(self) -> tuple[str, ...]:
        return tuple(sorted(self.total))


def scene_of(
    gang: Gang,
    kinds: tuple[Kind, ...],
    neighbours: Neighbours,
    keys: tuple[str, ...],
    host_spreads: tuple[HostSpread, ...] = (),
) -> Scene:
    total: dict[str, int] = {}
    for kind in kinds:
        for resource, amount in kind.requests.items():
            total[resource] = total.get(resource, 0) + amount * kind.count
    devices = any(kind.pod_set.claims or kind.maybe_extended for kind in kinds)
    return Scene(gang, kinds, neighbours, keys, devices, total, host_spreads)


def existing_stocks(scene: Scene, snapshot: Snapshot, start: int) -> tuple[Stock, ...]:
    """Classes of existing nodes, in the order of their first node's name."""
    found: dict[Hashable, _Draft] = {}
    judge = _Judge(scene)
    nodes = snapshot.tables.nodes
    for key in sorted(nodes):
        draft = _existing(scene, nodes[key], snapshot, judge)
        found.setdefault(draft.signature, draft).names.append(nodes[key].name)
    return tuple(
        draft.stock(start + index, None, snapshot.catalog, snapshot.allocated)
        for index, draft in enumerate(found.values())
    )


ASSUMED = "\0assumed/"
"""Begins the value of a label that a group's new nodes are assumed to share; no label has such a value."""


def potential_stocks(
    scene: Scene, potentials: Potentials, snapshot: Snapshot, start: int, assumed: frozenset[str]
) -> tuple[Stock, ...]:
    """One stock per node group, by group name. `assumed`: keys that appear only after boot and may be ordered for."""
    found: list[Stock] = []
    judge = _Judge(scene)
    for index, name in enumerate(sorted(potentials.by_group)):
        potential = potentials.by_group[name]
        site = Site(potential.node, None, potential.group.template.taints, unschedulable=False, ready=True)
        free = {resource: max(potential.free.get(resource, 0), 0) for resource in scene.resources}
        blocked, by_claim = judge.verdict(site, potential.group.template.allocatable)
        blocked = tuple(
            each or occupant_conflict(kind, potential.occupants, scene.gang.namespace)
            for kind, each in zip(scene.kinds, blocked, strict=True)
        )
        domains = tuple(
            reach_of(potential.node, potentials.catalog, snapshot)
            if key == REACH
            else potential.node.labels.get(key, f"{ASSUMED}{name}" if key in assumed else None)
            for key in scene.keys
        )
        devices = (
            node_class_key(potential.node, potentials.catalog, potentials.allocated),
            tuple(map(id, potential.daemons)),
            potential.promise.bound,
        )
        seen = tuple(0 for _ in scene.host_spreads)
        draft = _Draft(potential.node, free, blocked, by_claim, domains, devices, seen=seen)
        found.append(draft.stock(start + index, potential, potentials.catalog, potentials.allocated))
    return tuple(found)


@dataclass(slots=True)
class _Draft:
    node: Node
    free: Mapping[str, int]
    blocked: tuple[Blocked | None, ...]
    by_claim: tuple[frozenset[str], ...]
    domains: tuple[str | None, ...]
    devices: Hashable
    names: list[NodeName] = field(default_factory=list[NodeName])
    seen: tuple[int, ...] = ()

    @property
    def signature(self) -> Hashable:
        if all(self.blocked):
            return (self.blocked, self.domains)
        return (self.blocked, self.by_claim, self.domains, tuple(self.free.values()), self.devices, self.seen)

    def stock(self, id: int, potential: Potential | None, catalog: Catalog, allocated: AllocatedState) -> Stock:
        return Stock(
            id=id,
            names=tuple(self.names),
            potential=potential,
            node=self.node,
            free=self.free,
            blocked=self.blocked,
            by_claim=self.by_claim,
            domains=self.domains,
            devices=self.devices,
            catalog=catalog,
            allocated=allocated,
            seen=self.seen,
        )


def _existing(scene: Scene, node: ClusterNode, snapshot: Snapshot, judge: "_Judge") -> _Draft:
    site = Site(node.node, node.name, node.taints, node.unschedulable, node.ready)
    blocked, by_claim = judge.verdict(site, node.allocatable)
    domains = tuple(
        reach_of(node.node, snapshot.catalog, snapshot) if key == REACH else node.labels.get(key) for key in scene.keys
    )
    if all(blocked):
        return _Draft(node.node, {}, blocked, by_claim, domains, None)
    usage = snapshot.usage(node.name)
    if usage.occupants:
        blocked = tuple(
            each or occupant_conflict(kind, usage.occupants, scene.gang.namespace)
            for kind, each in zip(scene.kinds, blocked, strict=True)
        )
    free: dict[str, int] = {}
    for resource in scene.resources:
        left = node.allocatable.get(resource, 0) - usage.requests.get(resource, 0)
        free[resource] = max(min(left, scene.total[resource]), 0)  # more than the gang asks for makes no difference
    devices = node_class_key(node.node, snapshot.catalog, snapshot.allocated) if scene.devices else None
    seen = tuple(spread.base.get(node.labels.get(HOSTNAME, ""), 0) for spread in scene.host_spreads)
    return _Draft(node.node, free, blocked, by_claim, domains, devices, seen=seen)


class _Judge:
    """Eligibility once per distinct set of the labels and taints that matter to the gang."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._keys = sorted(_label_keys(scene))
        self._by_name = any(_asks_for_name(kind) for kind in scene.kinds)
        self._resources = sorted({resource for kind in scene.kinds for resource in kind.maybe_extended})
        self._known: dict[Hashable, tuple[tuple[Blocked | None, ...], tuple[frozenset[str], ...]]] = {}

    def verdict(
        self, site: Site, allocatable: Mapping[str, Nano]
    ) -> tuple[tuple[Blocked | None, ...], tuple[frozenset[str], ...]]:
        """Per kind what keeps it off, and which of its extended resources devices would serve."""
        labels = site.labels
        key = (
            tuple(labels.get(name) for name in self._keys),
            site.taints,
            site.unschedulable,
            site.ready,
            site.name if self._by_name else site.name is None,
            tuple(allocatable.get(resource, 0) > 0 for resource in self._resources),
        )
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._judged(site, allocatable)
        return found

    def _judged(
        self, site: Site, allocatable: Mapping[str, Nano]
    ) -> tuple[tuple[Blocked | None, ...], tuple[frozenset[str], ...]]:
        blocked: list[Blocked | None] = []
        modes: list[frozenset[str]] = []
        for kind in self._scene.kinds:
            barrier = first_blocker(kind, site, self._scene.neighbours, self._scene.gang.id)
            mode = kind.by_claim(allocatable)
            if barrier is None and mode is None:
                barrier = Blocked(Barrier.NO_CLASS, "an extended resource is neither advertised nor backed by a class")
            blocked.append(barrier)
            modes.append(mode or frozenset())
        return tuple(blocked), tuple(modes)


def _label_keys(scene: Scene) -> set[str]:
    keys: set[str] = set()
    for kind in scene.kinds:
        keys.update(kind.spec.node_selector)
        if kind.spec.affinity is not None:
            keys.update(r.key for term in kind.spec.affinity.terms for r in term.labels)
        keys.update(scene.neighbours.refused[kind.index])
        keys.update(key for key, _ in scene.neighbours.wanted[kind.index])
        for selector in _pins(kind):
            keys.update(r.key for term in selector.terms for r in term.expressions)
    return keys


def _asks_for_name(kind: Kind) -> bool:
    if kind.home:
        return True
    own = kind.spec.affinity
    if own is not None and any(term.fields for term in own.terms):
        return True
    return any(term.fields for selector in _pins(kind) for term in selector.terms)


def _pins(kind: Kind) -> Sequence[NodeSelector]:
    found: list[NodeSelector] = []
    for entry in kind.pod_set.shared_claims:
        existing = entry.claim.existing
        if existing is not None and existing.allocation is not None and existing.allocation.node_selector is not None:
            found.append(existing.allocation.node_selector)
    return found
