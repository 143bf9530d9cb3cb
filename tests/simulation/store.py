"""The store as one process sees it: the memory adapter, with latency and faults at every await."""

import asyncio
import heapq
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count

from muster_eventstore import (
    Appended,
    Chunk,
    Conflict,
    ConsumerSpec,
    Draft,
    EventMeta,
    MemoryServer,
    MemoryStore,
    StoredMessage,
    StreamState,
)
from muster_eventstore.memory import Lost, MemoryDelivery, MemoryInbox, Step
from muster_eventstore.memory_server import MemoryStream
from muster_eventstore.port import NO_HEADERS
from muster_eventstore.streams import load_specs
from simulation.faults import Faults, Kind

Strike = Callable[[str], Awaitable[None]]
Watch = Callable[[StoredMessage], None]
_LOSABLE_AFTER = (Step.AFTER_APPEND, Step.AFTER_PUBLISH)
_LOSABLE_BEFORE = (
    Step.BEFORE_APPEND,
    Step.BEFORE_PUBLISH,
    Step.BEFORE_ANSWER,
    Step.BEFORE_FETCH,
    Step.BEFORE_READ,
)


class WatchedStream(MemoryStream):
    """Tells every message that it stores."""

    watch: Watch

    def store(self, subject: str, data: bytes, headers: Mapping[str, str]) -> int:
        sequence = super().store(subject, data, headers)
        message = self.log[sequence - 1]
        if message is not None:
            self.watch(message)
        return sequence


class WatchedServer(MemoryServer):
    """The memory server, observed."""

    def __init__(self, now: Callable[[], datetime], watch: Watch) -> None:
        super().__init__(now, _SPECS)
        self._streams: dict[str, MemoryStream] = {}
        for spec in _SPECS:
            stream = WatchedStream(spec, now)
            stream.watch = watch
            self._streams[spec.name] = stream

    @property
    def streams(self) -> Mapping[str, MemoryStream]:
        """All of them, by name."""
        return self._streams


_SPECS = load_specs()


class SimStore:
    """`EventStore` for one life of one process. `strike` waits, and may end the process, at a named point. With
    `patience` a fetch that finds nothing waits so many times longer than asked: less to do in idle virtual time."""

    def __init__(
        self, server: MemoryServer, process: str, faults: Faults, strike: Strike, *, patience: float = 1.0
    ) -> None:
        self._inner = MemoryStore(server, self._hook)
        self._process = process
        self._faults = faults
        self._strike = strike
        self._patience = patience

    async def append(
        self, subject: str, expected: int, payload: bytes, meta: EventMeta, headers: Mapping[str, str] = NO_HEADERS
    ) -> Appended | Conflict:
        return await self._inner.append(subject, expected, payload, meta, headers)

    async def publish(
        self, subject: str, payload: bytes, meta: EventMeta, headers: Mapping[str, str] = NO_HEADERS
    ) -> Appended:
        return await self._inner.publish(subject, payload, meta, headers)

    async def publish_all(self, drafts: Sequence[Draft]) -> int:
        await self._strike("before publish_all")
        answer = await self._inner.publish_all(drafts)
        await self._strike("after publish_all")
        return answer

    async def read(self, stream: str, subjects: Sequence[str] = (), after: int = 0) -> AsyncGenerator[Chunk, None]:
        chunks = self._inner.read(stream, subjects, after)
        try:
            async for chunk in chunks:
                yield chunk
        finally:
            await chunks.aclose()

    async def last(self, subject: str) -> StoredMessage | None:
        await self._strike("last")
        return await self._inner.last(subject)

    async def get(self, stream: str, sequence: int) -> StoredMessage | None:
        await self._strike("get")
        return await self._inner.get(stream, sequence)

    async def delete(self, stream: str, sequence: int) -> None:
        await self._strike("before delete")
        await self._inner.delete(stream, sequence)

    async def purge(self, subject: str) -> None:
        await self._strike("before purge")
        await self._inner.purge(subject)
        await self._strike("after purge")

    async def state(self, stream: str) -> StreamState:
        await self._strike("state")
        return await self._inner.state(stream)

    async def open_inbox(self, spec: ConsumerSpec) -> "SimInbox":
        await self._strike("open_inbox")
        return SimInbox(await self._inner.open_inbox(spec), spec.durable, self._faults, self._patience)

    async def _hook(self, step: Step, subject: str) -> None:
        place = await self._visit(step, subject)
        if step in _LOSABLE_BEFORE and self._faults.strikes(Kind.LOST, place):
            raise Lost
        if step in _LOSABLE_AFTER and self._faults.strikes(Kind.TIMEOUT, place):
            raise Lost

    async def _visit(self, step: Step, subject: str) -> str:
        point = f"{step.value} {subject}"
        await self._strike(point)
        return self._faults.place(f"{self._process}:{point}:lost")


@dataclass(slots=True)
class SimInbox:
    """A durable consumer whose messages come late, twice and out of order."""

    inner: MemoryInbox
    durable: str
    faults: Faults
    patience: float = 1.0
    held: list[tuple[float, int, MemoryDelivery]] = field(default_factory=list[tuple[float, int, MemoryDelivery]])
    numbers: "count[int]" = field(default_factory=count)

    async def fetch(self, wait: float) -> Sequence[MemoryDelivery]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait * self.patience
        while True:
            due = self._due(loop.time())
            if due:
                return due
            until = min(deadline, self.held[0][0]) if self.held else deadline
            passed = self._passed(list(await self.inner.fetch(max(until - loop.time(), 0.0))), loop.time())
            if passed:
                return passed
            if loop.time() >= deadline:
                return self._due(loop.time())

    async def close(self) -> None:
        await self.inner.close()

    def _due(self, now: float) -> list[MemoryDelivery]:
        due: list[MemoryDelivery] = []
        while self.held and self.held[0][0] <= now:
            due.append(heapq.heappop(self.held)[2])
        return due

    def _passed(self, fetched: list[MemoryDelivery], now: float) -> list[MemoryDelivery]:
        faults, passed = self.faults, list[MemoryDelivery]()
        for delivery in fetched:
            place = faults.place(f"{self.durable}:{delivery.message.subject}")
            if faults.strikes(Kind.DUPLICATE, place):
                self._hold(delivery, now + faults.chance.around(2.0, f"again|{place}"))
            if faults.strikes(Kind.DELAY, place):
                self._hold(delivery, now + faults.chance.around(3.0, f"late|{place}"))
            elif passed and faults.strikes(Kind.REORDER, place):
                passed.insert(faults.chance.index(len(passed), f"turn|{place}"), delivery)
            else:
                passed.append(delivery)
        return passed

    def _hold(self, delivery: MemoryDelivery, until: float) -> None:
        heapq.heappush(self.held, (until, next(self.numbers), delivery))
