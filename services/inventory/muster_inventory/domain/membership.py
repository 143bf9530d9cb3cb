"""Which node group a node belongs to (architecture §8)."""

from collections.abc import Mapping

from muster_inventory.domain.seen import NodeSeen
from muster_plan.node_groups import NodeGroup
from muster_types import NodeGroupName


def find_group(node: NodeSeen, groups: Mapping[NodeGroupName, NodeGroup]) -> NodeGroupName | None:
    """The group that the node's own label names, declared or not; else the first by name whose selector matches,
    where a group without selector means its template's labels. None: it belongs to no group."""
    if node.group_label is not None:
        return node.group_label
    labels = node.node.labels
    for name in sorted(groups):
        group = groups[name]
        if group.selector is not None:
            if group.selector.matches(labels):
                return name
        elif group.template.labels and all(labels.get(key) == value for key, value in group.template.labels.items()):
            return name
    return None
