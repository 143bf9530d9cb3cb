"""The recorded events of all streams in the order in which they were stored, as a person or program reads them."""

from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from google.protobuf.message import Message

from muster.events.claims.v1 import claims_pb2
from muster.events.gangs.v1 import gangs_pb2
from muster.events.inventory.v1 import inventory_pb2
from muster.events.observed.v1 import observed_pb2
from muster.events.provisioning.v1 import provisioning_pb2
from muster_cli.live.opened import texts_of, to_opened
from muster_eventstore import Codec, Decoded, EventStore, InvalidSubject, StoredMessage, parse_event

EVENT_STREAMS = ("observed", "inventory", "claims", "gangs", "provisioning")
CODEC = Codec.of_modules(claims_pb2, gangs_pb2, inventory_pb2, observed_pb2, provisioning_pb2)


@dataclass(frozen=True, slots=True)
class Entry:
    """One event. `problem` is set instead of `event` for a message that cannot be read."""

    stream: str
    sequence: int
    time: datetime
    subject: str
    id: str
    correlation_id: str
    causation_id: str
    event: Message | None
    problem: str = ""

    @property
    def type(self) -> str:
        """Short name of the event, for example GangBooked."""
        return self.event.DESCRIPTOR.name if self.event is not None else "unreadable"

    def document(self) -> Mapping[str, object]:
        """The event as JSON-able data; embedded Kubernetes JSON is opened."""
        body = to_opened(self.event) if self.event is not None else {}
        return {
            "stream": self.stream,
            "sequence": self.sequence,
            "time": self.time.isoformat(),
            "subject": self.subject,
            "id": self.id,
            "correlation_id": self.correlation_id,
            "causation_id": self.causation_id,
            "type": self.type,
            "event": body,
            **({"problem": self.problem} if self.problem else {}),
        }

    def names(self, name: str) -> bool:
        """Whether subject or event name something of exactly this name."""
        return any(text == name for text in self._texts())

    def is_about_gang(self, gang: str) -> bool:
        """Whether the gang or one of its orders (`<gang>-a<attempt>-<number>`) is named."""
        return any(text == gang or text.startswith(f"{gang}-a") for text in self._texts())

    def _texts(self) -> Iterator[str]:
        place = parse_event(self.subject)
        if not isinstance(place, InvalidSubject):
            yield from place.ids
        if self.event is not None:
            yield from texts_of(self.event)


async def recorded(store: EventStore, stream: str) -> AsyncGenerator[StoredMessage, None]:
    """All messages that a stream holds now, in order."""
    state = await store.state(stream)
    if state.last_sequence == 0:
        return
    async for chunk in store.read(stream):
        for message in chunk.messages:
            yield message
        if chunk.pending == 0:
            return


async def follow(store: EventStore, stream: str, after: int) -> AsyncGenerator[StoredMessage, None]:
    """All messages after a sequence, then those to come."""
    async for chunk in store.read(stream, after=after):
        for message in chunk.messages:
            yield message


def entries(message: StoredMessage) -> list[Entry]:
    """The events of a stored message; one that cannot be read is an entry that says why."""
    decoded = CODEC.decode(message.headers, message.data)
    if not isinstance(decoded, Decoded):
        empty = ""
        return [
            Entry(
                message.stream, message.sequence, message.time, message.subject, empty, empty, empty, None, str(decoded)
            )
        ]
    meta = decoded.meta
    return [
        Entry(
            message.stream,
            message.sequence,
            meta.time,
            message.subject,
            meta.id,
            meta.correlation_id,
            meta.causation_id,
            event,
        )
        for event in decoded.batch.events
    ]
