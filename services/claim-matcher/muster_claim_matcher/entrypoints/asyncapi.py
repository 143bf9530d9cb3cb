"""What the claim-matcher reads and sends, as an AsyncAPI document."""

from collections.abc import Mapping

from muster.commands.claims.v1 import claims_pb2 as commands_pb2
from muster.events.claims.v1 import claims_pb2
from muster.events.gangs.v1 import gangs_pb2
from muster.events.observed.v1 import observed_pb2
from muster_claim_matcher.entrypoints.commands import SERVICE as ASKED_AS
from muster_claim_matcher.handlers.subjects import LEDGER, STREAM
from muster_eventstore import command_filter, event_filter, sole_filter
from muster_servicekit.asyncapi import Carrier, Channel, messages_of
from muster_servicekit.faststream_edge import describe_service

RECEIVED = (
    Channel(
        "claims-commands",
        command_filter(ASKED_AS),
        messages_of(commands_pb2),
        "Plan and book a gang, confirm it, release it. One by one for each cluster, acknowledged when recorded.",
    ),
    Channel(
        "observed",
        event_filter("observed"),
        messages_of(observed_pb2),
        "What the clusters show. Read in order from the beginning at each start; never acknowledged.",
    ),
    Channel(
        "gangs",
        event_filter("gangs"),
        messages_of(gangs_pb2),
        "What gangs ask for, and when they end; the rest is passed over. Read in order from a snapshot.",
        Carrier.BATCH,
    ),
)
SENT = (
    Channel(
        "ledger",
        sole_filter(STREAM, LEDGER),
        messages_of(claims_pb2),
        "The ledger of a cluster: what is promised to which gang.",
        Carrier.BATCH,
    ),
)


def document() -> Mapping[str, object]:
    """The AsyncAPI 3.0 document."""
    return describe_service("claim-matcher", "What fits, and what is promised.", received=RECEIVED, sent=SENT)
