"""Own events -> what follows from them. A decision is recorded first; only then are others asked to act."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from google.protobuf.message import Message

from muster_eventstore.codec import Codec, Decoded
from muster_eventstore.envelope import Cause, EventMeta
from muster_eventstore.errors import PermanentError
from muster_eventstore.outgoing import Outgoing, send_all
from muster_eventstore.port import ConsumerSpec, Delivery, EventStore
from muster_eventstore.worker import Retries, Worker

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Happened(Generic[E]):
    """An event with its place: subject of the aggregate, stream sequence of its batch, index in the batch, and the
    number of the aggregate's events up to and including the batch."""

    event: E
    subject: str
    sequence: int
    index: int
    version: int
    meta: EventMeta


class Reactor(Generic[E]):
    """Calls `react` for each event of a stream, in order per subject, and sends what it returns. Ids derive from the
    event's, so an event that is seen again sends nothing new. `run` and `stop` as a worker's."""

    def __init__(
        self,
        store: EventStore,
        codec: Codec,
        from_wire: Callable[[Message], E],
        react: Callable[[Happened[E]], Sequence[Outgoing]],
        spec: ConsumerSpec,
        *,
        source: str,
        now: Callable[[], datetime],
        retries: Retries | None = None,
        concurrency: int = 16,
    ) -> None:
        self._store = store
        self._codec = codec
        self._from_wire = from_wire
        self._react = react
        self._source = source
        self._now = now
        self.worker = Worker(store, spec, self._handle, now=now, retries=retries, concurrency=concurrency)

    async def run(self) -> None:
        """React until stopped."""
        await self.worker.run()

    async def stop(self) -> None:
        """Finish what is at work; `run` then returns."""
        await self.worker.stop()

    async def _handle(self, delivery: Delivery) -> None:
        decoded = decode_or_refuse(self._codec, delivery)
        message = delivery.message
        for index, wire in enumerate(decoded.batch.events):
            happened = Happened(
                self._from_wire(wire), message.subject, message.sequence, index, decoded.batch.version, decoded.meta
            )
            outgoing = self._react(happened)
            cause = Cause.of(decoded.meta).step("reaction", index)
            await send_all(self._store, outgoing, cause, source=self._source, now=self._now())


def decode_or_refuse(codec: Codec, delivery: Delivery) -> Decoded:
    """The content of a delivery; PermanentError UNDECODABLE, which parks it, when this code cannot read it."""
    decoded = codec.decode(delivery.message.headers, delivery.message.data)
    if isinstance(decoded, Decoded):
        return decoded
    raise PermanentError("UNDECODABLE", str(decoded))
