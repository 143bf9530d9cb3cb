"""What the gang-coordinator reads and sends, as an AsyncAPI document."""

from collections.abc import Mapping

from muster.commands.claims.v1 import claims_pb2 as claim_commands_pb2
from muster.commands.gangs.v1 import gangs_pb2 as gang_commands_pb2
from muster.commands.provisioning.v1 import provisioning_pb2 as order_commands_pb2
from muster.events.claims.v1 import claims_pb2
from muster.events.gangs.v1 import gangs_pb2
from muster.events.inventory.v1 import inventory_pb2
from muster.events.observed.v1 import observed_pb2
from muster.events.provisioning.v1 import provisioning_pb2
from muster_eventstore import command_filter, event_filter, fired_filter
from muster_gang_coordinator.handlers.desk import KIND, STREAM
from muster_servicekit.asyncapi import Carrier, Channel, messages_of
from muster_servicekit.faststream_edge import describe_service

RECEIVED = (
    Channel(
        "gang-commands",
        command_filter(STREAM),
        messages_of(gang_commands_pb2),
        "Ask for a gang, cancel it, wake it. In order for each gang, acknowledged when recorded.",
    ),
    Channel(
        "gang-timers",
        fired_filter(STREAM),
        (gang_commands_pb2.WakeGang,),
        "Deadlines that have come, from the store's clock; late and twice as it may be.",
    ),
    Channel(
        "ledger",
        event_filter("claims"),
        messages_of(claims_pb2),
        "What the ledger holds for a gang. In order for each gang; what is let go wakes waiting gangs.",
        Carrier.BATCH,
    ),
    Channel(
        "orders",
        event_filter("provisioning"),
        messages_of(provisioning_pb2),
        "What became of orders. In order for each gang.",
        Carrier.BATCH,
    ),
    Channel(
        "inventory",
        event_filter("inventory"),
        messages_of(inventory_pb2),
        "Arrivals and losses, in order for each gang; trust in templates, and new capacity.",
        Carrier.BATCH,
    ),
    Channel(
        "observed",
        event_filter("observed"),
        messages_of(observed_pb2),
        "Requests, their objects, and pods. Read in order from the beginning at each start; never acknowledged.",
    ),
)
SENT = (
    Channel(
        "gangs",
        event_filter(STREAM, kind=KIND),
        messages_of(gangs_pb2),
        "The story of each gang, from its request to its end.",
        Carrier.BATCH,
    ),
    Channel("claims-commands", command_filter("claims"), messages_of(claim_commands_pb2), "To the claim-matcher."),
    Channel("order-commands", command_filter("provisioning"), messages_of(order_commands_pb2), "To the provisioner."),
    Channel(
        "gang-deadlines",
        fired_filter(STREAM),
        (gang_commands_pb2.WakeGang,),
        "Deadlines: scheduled with the store, which delivers them here when they are due.",
    ),
)


def document() -> Mapping[str, object]:
    """The AsyncAPI 3.0 document."""
    return describe_service("gang-coordinator", "All members or none.", received=RECEIVED, sent=SENT)
