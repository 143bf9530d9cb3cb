"""What each cluster shows, folded from the facts, with a note of what a decision may follow from.

The world knows objects, not decisions: those are the aggregates'. `take_changed` hands out what changed since the last
time, so that a chunk of facts costs one decision an object.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from muster_dra.allocated import AllocatedState
from muster_dra.objects.claims import ResourceClaim
from muster_dra.objects.slices import PoolId, ResourceSlice
from muster_inventory.domain.membership import find_group
from muster_inventory.domain.node import Purpose
from muster_inventory.domain.pool import Pool
from muster_inventory.domain.pool_state import judge_pool
from muster_inventory.domain.seen import (
    Fact,
    GroupSeen,
    InputMended,
    InputRejected,
    ListCompleted,
    NodeSeen,
    ObjectGone,
    ObjectPassed,
    ObjectSeen,
    Origin,
    Problem,
    ProblemId,
    Seen,
    Unreadable,
)
from muster_types import ClusterId, NodeGroupName, NodeName, ObjectKey


@dataclass(slots=True)
class Changed:
    """Objects that changed, each with the newest fact that touched it; `lost` are purposes of nodes that went."""

    nodes: dict[NodeName, Origin] = field(default_factory=dict[NodeName, Origin])
    groups: dict[NodeGroupName, Origin] = field(default_factory=dict[NodeGroupName, Origin])
    pools: dict[PoolId, Origin] = field(default_factory=dict[PoolId, Origin])
    lost: dict[NodeName, Purpose] = field(default_factory=dict[NodeName, Purpose])

    def __bool__(self) -> bool:
        return bool(self.nodes or self.groups or self.pools)


class ClusterWorld:
    """One cluster. `listed` tells whether a source has reported all it holds at least once."""

    def __init__(self) -> None:
        self.listed = False
        self.nodes: dict[NodeName, NodeSeen] = {}
        self.groups: dict[NodeGroupName, GroupSeen] = {}
        self.slices: dict[str, ResourceSlice] = {}
        self.claims: dict[ObjectKey, ResourceClaim] = {}
        self.held = AllocatedState.empty()
        self._slices_of: dict[PoolId, set[str]] = {}
        self._pools_on: dict[NodeName, set[PoolId]] = {}
        self._pools: dict[PoolId, Pool] = {}
        self._pool_ids: list[PoolId] | None = None
        self._group_of: dict[NodeName, NodeGroupName | None] = {}
        self._rejected: dict[ProblemId, Problem] = {}
        self._unreadable: dict[ObjectKey, Problem] = {}
        self._changed = Changed()

    def apply(self, fact: Fact, origin: Origin) -> None:
        """Take one fact in; a repeat changes nothing but marks its object as changed."""
        match fact:
            case ObjectSeen(key, seen):
                self._put(key, seen, origin)
            case ObjectGone(key):
                self._unreadable.pop(key, None)
                self._drop(key, origin)
            case InputRejected(id, problem):
                self._rejected[id] = problem
            case InputMended(id):
                self._rejected.pop(id, None)
            case ListCompleted():
                self.listed = True
            case ObjectPassed():
                pass

    def take_changed(self) -> Changed:
        """What changed since the last call."""
        taken, self._changed = self._changed, Changed()
        return taken

    def hand_back(self, taken: Changed) -> None:
        """What could not be dealt with is changed still; what changed meanwhile is newer."""
        newer = self._changed
        self._changed = Changed(
            {**taken.nodes, **newer.nodes},
            {**taken.groups, **newer.groups},
            {**taken.pools, **newer.pools},
            {**taken.lost, **newer.lost},
        )

    def problems(self) -> list[Problem]:
        """Every input that cannot be read now, then the warnings about others, sorted."""
        return sorted([*self._rejected.values(), *self._unreadable.values()], key=lambda problem: problem.rank)

    def pool(self, id: PoolId) -> Pool | None:
        """The state of a pool; None when no slice of it is published."""
        found = self._pools.get(id)
        if found is None:
            slices = [self.slices[name] for name in sorted(self._slices_of.get(id, ()))]
            found = judge_pool(id, slices)
            if found is not None:
                self._pools[id] = found
        return found

    def pool_ids(self) -> list[PoolId]:
        """All pools, by driver and name."""
        if self._pool_ids is None:
            self._pool_ids = sorted(self._slices_of, key=pool_key)
        return self._pool_ids

    def pools_on(self, node: NodeName) -> list[Pool]:
        """The pools that slices of this node belong to, by driver and name."""
        ids = sorted(self._pools_on.get(node, ()), key=pool_key)
        return [pool for id in ids if (pool := self.pool(id)) is not None]

    def slices_of(self, id: PoolId) -> list[ResourceSlice]:
        """All slices of a pool, by name."""
        return [self.slices[name] for name in sorted(self._slices_of.get(id, ()))]

    def group_of(self, node: NodeSeen) -> NodeGroupName | None:
        """The group that a node belongs to."""
        name = node.node.name
        if name not in self._group_of:
            self._group_of[name] = find_group(node, {name: seen.group for name, seen in self.groups.items()})
        return self._group_of[name]

    def _put(self, key: ObjectKey, seen: Seen, origin: Origin) -> None:
        self._unreadable.pop(key, None)
        match seen:
            case Unreadable(field, reason):
                self._drop(key, origin)  # an object that cannot be read counts as absent, and is listed as a problem
                self._unreadable[key] = Problem("observed", str(key), field, reason)
            case NodeSeen():
                self.nodes[NodeName(key.name)] = seen
                self._group_of.pop(NodeName(key.name), None)
                self._touch_node(NodeName(key.name), origin)
            case GroupSeen():
                self.groups[NodeGroupName(key.name)] = seen
                self._touch_group(NodeGroupName(key.name), origin)
            case ResourceSlice():
                self._drop_slice(key.name, origin)
                self._put_slice(key.name, seen, origin)
            case ResourceClaim():
                self._drop_claim(key)
                self.claims[key] = seen
                if seen.allocation is not None:
                    self.held = self.held.plus(seen.allocation.devices, seen.full_name)

    def _drop(self, key: ObjectKey, origin: Origin) -> None:
        match key.kind:
            case "Node":
                gone = self.nodes.pop(NodeName(key.name), None)
                self._group_of.pop(NodeName(key.name), None)
                if gone is not None and gone.purpose is not None:
                    self._changed.lost[NodeName(key.name)] = gone.purpose
                self._touch_node(NodeName(key.name), origin)
            case "NodeGroup":
                self.groups.pop(NodeGroupName(key.name), None)
                self._touch_group(NodeGroupName(key.name), origin)
            case "ResourceSlice":
                self._drop_slice(key.name, origin)
            case "ResourceClaim":
                self._drop_claim(key)
            case _:
                pass

    def _put_slice(self, name: str, seen: ResourceSlice, origin: Origin) -> None:
        self.slices[name] = seen
        self._slices_of.setdefault(seen.pool, set()).add(name)
        for node in _nodes_of(seen):
            self._pools_on.setdefault(node, set()).add(seen.pool)
            self._touch_node(node, origin)
        self._touch_pool(seen.pool, origin)

    def _drop_slice(self, name: str, origin: Origin) -> None:
        gone = self.slices.pop(name, None)
        if gone is None:
            return
        names = self._slices_of[gone.pool]
        names.discard(name)
        for node in _nodes_of(gone):
            if not any(node in _nodes_of(self.slices[other]) for other in names):
                self._pools_on[node].discard(gone.pool)
            self._touch_node(node, origin)
        if not names:
            del self._slices_of[gone.pool]
        self._touch_pool(gone.pool, origin)

    def _drop_claim(self, key: ObjectKey) -> None:
        gone = self.claims.pop(key, None)
        if gone is not None and gone.allocation is not None:
            self.held = self.held.minus(gone.allocation.devices, gone.full_name)

    def _touch_node(self, node: NodeName, origin: Origin) -> None:
        self._changed.nodes[node] = origin

    def _touch_pool(self, id: PoolId, origin: Origin) -> None:
        self._pools.pop(id, None)
        self._pool_ids = None
        self._changed.pools[id] = origin

    def _touch_group(self, name: NodeGroupName, origin: Origin) -> None:
        self._changed.groups[name] = origin
        self._group_of.clear()
        for node in self.nodes:
            self._touch_node(node, origin)  # it may belong to another group now, or be promised other pools


class World:
    """All clusters."""

    def __init__(self) -> None:
        self.clusters: dict[ClusterId, ClusterWorld] = {}

    def cluster(self, id: ClusterId) -> ClusterWorld:
        return self.clusters.setdefault(id, ClusterWorld())

    def apply(self, cluster: ClusterId, facts: Iterable[Fact], origin: Origin) -> None:
        world = self.cluster(cluster)
        for fact in facts:
            world.apply(fact, origin)


def pool_key(id: PoolId) -> tuple[str, str]:
    """Pools are told in this order."""
    return id.driver, id.name


def _nodes_of(each: ResourceSlice) -> tuple[NodeName, ...]:
    """The node that a slice is local to; slices that several nodes see belong to none."""
    return (NodeName(each.place.node_name),) if each.place.node_name else ()
