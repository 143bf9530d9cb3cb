"""Streams in memory with the semantics of the server that the services rely on; it outlives the stores opened on it.

Covered: expected sequence per subject checked before the duplicate window, work queues, one message per subject,
scheduled messages, time to live with markers, durable consumers with redelivery and reset.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count

from nats.js.api import RetentionPolicy

from muster_eventstore.errors import PermanentError
from muster_eventstore.port import ConsumerSpec, StoredMessage
from muster_eventstore.streams import StreamSpec, load_specs
from muster_eventstore.subjects import matches

MSG_ID = "Nats-Msg-Id"
_SCHEDULE, _TARGET, _TTL = "Nats-Schedule", "Nats-Schedule-Target", "Nats-TTL"
_NOT_KEPT = ("Nats-Expected-Last-Subject-Sequence",)
_created = count(1)


@dataclass(slots=True)
class MemoryConsumer:
    """A durable consumer: what was delivered and not answered, and what waits to be delivered again."""

    spec: ConsumerSpec
    cursor: int = 1
    pending: dict[int, asyncio.TimerHandle] = field(default_factory=dict)
    again: set[int] = field(default_factory=set)
    counts: dict[int, int] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)


class MemoryStream:
    """One stream. `log` has one place for each sequence; a removed message leaves a hole."""

    def __init__(self, spec: StreamSpec, now: Callable[[], datetime]) -> None:
        self.spec = spec
        self.incarnation = f"memory-{next(_created)}"
        self.log: list[StoredMessage | None] = []
        self.by_subject: dict[str, list[int]] = {}
        self.ids: dict[str, tuple[int, datetime]] = {}
        self.consumers: dict[str, MemoryConsumer] = {}
        self._now = now
        self._waiting: set[asyncio.Future[None]] = set()

    def last(self, subject: str) -> StoredMessage | None:
        """The newest message of a subject."""
        sequences = self.by_subject.get(subject)
        return self.log[sequences[-1] - 1] if sequences else None

    def duplicate(self, message_id: str) -> int | None:
        """The sequence under which a message id was stored within the duplicate window."""
        known = self.ids.get(message_id)
        if known is None or self._now() - known[1] > timedelta(seconds=self.spec.duplicate_window):
            return None
        return known[0]

    def store(self, subject: str, data: bytes, headers: Mapping[str, str]) -> int:
        """Keep a message; its sequence."""
        kept = {name: value for name, value in headers.items() if name not in _NOT_KEPT}
        now = self._now()
        sequence = len(self.log) + 1
        message = StoredMessage(self.spec.name, sequence, subject, data, kept, now)
        self.log.append(message)
        self.by_subject.setdefault(subject, []).append(sequence)
        if MSG_ID in kept:
            self.ids[kept[MSG_ID]] = (sequence, now)
        keep = 1 if _SCHEDULE in kept else self.spec.max_msgs_per_subject
        while keep > 0 and len(self.by_subject[subject]) > keep:
            self.remove(self.by_subject[subject][0])
        self._arm(message)
        self.notify()
        return sequence

    def remove(self, sequence: int) -> None:
        """Take a message out."""
        message = self.log[sequence - 1] if 0 < sequence <= len(self.log) else None
        if message is None:
            return
        self.log[sequence - 1] = None
        sequences = self.by_subject[message.subject]
        sequences.remove(sequence)
        if not sequences:
            del self.by_subject[message.subject]
        for consumer in self.consumers.values():
            self._settle(consumer, sequence)

    def behind(self, position: int, subjects: Sequence[str]) -> Iterator[StoredMessage]:
        """Messages after a sequence that fall under the filters, in order."""
        for message in self.log[position:]:
            if message is not None and (not subjects or any(matches(each, message.subject) for each in subjects)):
                yield message

    async def wait_change(self) -> None:
        """Until something is stored, or comes back to a consumer."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            await waiter
        finally:
            self._waiting.discard(waiter)

    def notify(self) -> None:
        """Wake whoever waits for a change."""
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    def reset(self, consumer: MemoryConsumer) -> None:
        """Deliver again, in order, everything behind the first message that was not answered."""
        open_ones = set(consumer.pending) | consumer.again
        for handle in consumer.pending.values():
            handle.cancel()
        consumer.pending.clear()
        consumer.again.clear()
        consumer.counts.clear()
        if open_ones:
            consumer.cursor = min(open_ones)
            consumer.done = {sequence for sequence in consumer.done if sequence < consumer.cursor}

    def take(self, consumer: MemoryConsumer) -> list[tuple[StoredMessage, int]]:
        """What may be delivered now, with the number of the delivery."""
        taken: list[tuple[StoredMessage, int]] = []
        room = consumer.spec.max_ack_pending - len(consumer.pending)
        for sequence in sorted(consumer.again)[: max(0, room)]:
            consumer.again.discard(sequence)
            message = self.log[sequence - 1]
            if message is not None:
                taken.append(self._deliver(consumer, message))
        for message in self.behind(consumer.cursor - 1, consumer.spec.subjects):
            if len(taken) >= room:
                break
            consumer.cursor = message.sequence + 1
            taken.append(self._deliver(consumer, message))
        return taken

    def answer(self, consumer: MemoryConsumer, sequence: int) -> None:
        """A message is acknowledged or terminated."""
        self._settle(consumer, sequence)
        if self.spec.retention is RetentionPolicy.WORK_QUEUE:
            self.remove(sequence)

    def hand_back(self, consumer: MemoryConsumer, sequence: int) -> None:
        """A message was not handled, or its time ran out."""
        handle = consumer.pending.pop(sequence, None)
        if handle is not None:
            handle.cancel()
            consumer.again.add(sequence)
            self.notify()

    def extend(self, consumer: MemoryConsumer, sequence: int) -> None:
        """The time to answer begins anew."""
        if sequence in consumer.pending:
            consumer.pending.pop(sequence).cancel()
            self._watch(consumer, sequence)

    def _deliver(self, consumer: MemoryConsumer, message: StoredMessage) -> tuple[StoredMessage, int]:
        consumer.counts[message.sequence] = consumer.counts.get(message.sequence, 0) + 1
        self._watch(consumer, message.sequence)
        return message, consumer.counts[message.sequence]

    def _watch(self, consumer: MemoryConsumer, sequence: int) -> None:
        loop = asyncio.get_running_loop()
        consumer.pending[sequence] = loop.call_later(consumer.spec.ack_wait, self.hand_back, consumer, sequence)

    def _settle(self, consumer: MemoryConsumer, sequence: int) -> None:
        handle = consumer.pending.pop(sequence, None)
        if handle is not None:
            handle.cancel()
        consumer.again.discard(sequence)
        consumer.counts.pop(sequence, None)

    def _arm(self, message: StoredMessage) -> None:
        schedule, ttl = message.headers.get(_SCHEDULE), message.headers.get(_TTL)
        loop = asyncio.get_running_loop()
        if schedule is not None:
            due = datetime.fromisoformat(schedule.removeprefix("@at ")).astimezone(UTC)
            loop.call_later(max(0.0, (due - self._now()).total_seconds()), self._fire, message)
        if ttl is not None:
            loop.call_later(float(ttl), self._expire, message)

    def _fire(self, message: StoredMessage) -> None:
        if self.log[message.sequence - 1] is not message:
            return  # cancelled or replaced
        self.remove(message.sequence)
        headers = {name: value for name, value in message.headers.items() if not name.startswith("Nats-")}
        headers |= {"Nats-Scheduler": message.subject, "Nats-Schedule-Next": "purge"}
        self.store(message.headers[_TARGET], message.data, headers)

    def _expire(self, message: StoredMessage) -> None:
        if self.log[message.sequence - 1] is not message:
            return
        newest = self.by_subject[message.subject][-1] == message.sequence
        self.remove(message.sequence)
        marker = self.spec.subject_delete_marker_ttl
        if newest and marker:
            self.store(message.subject, b"", {"Nats-Marker-Reason": "MaxAge", _TTL: str(int(marker))})


class MemoryServer:
    """All streams of a system. `now` gives the wall clock; delays run on the event loop's clock."""

    def __init__(self, now: Callable[[], datetime], specs: Sequence[StreamSpec] | None = None) -> None:
        self._streams = {spec.name: MemoryStream(spec, now) for spec in (load_specs() if specs is None else specs)}

    def stream(self, name: str) -> MemoryStream:
        """A stream by name; PermanentError when there is none."""
        if name not in self._streams:
            raise PermanentError("NO_STREAM", f"stream {name!r} does not exist; apply the streams first")
        return self._streams[name]

    def dump(self) -> Iterator[StoredMessage]:
        """Everything stored, stream by stream, in order."""
        for _, stream in sorted(self._streams.items()):
            yield from stream.behind(0, ())
