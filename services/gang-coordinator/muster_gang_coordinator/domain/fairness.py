"""The order in which waiting gangs try again."""

from collections.abc import Iterable

from muster_gang_coordinator.domain.states import Waiting
from muster_types import GangId


def rank_waiting(gangs: Iterable[Waiting]) -> tuple[GangId, ...]:
    """Highest priority first, then the oldest request, then by id: the same for every replica."""
    ranked = sorted((-gang.saga.spec.priority, gang.saga.request_time, gang.saga.gang_id) for gang in gangs)
    return tuple(gang_id for _, _, gang_id in ranked)
