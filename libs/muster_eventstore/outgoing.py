"""What a reaction sends: commands to a service, timers, and the end of timers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from google.protobuf.message import Message

from muster_eventstore.envelope import Cause, caused, derived_id
from muster_eventstore.port import Appended, EventStore
from muster_eventstore.subjects import CommandSubject, TimerSubject
from muster_eventstore.timers import cancel_timer, schedule_timer


@dataclass(frozen=True, slots=True)
class SendCommand:
    """Ask a service; `to.key` is the aggregate asked, and the order of commands holds per key."""

    to: CommandSubject
    message: Message


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Deliver `message` on the timer's fired subject when due; an earlier schedule of the same timer is replaced."""

    timer: TimerSubject
    due: datetime
    message: Message


@dataclass(frozen=True, slots=True)
class CancelWake:
    """The timer is not wanted any more; it may still fire once if it is due now."""

    timer: TimerSubject


Outgoing = SendCommand | WakeAt | CancelWake


async def publish_command(
    store: EventStore, command: SendCommand, cause: Cause, *, source: str, now: datetime, id: str | None = None
) -> Appended:
    """Put a command on the work queue; its id derives from the cause, so a repeat is not stored twice within the
    stream's duplicate window."""
    subject = str(command.to)
    meta = caused(
        cause,
        derived_id(cause.id, subject) if id is None else id,
        type=command.message.DESCRIPTOR.full_name,
        source=source,
        subject=command.to.key,
        time=now,
    )
    return await store.publish(subject, command.message.SerializeToString(deterministic=True), meta)


async def send_all(
    store: EventStore, outgoing: Sequence[Outgoing], cause: Cause, *, source: str, now: datetime
) -> None:
    """Send in order; the id of each derives from the cause and its place in the list."""
    for index, item in enumerate(outgoing):
        step = cause.step(index)
        match item:
            case SendCommand():
                await publish_command(store, item, cause, source=source, now=now, id=step.id)
            case WakeAt(timer, due, message):
                await schedule_timer(store, timer, due, message, cause, source=source, now=now, id=step.id)
            case CancelWake(timer):
                await cancel_timer(store, timer)
