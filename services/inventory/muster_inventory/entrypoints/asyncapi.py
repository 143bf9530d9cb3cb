"""What the inventory reads and sends, as an AsyncAPI document."""

from collections.abc import Mapping

from muster.events.inventory.v1 import inventory_pb2 as pb
from muster.events.observed.v1 import observed_pb2
from muster_eventstore import event_filter
from muster_inventory.handlers.subjects import NODE, NODE_GROUP, POOL, kind_filter
from muster_servicekit.asyncapi import Carrier, Channel, messages_of
from muster_servicekit.faststream_edge import describe_service

RECEIVED = (
    Channel(
        "observed",
        event_filter("observed"),
        messages_of(observed_pb2),
        "What the clusters show. Read in order from the beginning at each start; never acknowledged.",
    ),
)
SENT = (
    Channel(
        "inventory-nodes",
        kind_filter(NODE),
        (pb.NodeRegistered, pb.NodeReadied, pb.NodeUnreadied, pb.NodeArrived, pb.NodeGone),
        "Nodes: registered, ready or not, arrived for their gang, gone.",
        Carrier.BATCH,
    ),
    Channel(
        "inventory-node-groups",
        kind_filter(NODE_GROUP),
        (pb.NodeGroupDeclared, pb.NodeGroupWithdrawn, pb.TemplateMistrusted, pb.TemplateTrusted),
        "Node groups, and whether their templates kept their promise.",
        Carrier.BATCH,
    ),
    Channel(
        "inventory-pools",
        kind_filter(POOL),
        (pb.PoolChanged, pb.PoolGone),
        "Pools of devices: complete, half updated or invalid.",
        Carrier.BATCH,
    ),
)


def document() -> Mapping[str, object]:
    """The AsyncAPI 3.0 document."""
    return describe_service("inventory", "What exists, and what could.", received=RECEIVED, sent=SENT)
