"""Nodes that were ordered, as they join the cluster: the group's template made real."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from muster_dra import Allocation, Node, ResourceClaim, allocate
from muster_plan import ClusterNode, NodeGroup, Snapshot
from muster_plan.labels import HOSTNAME
from muster_plan.potential import potentials_of
from muster_plan.promised import promise_of
from muster_types import Nano, NodeGroupName, NodeName, ObjectKey


@dataclass(frozen=True, slots=True)
class NewNodes:
    """`count` nodes of a group whose first gets the number `first` (from 0) among its new ones."""

    group: NodeGroupName
    first: int
    count: int

    @property
    def names(self) -> tuple[NodeName, ...]:
        return tuple(node_name(self.group, self.first + each) for each in range(self.count))


def node_name(group: NodeGroupName, number: int) -> NodeName:
    """No name of an existing node holds a slash."""
    return NodeName(f"new/{group}/{number:05d}")


def is_new(name: NodeName) -> bool:
    """Whether a node came in by an order."""
    return name.startswith("new/")


def with_new_nodes(snapshot: Snapshot, orders: Sequence[NewNodes]) -> Snapshot:
    """The snapshot in which these nodes have joined their groups, with the devices that the template says and less what
    daemon pods take. A group's domain label gets a value of its own for each unit."""
    for order in orders:
        group = snapshot.group(order.group)
        if group is not None and order.count:
            snapshot = _joined(snapshot, group, order)
    return snapshot


def _joined(snapshot: Snapshot, group: NodeGroup, order: NewNodes) -> Snapshot:
    potential = potentials_of(snapshot).by_group[group.name]
    template = group.template
    nodes = dict(snapshot.tables.nodes)
    allocatable = {name: Nano(max(amount, 0)) for name, amount in potential.free.items()}
    slices = [] if potential.fault else [each for name in order.names for each in promise_of(name, template).slices]
    catalog = snapshot.catalog.with_slices(slices)
    held, allocated = snapshot.held, snapshot.allocated
    for at, name in enumerate(order.names):
        labels = {**template.labels, HOSTNAME: name}
        if group.domain_label:
            labels[group.domain_label] = f"new/{group.name}/unit-{(order.first + at) // group.unit}"
        node = Node(name, labels)
        nodes[ObjectKey("Node", "", name)] = ClusterNode(
            name, labels, template.taints, unschedulable=False, ready=True, allocatable=allocatable, node=node
        )
        claims = [
            ResourceClaim(name=f"daemon-{index}", namespace="", spec=spec)
            for index, spec in enumerate(potential.daemons)
        ]
        answer = allocate(node, claims, catalog, allocated) if claims else Allocation(())
        if isinstance(answer, Allocation):
            taken = [result for claim in answer.claims for result in claim.results]
            held, allocated = held.plus(taken, f"daemons of {name}"), allocated.plus(taken, f"daemons of {name}")
    groups = {
        **snapshot.tables.groups,
        ObjectKey("NodeGroup", "", group.name): replace(group, current_size=group.current_size + order.count),
    }
    tables = replace(snapshot.tables, nodes=nodes, groups=groups)
    return replace(snapshot, tables=tables, catalog=catalog, held=held, allocated=allocated)
