"""Durable timers: scheduled messages of the store, delivered on their fired subject even after a restart.

Measured on nats-server 2.15.1: the target must lie in the same stream; a new schedule on the same subject replaces the
old one; a purge of the subject cancels it; a time in the past fires within a quarter of a second. The server keeps
fractions of a second, so a timer never fires early by the server's clock. The clock of who is woken may be another
one: let the message carry its due time, and decide by that.
"""

from datetime import UTC, datetime

from google.protobuf.message import Message

from muster_eventstore.envelope import Cause, caused, derived_id
from muster_eventstore.port import EventStore
from muster_eventstore.subjects import TimerSubject

SCHEDULE = "Nats-Schedule"
TARGET = "Nats-Schedule-Target"


async def schedule_timer(
    store: EventStore,
    timer: TimerSubject,
    due: datetime,
    message: Message,
    cause: Cause,
    *,
    source: str,
    now: datetime,
    id: str | None = None,
) -> None:
    """Deliver `message` on `timer.fired` at `due`, replacing an earlier schedule of the same timer.

    A repeat with the same cause changes nothing; after it fired, a late repeat may fire it again, so what it wakes
    must look at the time itself.
    """
    meta = caused(
        cause,
        derived_id(cause.id, timer.scheduled, due.isoformat()) if id is None else id,
        type=message.DESCRIPTOR.full_name,
        source=source,
        subject=timer.key,
        time=now,
    )
    at = due.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    await store.publish(
        timer.scheduled,
        message.SerializeToString(deterministic=True),
        meta,
        {SCHEDULE: f"@at {at}", TARGET: timer.fired},
    )


async def cancel_timer(store: EventStore, timer: TimerSubject) -> None:
    """Forget a timer that has not fired; nothing happens when there is none."""
    await store.purge(timer.scheduled)
