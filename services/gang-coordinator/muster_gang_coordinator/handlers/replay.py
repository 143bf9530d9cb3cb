"""Folding recorded decisions into an empty coordinator, with the same evolve functions; nothing is decided or sent."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from muster_gang_coordinator.domain.events import Event
from muster_gang_coordinator.handlers.export import export_state
from muster_gang_coordinator.handlers.projections import GangsView
from muster_types import ClusterId, GangId


@dataclass(frozen=True, slots=True)
class GangBatch:
    """The events of one decision about a gang, and when it was made."""

    cluster: ClusterId
    gang_id: GangId
    events: tuple[Event, ...]
    time: datetime


def replay(batches: Iterable[GangBatch], cluster: ClusterId) -> bytes:
    """The canonical export after these batches, in stream order; those of other clusters do not matter."""
    gangs = GangsView()
    for batch in batches:
        gangs.apply(batch.cluster, batch.gang_id, batch.events, batch.time)
    return export_state(cluster, gangs.all(cluster))
