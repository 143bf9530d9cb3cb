"""Folding recorded decisions into an empty inventory, with the same evolve functions; nothing is decided or sent."""

from collections.abc import Iterable
from dataclasses import dataclass

from muster_inventory.domain.node import NODE, Node, NodeEvent
from muster_inventory.domain.node_group import NODE_GROUP, NodeGroup, NodeGroupEvent
from muster_inventory.domain.pool import POOL, Pool, PoolEvent
from muster_inventory.handlers.export import export_state
from muster_types import ClusterId


@dataclass(frozen=True, slots=True)
class NodeBatch:
    """The events of one decision about a node."""

    subject: str
    events: tuple[NodeEvent, ...]


@dataclass(frozen=True, slots=True)
class NodeGroupBatch:
    """The events of one decision about a node group."""

    subject: str
    events: tuple[NodeGroupEvent, ...]


@dataclass(frozen=True, slots=True)
class PoolBatch:
    """The events of one decision about a pool."""

    subject: str
    events: tuple[PoolEvent, ...]


RecordedBatch = NodeBatch | NodeGroupBatch | PoolBatch


def replay(batches: Iterable[RecordedBatch], cluster: ClusterId) -> bytes:
    """The canonical export after these batches, in stream order; those of other clusters do not matter."""
    nodes: dict[str, Node | None] = {}
    groups: dict[str, NodeGroup] = {}
    pools: dict[str, Pool | None] = {}
    for batch in batches:
        match batch:
            case NodeBatch(subject, events):
                nodes[subject] = NODE.fold(events, nodes.get(subject, NODE.initial))
            case NodeGroupBatch(subject, events):
                groups[subject] = NODE_GROUP.fold(events, groups.get(subject, NODE_GROUP.initial))
            case PoolBatch(subject, events):
                pools[subject] = POOL.fold(events, pools.get(subject, POOL.initial))
    return export_state(cluster, nodes.items(), groups.items(), pools.items())
