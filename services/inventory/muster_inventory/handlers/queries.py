"""Answers about what exists and what could, from the world and the inventory's own state. Nothing is written."""

from bisect import bisect_right
from collections.abc import Iterator

from muster_dra.attributes import Attribute
from muster_dra.objects.slices import Device
from muster_inventory.domain.node_group import NodeGroup, NodeGroupCommand
from muster_inventory.domain.pool import Pool
from muster_inventory.domain.seen import NodeSeen, Problem
from muster_inventory.domain.views import DeviceView, NodeGroupView, NodeView
from muster_inventory.handlers.paging import Key, Page, cut_page, page_size, read_token
from muster_inventory.handlers.subjects import group_subject
from muster_inventory.handlers.world import ClusterWorld, World, pool_key
from muster_inventory.ports import Aggregates
from muster_types import ClusterId, NodeName


class Queries:
    """All lists are sorted by name, so a page follows the one before whatever changed meanwhile."""

    def __init__(self, world: World, groups: Aggregates[NodeGroupCommand, NodeGroup]) -> None:
        self._world = world
        self._groups = groups

    def list_nodes(self, cluster: ClusterId, size: int, token: str) -> Page[NodeView]:
        world = self._world.cluster(cluster)
        after = read_token(token)
        names = sorted(world.nodes)
        first = bisect_right(names, after[0]) if after else 0
        return cut_page((((name,), _node_view(world, world.nodes[name])) for name in names[first:]), page_size(size))

    def list_pools(self, cluster: ClusterId, size: int, token: str) -> Page[Pool]:
        world = self._world.cluster(cluster)
        return cut_page(_pools(world, read_token(token)), page_size(size))

    def list_devices(self, cluster: ClusterId, node: NodeName | None, size: int, token: str) -> Page[DeviceView]:
        """Devices at the newest generation of each pool; with `node` those that only it sees."""
        world = self._world.cluster(cluster)
        return cut_page(_devices(world, node, read_token(token)), page_size(size))

    def list_node_groups(self, cluster: ClusterId) -> list[NodeGroupView]:
        world = self._world.cluster(cluster)
        registered: dict[str, int] = {}
        for seen in world.nodes.values():
            group = world.group_of(seen)
            if group is not None:
                registered[group] = registered.get(group, 0) + 1
        return [
            NodeGroupView(
                declaration=seen.declaration,
                trust=self._groups.state(group_subject(cluster, name)).trust,
                devices_per_node=seen.promised_devices,
                registered_nodes=registered.get(name, 0),
            )
            for name, seen in sorted(world.groups.items())
        ]

    def list_problems(self, cluster: ClusterId) -> list[Problem]:
        return self._world.cluster(cluster).problems()


def _node_view(world: ClusterWorld, seen: NodeSeen) -> NodeView:
    return NodeView(
        name=seen.node.name,
        group=world.group_of(seen),
        readiness=seen.readiness,
        labels=seen.node.labels,
        device_count=sum(pool.device_count for pool in world.pools_on(seen.node.name) if pool.node == seen.node.name),
        purpose=seen.purpose,
    )


def _pools(world: ClusterWorld, after: Key) -> Iterator[tuple[Key, Pool]]:
    ids = world.pool_ids()
    first = bisect_right(ids, after, key=pool_key) if after else 0
    for id in ids[first:]:
        pool = world.pool(id)
        if pool is not None:
            yield pool_key(id), pool


def _devices(world: ClusterWorld, node: NodeName | None, after: Key) -> Iterator[tuple[Key, DeviceView]]:
    ids = world.pool_ids() if node is None else sorted((pool.id for pool in world.pools_on(node)), key=pool_key)
    start = after[:2]
    for id in ids:
        if start and pool_key(id) < start:
            continue
        pool = world.pool(id)
        if pool is None or (node is not None and pool.node != node):
            continue
        newest = [
            device for each in world.slices_of(id) if each.generation == pool.generation for device in each.devices
        ]
        for device in sorted(newest, key=lambda each: each.name):
            key = (*pool_key(id), device.name)
            if key > after:
                of = id.device(device.name)
                yield key, DeviceView(of, pool.node, world.held.holders(of), _described(device))


def _described(device: Device) -> dict[str, str]:
    capacity = {name: each.value.text for name, each in device.capacity.items()}
    return {**capacity, **{name: _text(attribute) for name, attribute in device.attributes.items()}}


def _text(attribute: Attribute) -> str:
    value = attribute.value
    if isinstance(value, tuple):
        return ",".join(map(_scalar, value))
    return "" if value is None else _scalar(value)


def _scalar(value: bool | int | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
