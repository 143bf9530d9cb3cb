"""Where the ledgers stand: muster.claims.<cluster>.ledger."""

from muster_eventstore.subjects import event_subject
from muster_types import ClusterId

STREAM = "claims"
LEDGER = "ledger"


def ledger_subject(cluster: ClusterId) -> str:
    return event_subject(STREAM, cluster, LEDGER)
