"""From what the cluster shows to the inventory's own events: one decision for each object that changed.

Groups first, then pools, then nodes, because a node's arrival depends on both; last, each arrival is handed to its
group, which judges the template by it. Everything may be decided again at any time: the aggregates know what they
have recorded and decide nothing on a repeat.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Sequence

import structlog

from muster_dra.objects.slices import PoolId, ResourceSlice
from muster_eventstore.envelope import Cause, derived_id
from muster_eventstore.subjects import InvalidSubject, parse_event
from muster_inventory.domain.arrival import missing_pools
from muster_inventory.domain.node import Arrival, Node, NodeCommand, RecordNode, RecordNodeGone
from muster_inventory.domain.node_group import (
    NodeGroup,
    NodeGroupCommand,
    RecordArrival,
    RecordNodeGroup,
    RecordNodeGroupGone,
)
from muster_inventory.domain.pool import Pool, PoolCommand, RecordPool, RecordPoolGone
from muster_inventory.domain.seen import NodeSeen, Origin
from muster_inventory.handlers.subjects import group_subject, node_subject, pool_subject
from muster_inventory.handlers.world import Changed, ClusterWorld, World, pool_key
from muster_inventory.ports import Aggregates
from muster_plan.shape import compare_shape
from muster_types import ClusterId, NodeGroupName, NodeName

log = structlog.get_logger("muster.inventory")
_AT_ONCE = 64  # decisions on their way to the store together; more gain nothing (stack §3.2)


class Settler:
    """Decides for the objects that changed. One call at a time."""

    def __init__(
        self,
        world: World,
        nodes: Aggregates[NodeCommand, Node | None],
        groups: Aggregates[NodeGroupCommand, NodeGroup],
        pools: Aggregates[PoolCommand, Pool | None],
    ) -> None:
        self._world = world
        self._nodes = nodes
        self._groups = groups
        self._pools = pools

    async def settle(self) -> int:
        """Decide for all that changed in clusters whose list is whole; how many objects that were.

        What could not be recorded counts as changed still, and the error is raised.
        """
        count = 0
        for cluster, world in sorted(self._world.clusters.items()):
            if not world.listed:
                continue  # a node whose group is still to come would be told to belong to none
            changed = world.take_changed()
            if not changed:
                continue
            try:
                await self._settle(cluster, world, changed)
            except BaseException:
                world.hand_back(changed)
                raise
            count += len(changed.nodes) + len(changed.groups) + len(changed.pools)
        return count

    async def reconcile(self, cluster: ClusterId, origin: Origin) -> None:
        """Decide for everything that is recorded or shown, because facts may have been missed: once at the start."""
        world = self._world.cluster(cluster)
        changed = Changed(
            nodes=dict.fromkeys(world.nodes, origin),
            groups=dict.fromkeys(world.groups, origin),
            pools=dict.fromkeys(world.pool_ids(), origin),
        )
        for kind in (self._nodes, self._groups, self._pools):
            for subject, _ in kind.states():
                parsed = parse_event(subject)
                if isinstance(parsed, InvalidSubject) or parsed.cluster != cluster:
                    continue
                if kind is self._nodes:
                    changed.nodes[NodeName(parsed.ids[0])] = origin
                elif kind is self._groups:
                    changed.groups[NodeGroupName(parsed.ids[0])] = origin
                else:
                    changed.pools[PoolId(*parsed.ids)] = origin
        await self._settle(cluster, world, changed)

    async def _settle(self, cluster: ClusterId, world: ClusterWorld, changed: Changed) -> None:
        await _all(
            lambda name=name, origin=origin: self._group(cluster, world, name, origin)
            for name, origin in sorted(changed.groups.items())
        )
        await _all(
            lambda id=id, origin=origin: self._pool(cluster, world, id, origin)
            for id, origin in sorted(changed.pools.items(), key=lambda item: pool_key(item[0]))
        )
        await _all(
            lambda name=name, origin=origin: self._node(cluster, world, name, origin, changed)
            for name, origin in sorted(changed.nodes.items())
        )
        # One after the other: several arrivals of a group are judged in the order of their names.
        for name, origin in sorted(changed.nodes.items()):
            await self._judge(cluster, name, origin)

    async def _group(self, cluster: ClusterId, world: ClusterWorld, name: NodeGroupName, origin: Origin) -> None:
        seen = world.groups.get(name)
        command = RecordNodeGroupGone(name) if seen is None else RecordNodeGroup(seen.declaration)
        await self._groups.handle(group_subject(cluster, name), command, _cause(origin, command))

    async def _pool(self, cluster: ClusterId, world: ClusterWorld, id: PoolId, origin: Origin) -> None:
        pool = world.pool(id)
        command = RecordPoolGone(id) if pool is None else RecordPool(pool)
        await self._pools.handle(pool_subject(cluster, id), command, _cause(origin, command))

    async def _node(
        self, cluster: ClusterId, world: ClusterWorld, name: NodeName, origin: Origin, changed: Changed
    ) -> None:
        seen = world.nodes.get(name)
        if seen is None:
            command: NodeCommand = RecordNodeGone(name, changed.lost.get(name))
        else:
            group = world.group_of(seen)
            arrival = self._arrival(cluster, world, seen, group, origin)
            command = RecordNode(name, group, seen.readiness, seen.purpose, arrival)
        await self._nodes.handle(node_subject(cluster, name), command, _cause(origin, command))

    def _arrival(
        self,
        cluster: ClusterId,
        world: ClusterWorld,
        seen: NodeSeen,
        group: NodeGroupName | None,
        origin: Origin,
    ) -> Arrival | None:
        if seen.purpose is None:
            return None
        recorded = self._nodes.state(node_subject(cluster, seen.node.name))
        if recorded is not None and recorded.arrived == seen.purpose:
            return None  # it arrived before; what it shows now is no part of that
        declared = None if group is None else world.groups.get(group)
        if declared is None:
            return Arrival((), origin.time)
        pools = world.pools_on(seen.node.name)
        missing = missing_pools(declared.promised_pools, pools)
        if missing:
            log.debug("node waits for its pools", node=seen.node.name, missing=[str(each) for each in missing])
            return None
        slices = [each for pool in pools for each in _newest(world.slices_of(pool.id), pool.generation)]
        group_seen = declared.group
        mismatches = compare_shape(group_seen.template, seen.node, slices, domain_label=group_seen.domain_label)
        return Arrival(mismatches, origin.time)

    async def _judge(self, cluster: ClusterId, name: NodeName, origin: Origin) -> None:
        """Read from the recorded state rather than from the event, so that a crash in between loses no judgement."""
        node = self._nodes.state(node_subject(cluster, name))
        if node is None or node.arrived is None or node.group is None:
            return
        command = RecordArrival(node.group, name, node.mismatches)
        await self._groups.handle(group_subject(cluster, node.group), command, _cause(origin, command))


def _newest(slices: Sequence[ResourceSlice], generation: int) -> list[ResourceSlice]:
    return [each for each in slices if each.generation == generation]


def _cause(origin: Origin, command: NodeCommand | NodeGroupCommand | PoolCommand) -> Cause:
    """The fact, and what was made of it: seen again by other code, a fact may lead to another decision."""
    return Cause(origin.id, origin.correlation_id).step(hashlib.sha256(repr(command).encode()).hexdigest())


def start_origin(cluster: ClusterId, sequence: int, newest: Origin) -> Origin:
    """The origin of what is decided at the start because facts may have been missed."""
    id = derived_id("reconcile", cluster, sequence)
    return Origin(id, id, newest.time)


async def _all(makers: Iterable[Callable[[], Awaitable[None]]]) -> None:
    """Run them, a bounded number at once; all have ended when this returns or raises."""
    pending = list(makers)
    for start in range(0, len(pending), _AT_ONCE):
        results = await asyncio.gather(*(make() for make in pending[start : start + _AT_ONCE]), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
