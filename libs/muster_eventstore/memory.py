"""The in-memory adapter, with a hook at every step that a fault can strike."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from nats.js.api import RetentionPolicy

from muster_eventstore.envelope import EventMeta, to_headers
from muster_eventstore.errors import PermanentError, StreamRegressed
from muster_eventstore.memory_server import MSG_ID, MemoryConsumer, MemoryServer, MemoryStream
from muster_eventstore.port import (
    NO_HEADERS,
    Appended,
    Chunk,
    Conflict,
    ConsumerSpec,
    Draft,
    Start,
    StoredMessage,
    StreamState,
)
from muster_eventstore.subjects import stream_of

_CHUNK = 500
_PAUSE = 0.05


class Step(Enum):
    """Where a fault can strike: before the store did something, or after it did and before the caller knows."""

    BEFORE_APPEND = "before append"
    AFTER_APPEND = "after append"
    BEFORE_PUBLISH = "before publish"
    AFTER_PUBLISH = "after publish"
    BEFORE_ANSWER = "before answer"
    AFTER_ANSWER = "after answer"
    BEFORE_FETCH = "before fetch"
    BEFORE_READ = "before read"


class Lost(Exception):
    """Raised by a hook: the request (BEFORE) or its answer (AFTER) never arrives, and the caller's time runs out."""


Hook = Callable[[Step, str], Awaitable[None]]


async def no_fault(step: Step, subject: str) -> None:
    """The hook of a store on which nothing goes wrong; it only lets others run."""
    await asyncio.sleep(0)


class MemoryStore:
    """`EventStore` on a `MemoryServer`. `hook` is awaited at each step with the subject or durable concerned; it may
    delay, raise `Lost`, or raise anything else to end the caller there."""

    def __init__(self, server: MemoryServer, hook: Hook = no_fault) -> None:
        self._server = server
        self._hook = hook

    async def append(
        self, subject: str, expected: int, payload: bytes, meta: EventMeta, headers: Mapping[str, str] = NO_HEADERS
    ) -> Appended | Conflict:
        stream = self._server.stream(stream_of(subject))
        stamped = {**to_headers(meta), **headers}
        while True:
            try:
                await self._hook(Step.BEFORE_APPEND, subject)
                answer = self._append_once(stream, subject, expected, payload, stamped)
                await self._hook(Step.AFTER_APPEND, subject)
                return answer
            except Lost:
                await asyncio.sleep(_PAUSE)

    async def publish(
        self, subject: str, payload: bytes, meta: EventMeta, headers: Mapping[str, str] = NO_HEADERS
    ) -> Appended:
        stream = self._server.stream(stream_of(subject))
        stamped = {**to_headers(meta), **headers}
        while True:
            try:
                await self._hook(Step.BEFORE_PUBLISH, subject)
                known = stream.duplicate(stamped[MSG_ID])
                sequence = stream.store(subject, payload, stamped) if known is None else known
                await self._hook(Step.AFTER_PUBLISH, subject)
                return Appended(sequence)
            except Lost:
                await asyncio.sleep(_PAUSE)

    async def publish_all(self, drafts: Sequence[Draft]) -> int:
        sequence = 0
        for draft in drafts:
            headers = {name: value for name, value in to_headers(draft.meta).items() if name != MSG_ID}
            sequence = self._server.stream(stream_of(draft.subject)).store(draft.subject, draft.payload, headers)
        await asyncio.sleep(0)
        return sequence

    async def read(self, stream: str, subjects: Sequence[str] = (), after: int = 0) -> AsyncGenerator[Chunk, None]:
        source, position, first = self._server.stream(stream), after, True
        if source.spec.retention is RetentionPolicy.WORK_QUEUE:
            raise PermanentError("STORE_REFUSED", f"stream {stream!r} is a work queue; only its consumers read it")
        if len(source.log) < after:
            raise StreamRegressed(stream, after, len(source.log))
        while True:
            try:
                await self._hook(Step.BEFORE_READ, stream)
            except Lost:
                await asyncio.sleep(_PAUSE)
                continue
            found = list(source.behind(position, subjects))
            for start in range(0, len(found), _CHUNK):
                messages = found[start : start + _CHUNK]
                position = messages[-1].sequence
                yield Chunk(messages, len(found) - start - len(messages))
            if not found and first:
                yield Chunk((), 0)
            first = False
            if len(source.log) <= position or not any(True for _ in source.behind(position, subjects)):
                await source.wait_change()

    async def last(self, subject: str) -> StoredMessage | None:
        await asyncio.sleep(0)
        return self._server.stream(stream_of(subject)).last(subject)

    async def get(self, stream: str, sequence: int) -> StoredMessage | None:
        await asyncio.sleep(0)
        log = self._server.stream(stream).log
        return log[sequence - 1] if 0 < sequence <= len(log) else None

    async def delete(self, stream: str, sequence: int) -> None:
        await asyncio.sleep(0)
        self._server.stream(stream).remove(sequence)

    async def purge(self, subject: str) -> None:
        await asyncio.sleep(0)
        stream = self._server.stream(stream_of(subject))
        for sequence in list(stream.by_subject.get(subject, ())):
            stream.remove(sequence)

    async def state(self, stream: str) -> StreamState:
        await asyncio.sleep(0)
        source = self._server.stream(stream)
        first = next((message.sequence for message in source.log if message is not None), len(source.log) + 1)
        kept = sum(message is not None for message in source.log)
        return StreamState(first, len(source.log), kept, source.incarnation)

    async def open_inbox(self, spec: ConsumerSpec) -> "MemoryInbox":
        await asyncio.sleep(0)
        stream = self._server.stream(spec.stream)
        consumer = stream.consumers.setdefault(spec.durable, MemoryConsumer(spec))
        consumer.spec = spec
        if spec.start is Start.RESET:
            stream.reset(consumer)
        return MemoryInbox(stream, consumer, self._hook)

    def _append_once(
        self, stream: MemoryStream, subject: str, expected: int, payload: bytes, headers: Mapping[str, str]
    ) -> Appended | Conflict:
        sequences = stream.by_subject.get(subject, [])
        last = sequences[-1] if sequences else 0
        if last != expected:
            for sequence in reversed(sequences):
                message = stream.log[sequence - 1]
                if sequence > expected and message is not None and message.headers.get(MSG_ID) == headers[MSG_ID]:
                    return Appended(sequence)
            return Conflict(last)
        known = stream.duplicate(headers[MSG_ID])
        return Appended(stream.store(subject, payload, headers) if known is None else known)


