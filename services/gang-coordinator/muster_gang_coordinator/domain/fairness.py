"""The order in which waiting gangs try again, and whose turn it is when one of them has waited for long.

Small gangs that come and go could keep a big one waiting for ever: each release serves the next small one. So a gang
that other bookings have kept waiting for `patience` gets the floor: whoever comes behind it in the order is not planned
before it has its place or has gone. Bookings end by their clocks, so the floor is held for a bounded time.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from muster_gang_coordinator.domain.plans import Reason
from muster_gang_coordinator.domain.saga import Saga
from muster_gang_coordinator.domain.states import Waiting
from muster_types import GangId

_BOOKED = "BOOKED"
Rank = tuple[int, datetime, GangId]


def rank(saga: Saga) -> Rank:
    """Highest priority first, then the oldest request, then by id: the same for every replica."""
    return -saga.spec.priority, saga.request_time, saga.gang_id


def rank_waiting(gangs: Iterable[Waiting]) -> tuple[GangId, ...]:
    """All of them in their order."""
    return tuple(gang_id for _, _, gang_id in sorted(rank(gang.saga) for gang in gangs))


def floor_of(gangs: Iterable[Waiting], now: datetime, patience: timedelta) -> Rank | None:
    """The first of those that bookings of others have kept waiting for too long. One that waits for something else,
    such as a template that somebody has to correct, holds nobody up."""
    patient = (g for g in gangs if now - g.saga.request_time >= patience and _kept_by_bookings(g))
    return min((rank(g.saga) for g in patient), default=None)


def whose_turn(gangs: Iterable[Waiting], now: datetime, patience: timedelta) -> tuple[GangId, ...]:
    """Who may try now, in order: all, or those up to the gang that has the floor."""
    waiting = list(gangs)
    floor = floor_of(waiting, now, patience)
    ranked = sorted(rank(g.saga) for g in waiting)
    return tuple(each[2] for each in ranked if floor is None or each <= floor)


def comes_after(ahead: GangId) -> Reason:
    """Why a gang is not planned yet."""
    return Reason("COMES_AFTER", f"gang {ahead} has waited for long and is planned first", (("gang", str(ahead)),))


def _kept_by_bookings(gang: Waiting) -> bool:
    return any(reason.code == _BOOKED for reason in gang.reasons)
