"""Folding recorded decisions into an empty ledger, with the same evolve function; nothing is decided or sent."""

from collections.abc import Iterable

from muster_claim_matcher.domain.ledger import LEDGER, LedgerEvent
from muster_claim_matcher.handlers.export import export_state
from muster_types import ClusterId


def replay(batches: Iterable[tuple[LedgerEvent, ...]], cluster: ClusterId) -> bytes:
    """The canonical export after these batches of one cluster's ledger, in stream order."""
    ledger = LEDGER.initial
    for events in batches:
        ledger = LEDGER.fold(events, ledger)
    return export_state(cluster, ledger)