class MemoryInbox:
    """An open durable consumer in memory."""

    def __init__(self, stream: MemoryStream, consumer: MemoryConsumer, hook: Hook) -> None:
        self._stream = stream
        self._consumer = consumer
        self._hook = hook

    async def fetch(self, wait: float) -> "Sequence[MemoryDelivery]":
        try:
            await self._hook(Step.BEFORE_FETCH, self._consumer.spec.durable)
        except Lost:
            return ()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait
        while not (taken := self._stream.take(self._consumer)):
            try:
                async with asyncio.timeout_at(deadline):
                    await self._stream.wait_change()
            except TimeoutError:
                return ()
        return [
            MemoryDelivery(message, attempt, self._stream, self._consumer, self._hook) for message, attempt in taken
        ]

    async def close(self) -> None:
        await asyncio.sleep(0)


@dataclass(frozen=True, slots=True)
class MemoryDelivery:
    """A message handed out by a `MemoryInbox`."""

    message: StoredMessage
    attempt: int
    stream: MemoryStream
    consumer: MemoryConsumer
    hook: Hook

    async def ack(self) -> None:
        await self._answer()

    async def term(self) -> None:
        await self._answer()

    async def nak(self) -> None:
        self.stream.hand_back(self.consumer, self.message.sequence)

    async def in_progress(self) -> None:
        self.stream.extend(self.consumer, self.message.sequence)

    async def _answer(self) -> None:
        try:
            await self.hook(Step.BEFORE_ANSWER, self.message.subject)
            self.stream.answer(self.consumer, self.message.sequence)
            await self.hook(Step.AFTER_ANSWER, self.message.subject)
        except Lost:
            return  # an answer is fire and forget: the message comes again
