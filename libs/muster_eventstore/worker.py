"""The keyed worker: one message at a time for each key, keys side by side, retries in process, then parked.

A failing message is retried here and never handed back, because the store would let later messages of its key overtake
it. Whatever a crash leaves unfinished is delivered again; so handlers see a message at least once, and in order of
their key unless another replica holds some of them.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

import structlog

from muster_decider import CorruptHistory, DomainError
from muster_eventstore import metrics
from muster_eventstore.errors import Fenced, PermanentError, StoreClosed, TransientError
from muster_eventstore.parked import as_replayed, park, reason_of
from muster_eventstore.port import ConsumerSpec, Delivery, EventStore, Inbox
from muster_eventstore.subjects import REPLAYS, replayed_filter

log = structlog.get_logger("muster.worker")

Handler = Callable[[Delivery], Awaitable[None]]
_FETCH = 5.0  # seconds that one fetch waits; only how soon a stop is noticed without cancelling


@dataclass(frozen=True, slots=True)
class Retries:
    """When a failed attempt is made again, in seconds. A transient failure goes on with the last delay until
    `patience` is used up: the outside is away, the message is sound. Any other failure ends with `delays`."""

    delays: tuple[float, ...] = (0.05, 0.25, 1.0, 5.0)
    patience: float = 900.0

    def delay(self, attempt: int, since: float, error: Exception) -> float | None:
        """The pause after failed attempt number `attempt` (from 1), `since` seconds after the first; None: give up."""
        if isinstance(error, PermanentError | DomainError | CorruptHistory):
            return None
        if attempt <= len(self.delays):
            return self.delays[attempt - 1]
        last = self.delays[-1] if self.delays else 1.0
        return last if isinstance(error, TransientError) and since + last <= self.patience else None


class Worker:
    """Runs `handler` over a durable consumer. `key` groups messages that must keep their order (default: the subject);
    `concurrency` bounds the handlers at work. `run` ends by cancellation, or after `stop`."""

    def __init__(
        self,
        store: EventStore,
        spec: ConsumerSpec,
        handler: Handler,
        *,
        now: Callable[[], datetime],
        key: Callable[[Delivery], str] = lambda delivery: delivery.message.subject,
        retries: Retries | None = None,
        concurrency: int = 16,
    ) -> None:
        self._store = store
        self._spec = spec
        self._handler = handler
        self._now = now
        self._key = key
        self._retries = retries or Retries()
        self._slots = asyncio.Semaphore(concurrency)
        self._queues: dict[str, deque[Delivery]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._held: dict[int, Delivery] = {}
        self._stopping = asyncio.Event()
        self._room = asyncio.Event()
        self._failed: asyncio.Future[None] | None = None

    @property
    def durable(self) -> str:
        """Name of the consumer."""
        return self._spec.durable

    @property
    def idle(self) -> bool:
        """Nothing is held: everything fetched was acknowledged or given up."""
        return not self._held

    async def run(self) -> None:
        """Work until stopped. Raises what is a bug or a closed store; failures of handlers are retried and parked."""
        self._failed = asyncio.get_running_loop().create_future()
        replays = ConsumerSpec(
            REPLAYS,
            self._spec.durable,
            (replayed_filter(self._spec.durable),),
            self._spec.start,
            self._spec.ack_wait,
            self._spec.max_ack_pending,
        )
        inboxes = [await self._store.open_inbox(spec) for spec in (self._spec, replays)]
        loops = [
            asyncio.create_task(self._take(inboxes[0], replayed=False)),
            asyncio.create_task(self._take(inboxes[1], replayed=True)),
            asyncio.create_task(self._beat()),
        ]
        stopped = asyncio.create_task(self._stopping.wait())
        try:
            done, _ = await asyncio.wait({*loops, stopped, self._failed}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            await self._drain(loops)
        finally:
            for task in (*loops, stopped, *self._tasks):
                task.cancel()
            await asyncio.gather(stopped, return_exceptions=True)
            await asyncio.gather(*loops, *self._tasks, return_exceptions=True)
            for inbox in inboxes:
                await inbox.close()
            for delivery in list(self._held.values()):
                await delivery.nak()
            self._held.clear()
            metrics.HELD.labels(self.durable).set(0)

    async def stop(self) -> None:
        """Take no more messages, finish the handlers at work, hand back the rest; `run` then returns."""
        self._stopping.set()

    async def _drain(self, loops: list[asyncio.Task[None]]) -> None:
        for task in loops[:2]:
            task.cancel()
        await asyncio.gather(*loops[:2], return_exceptions=True)
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _take(self, inbox: Inbox, *, replayed: bool) -> None:
        while True:
            while len(self._held) >= 2 * self._spec.max_ack_pending:
                self._room.clear()
                await self._room.wait()
            for delivery in await inbox.fetch(_FETCH):
                restored = as_replayed(delivery) if replayed else delivery
                if restored is None:
                    log.error("replay without an original", consumer=self.durable, subject=delivery.message.subject)
                    await delivery.term()
                    continue
                self._enqueue(restored)

    def _enqueue(self, delivery: Delivery) -> None:
        self._held[id(delivery)] = delivery
        metrics.HELD.labels(self.durable).set(len(self._held))
        key = self._key(delivery)
        queue = self._queues.get(key)
        if queue is not None:
            queue.append(delivery)
            return
        self._queues[key] = deque([delivery])
        task = asyncio.create_task(self._work(key))
        self._tasks.add(task)
        task.add_done_callback(self._worked)

    def _worked(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._failed is None or self._failed.done() or task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self._failed.set_exception(error)

    def _release(self, delivery: Delivery) -> None:
        self._held.pop(id(delivery), None)
        metrics.HELD.labels(self.durable).set(len(self._held))
        self._room.set()

    async def _work(self, key: str) -> None:
        queue = self._queues[key]
        while queue and not self._stopping.is_set():
            await self._one(queue[0])
            self._release(queue.popleft())
        del self._queues[key]  # at a stop the rest is still held, and handed back in order

    async def _one(self, delivery: Delivery) -> None:
        loop = asyncio.get_running_loop()
        attempt, began = 0, loop.time()
        while True:
            attempt += 1
            error = await self._attempt(delivery)
            if error is None:
                await delivery.ack()
                metrics.HANDLED.labels(self.durable).inc()
                return
            delay = self._retries.delay(attempt, loop.time() - began, error)
            if delay is None:
                await self._give_up(delivery, error, attempt)
                return
            metrics.RETRIED.labels(self.durable).inc()
            log.warning(
                "message will be tried again",
                consumer=self.durable,
                subject=delivery.message.subject,
                attempt=attempt,
                error=reason_of(error),
            )
            await asyncio.sleep(delay)

    async def _attempt(self, delivery: Delivery) -> Exception | None:
        async with self._slots:
            try:
                with metrics.HANDLING.labels(self.durable).time():
                    await self._handler(delivery)
            except (StoreClosed, Fenced):
                raise  # no fault of the message: whoever holds the lease now will handle it
            except Exception as error:  # noqa: BLE001 -- whatever a handler raises is retried, then parked with its reason
                return error
        return None

    async def _give_up(self, delivery: Delivery, error: Exception, attempts: int) -> None:
        log.error(
            "message parked",
            consumer=self.durable,
            subject=delivery.message.subject,
            sequence=delivery.message.sequence,
            attempts=attempts,
            error=reason_of(error),
            exc_info=None if isinstance(error, PermanentError | TransientError | DomainError) else error,
        )
        await park(self._store, self.durable, delivery, reason_of(error), attempts=attempts, now=self._now())
        await delivery.term()
        metrics.PARKED.labels(self.durable).inc()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._spec.ack_wait / 3)
            for delivery in list(self._held.values()):
                await delivery.in_progress()
