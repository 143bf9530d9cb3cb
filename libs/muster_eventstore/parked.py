"""Messages that could not be processed: kept with the reason, listed, handed to their consumer again, or dropped.

A replay goes to the consumer that gave up, through the `replays` stream, never back to the original subject: that may
be an event stream with other readers, where the message would stand twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote, unquote

import orjson

from muster_decider import DomainError
from muster_eventstore.envelope import EventMeta, derived_id
from muster_eventstore.errors import PermanentError
from muster_eventstore.port import NEW, Delivery, EventStore, StoredMessage
from muster_eventstore.subjects import PARKED, InvalidSubject, ParkedSubject, parked_filter, parse_parked

PARKED_TYPE = "muster.parked"
_REASON = "muster-parked-reason"
_ATTEMPTS = "muster-parked-attempts"
_SUBJECT = "muster-original-subject"
_TIME = "muster-original-time"
_HEADERS = "muster-original-headers"
_LONGEST_REASON = 2000


@dataclass(frozen=True, slots=True)
class ParkedMessage:
    """A message that its consumer gave up on. `sequence` is that of the parked stream and names it for the operator;
    `original` is the message as it was delivered, `reason` one line, `attempts` how often it was tried."""

    sequence: int
    place: ParkedSubject
    reason: str
    attempts: int
    parked_at: datetime
    original: StoredMessage


@dataclass(frozen=True, slots=True)
class ReplayedDelivery:
    """A parked message on its way to its consumer once more: it looks like the original, answers go to the replay."""

    message: StoredMessage
    round: int
    outer: Delivery

    @property
    def attempt(self) -> int:
        """How often this replay was delivered, from 1."""
        return self.outer.attempt

    async def ack(self) -> None:
        """Done."""
        await self.outer.ack()

    async def term(self) -> None:
        """Given up again."""
        await self.outer.term()

    async def nak(self) -> None:
        """Not handled; deliver it again."""
        await self.outer.nak()

    async def in_progress(self) -> None:
        """Still at work."""
        await self.outer.in_progress()


async def park(
    store: EventStore, consumer: str, delivery: Delivery | StoredMessage, reason: str, *, attempts: int, now: datetime
) -> None:
    """Keep a message with the reason, once for each consumer, message and round of replay, whatever repeats."""
    message = delivery if isinstance(delivery, StoredMessage) else delivery.message
    round = delivery.round if isinstance(delivery, ReplayedDelivery) else 0
    place = ParkedSubject(consumer, message.stream, message.sequence, round)
    id = derived_id(consumer, message.stream, message.sequence, round)
    meta = EventMeta(id, PARKED_TYPE, f"/muster/{consumer}", message.subject, now, id, id)
    headers = {
        _REASON: quote(" ".join(reason.split())[:_LONGEST_REASON], safe=" ()[]{}/:;,.=+'<>"),
        _ATTEMPTS: str(attempts),
        _SUBJECT: quote(message.subject, safe="$>*/:@=+,~%"),
        _TIME: message.time.isoformat(),
        _HEADERS: quote(orjson.dumps(dict(message.headers))),
    }
    # A conflict means that it is parked already: the crash came between parking and giving the message up.
    await store.append(place.parked, NEW, message.data, meta, headers)


async def list_parked(store: EventStore, consumer: str | None = None) -> list[ParkedMessage]:
    """What is parked, oldest first, for all consumers or one."""
    found: list[ParkedMessage] = []
    async for chunk in store.read(PARKED, [parked_filter(consumer)]):
        found.extend(parked for message in chunk.messages if (parked := _from_stored(message)) is not None)
        if chunk.pending == 0:
            break
    return found


async def show_parked(store: EventStore, sequence: int) -> ParkedMessage | None:
    """One parked message by its sequence."""
    message = await store.get(PARKED, sequence)
    return None if message is None else _from_stored(message)


async def replay_parked(store: EventStore, sequence: int, now: datetime) -> ParkedMessage | None:
    """Hand a parked message to its consumer once more and take it off the list; None when there is no such message."""
    parked = await show_parked(store, sequence)
    if parked is None:
        return None
    place = ParkedSubject(parked.place.consumer, parked.place.stream, parked.place.sequence, parked.place.round + 1)
    id = derived_id(place.consumer, place.stream, place.sequence, place.round, "replay")
    meta = EventMeta(id, PARKED_TYPE, "/muster/operator", parked.original.subject, now, id, id)
    original = parked.original
    headers = {
        _SUBJECT: quote(original.subject, safe="$>*/:@=+,~%"),
        _TIME: original.time.isoformat(),
        _HEADERS: quote(orjson.dumps(dict(original.headers))),
    }
    await store.publish(place.replayed, original.data, meta, headers)
    await store.delete(PARKED, sequence)
    return parked


async def drop_parked(store: EventStore, sequence: int) -> ParkedMessage | None:
    """Forget a parked message; what was dropped, None when there is no such message."""
    parked = await show_parked(store, sequence)
    if parked is not None:
        await store.delete(PARKED, sequence)
    return parked


def as_replayed(delivery: Delivery) -> ReplayedDelivery | None:
    """A delivery of the replays stream as the message that was parked; None for a message that no replay made."""
    place = parse_parked(delivery.message.subject)
    original = None if isinstance(place, InvalidSubject) else _original(place, delivery.message)
    if isinstance(place, InvalidSubject) or original is None:
        return None
    return ReplayedDelivery(original, place.round, delivery)


def reason_of(error: Exception) -> str:
    """Why a message is parked, as one line that begins with an UPPER_SNAKE reason or the name of the exception."""
    if isinstance(error, DomainError):
        return f"{error.reason}: {error}".rstrip(": ")
    text = " ".join(str(error).split())
    return text if isinstance(error, PermanentError) else f"{type(error).__name__}: {text}".rstrip(": ")


def _from_stored(message: StoredMessage) -> ParkedMessage | None:
    place = parse_parked(message.subject)
    original = None if isinstance(place, InvalidSubject) else _original(place, message)
    if isinstance(place, InvalidSubject) or original is None:
        return None
    attempts = message.headers.get(_ATTEMPTS, "")
    return ParkedMessage(
        sequence=message.sequence,
        place=place,
        reason=unquote(message.headers.get(_REASON, "")),
        attempts=int(attempts) if attempts.isdigit() else 0,
        parked_at=message.time,
        original=original,
    )


def _original(place: ParkedSubject, message: StoredMessage) -> StoredMessage | None:
    try:
        headers = orjson.loads(unquote(message.headers[_HEADERS]))
        time = datetime.fromisoformat(message.headers[_TIME])
        subject = unquote(message.headers[_SUBJECT])
    except (KeyError, ValueError):
        return None
    if not isinstance(headers, Mapping):
        return None
    plain = {str(name): str(value) for name, value in headers.items()}
    return StoredMessage(place.stream, place.sequence, subject, message.data, plain, time)
