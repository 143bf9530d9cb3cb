"""What the provisioner reads and sends, as an AsyncAPI document."""

from collections.abc import Mapping

from muster.commands.provisioning.v1 import provisioning_pb2 as commands_pb2
from muster.events.inventory.v1 import inventory_pb2
from muster.events.provisioning.v1 import provisioning_pb2
from muster_eventstore import command_filter, event_filter
from muster_provisioner.handlers.subjects import STREAM, orders_filter
from muster_servicekit.asyncapi import Carrier, Channel, messages_of
from muster_servicekit.faststream_edge import describe_service

RECEIVED = (
    Channel(
        "order-commands",
        command_filter(STREAM),
        messages_of(commands_pb2),
        "Place an order, give it back. In order for each node group, acknowledged when the wish is recorded.",
    ),
    Channel(
        "inventory-node-groups",
        event_filter("inventory", kind="nodegroup"),
        (
            inventory_pb2.NodeGroupDeclared,
            inventory_pb2.NodeGroupWithdrawn,
            inventory_pb2.TemplateMistrusted,
            inventory_pb2.TemplateTrusted,
        ),
        "Node groups with their drivers and settings; trust is passed over. Read in order from the beginning.",
        Carrier.BATCH,
    ),
)
SENT = (
    Channel(
        "orders",
        orders_filter(),
        messages_of(provisioning_pb2),
        "Each order, from its intent to filled, short or cancelled.",
        Carrier.BATCH,
    ),
)


def document() -> Mapping[str, object]:
    """The AsyncAPI 3.0 document."""
    return describe_service("provisioner", "Capacity that does not exist yet.", received=RECEIVED, sent=SENT)
