"""The way to an end: what is held goes back first, and only then an end state is written."""

from datetime import datetime

from muster_gang_coordinator.domain.commands import (
    Command,
    RecordBooking,
    RecordBookingRelease,
)
from muster_gang_coordinator.domain.events import (
    BookingReleaseRecorded,
    CompensationStarted,
    EndState,
    Event,
    GangEnded,
    OrphanFound,
)
from muster_gang_coordinator.domain.evolve import fold
from muster_gang_coordinator.domain.facts import order_facts
from muster_gang_coordinator.domain.plans import Reason
from muster_gang_coordinator.domain.saga import Saga
from muster_gang_coordinator.domain.states import Compensating, Consumed, Ended
from muster_types import OrderId

_NO_ORDER = OrderId("")


def end_gang(saga: Saga, end_state: EndState, reasons: tuple[Reason, ...], now: datetime) -> list[Event]:
    """Ends the gang: at once when it holds nothing, else over a compensation.

    A gang whose members partly run is revoked, never failed: `Failed` would take the capacity of a running workload
    for a lost try (group-capacity §2.3, T30). So is one that was offered and could not be repaired. With a plan in
    flight the ledger is told to let go as well: it never books for a gang that it has released.
    """
    offer_fails = saga.offered and end_state is EndState.FAILED
    if offer_fails or (saga.bound and end_state in {EndState.FAILED, EndState.EXPIRED}):
        end_state = EndState.REVOKED
    if saga.holds_nothing:
        return [GangEnded(end_state, reasons, now)]
    order_ids = tuple(o.id for o in saga.live_orders)
    return [CompensationStarted(end_state, reasons, order_ids, saga.booked or saga.in_flight, now)]


def decide_compensating(command: Command, gang: Compensating) -> list[Event]:
    """Counts what came back; the end follows the last of it."""
    match command:
        case RecordBookingRelease() if gang.saga.booked:
            found: list[Event] = [BookingReleaseRecorded()]
        case _:
            found = order_facts(command, gang.saga)
    after = fold(gang, found)
    if found and isinstance(after, Compensating) and after.saga.holds_nothing:
        return [*found, GangEnded(gang.end_state, gang.reasons, command.now)]
    return found


def decide_over(command: Command, gang: Consumed | Ended) -> list[Event]:
    """After the end only orphans and the last receipts are of interest."""
    match command:
        case RecordBooking(attempt) if (
            isinstance(gang, Ended) and attempt > gang.saga.answered and not gang.saga.released and not gang.saga.booked
        ):
            return [OrphanFound(_NO_ORDER, booking=True)]
        case RecordBookingRelease() if gang.saga.booked:
            return [BookingReleaseRecorded()]
        case _:
            return order_facts(command, gang.saga)
