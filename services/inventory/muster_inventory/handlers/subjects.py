"""Where the inventory's aggregates stand in its stream: muster.inventory.<cluster>.<kind>.<id>."""

from muster_dra.objects.slices import PoolId
from muster_eventstore.subjects import event_filter, event_subject
from muster_types import ClusterId, NodeGroupName, NodeName

STREAM = "inventory"
NODE, NODE_GROUP, POOL = "node", "nodegroup", "pool"


def node_subject(cluster: ClusterId, name: NodeName) -> str:
    return event_subject(STREAM, cluster, NODE, name)


def group_subject(cluster: ClusterId, name: NodeGroupName) -> str:
    return event_subject(STREAM, cluster, NODE_GROUP, name)


def pool_subject(cluster: ClusterId, id: PoolId) -> str:
    return event_subject(STREAM, cluster, POOL, id.driver, id.name)


def kind_filter(kind: str) -> str:
    """All aggregates of a kind, in every cluster."""
    return event_filter(STREAM, kind=kind)
