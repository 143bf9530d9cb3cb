"""What the streams of a running Muster hold: waits for an event, and reads all of them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.message import Message

from muster_cli.live.journal import CODEC, entries, recorded
from muster_eventstore import Decoded, EventStore, StoredMessage, list_parked
from support.processes import DEADLINE

M = TypeVar("M", bound=Message)
WORK_QUEUES = ("commands", "replays")


@dataclass(frozen=True, slots=True)
class Moment:
    """A point of a story: the first event of a type that `where` wants. `name` is how a test tells it."""

    name: str
    stream: str
    type: str
    where: Callable[[Message], bool] = lambda _: True

    def is_in(self, message: StoredMessage) -> bool:
        """Whether a stored message brings it."""
        decoded = CODEC.decode(message.headers, message.data)
        if not isinstance(decoded, Decoded):
            return False
        return any(event.DESCRIPTOR.name == self.type and self.where(event) for event in decoded.batch.events)


async def wait_moment(store: EventStore, moment: Moment, deadline: float = DEADLINE) -> StoredMessage:
    """The message that brings the moment, as soon as it is stored."""
    try:
        async with asyncio.timeout(deadline):
            async for chunk in store.read(moment.stream):
                for message in chunk.messages:
                    if moment.is_in(message):
                        return message
    except TimeoutError:
        pass
    told = [event.DESCRIPTOR.name for event in await events_of(store, moment.stream)]
    given_up = [f"{parked.original.subject}: {parked.reason}" for parked in await list_parked(store)]
    raise AssertionError(
        f"after {deadline:g} s still not: {moment.name}; {moment.stream} ends with {told[-12:]}; parked: {given_up}"
    )


async def events_of(store: EventStore, stream: str) -> list[Message]:
    """All events of a stream, in order."""
    return [
        entry.event
        async for message in recorded(store, stream)
        for entry in entries(message)
        if entry.event is not None
    ]


async def of_type(store: EventStore, stream: str, type: type[M]) -> list[M]:
    """All events of one type."""
    return [event for event in await events_of(store, stream) if isinstance(event, type)]


async def all_handled(store: EventStore) -> bool:
    """No command waits for its consumer or is at work."""
    return all([(await store.state(queue)).messages == 0 for queue in WORK_QUEUES])
