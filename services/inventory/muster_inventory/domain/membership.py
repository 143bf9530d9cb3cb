"""Which node group a node belongs to (architecture §8)."""

from collections.abc import Mapping

from muster_inventory.domain.seen import NodeSeen
from muster_plan.node_groups import NodeGroup
from muster_types import NodeGroupName


def find_group(node: NodeSeen, groups: Mapping[NodeGroupName, NodeGroup]) -> NodeGroupName | None:
    """The group that the node's own label names, declared or not; else the first by name that has it, or None."""
    if node.group_label is not None:
        return node.group_label
    return next((name for name in sorted(groups) if groups[name].has(node.node.labels)), None)
