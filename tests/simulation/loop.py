"""An event loop on virtual time: nothing waits, time jumps to the next timer when nothing is ready.

Within a lane callbacks run in the order in which they became ready, as asyncio promises; which lane goes next is the
seed's choice, as it is the operating system's between processes. Threads are replaced by a pause of seeded length.
"""

import asyncio
import heapq
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from itertools import count
from random import Random
from typing import Any, TypeVar

from muster_eventstore.memory_server import MemoryStream
from simulation.lanes import CURRENT, Lane

T = TypeVar("T")
_BATCH = 64


class Stuck(Exception):
    """The system spins without end: too many steps at one moment."""


class SimFuture(asyncio.Future[Any]):
    """A future whose place in a set does not depend on its address."""

    def __init__(self, *, loop: "SimLoop", serial: int) -> None:
        self._serial = serial
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self._serial


class SimTask(asyncio.Task[Any]):
    """A task whose place in a set does not depend on its address."""

    def __init__(
        self,
        coro: Generator[Any, None, Any] | Coroutine[Any, Any, Any],
        *,
        loop: "SimLoop",
        serial: int,
        name: str | None,
        context: Context,
    ) -> None:
        self._serial = serial
        super().__init__(coro, loop=loop, name=name, context=context)

    def __hash__(self) -> int:
        return self._serial


class SimLoop(asyncio.BaseEventLoop):
    """`pause` gives the seconds that work in a thread takes. Virtual time begins at 0."""

    def __init__(self, seed: int, pause: Callable[[], float], *, most_steps_at_once: int = 200_000) -> None:
        super().__init__()
        self._time = 0.0
        self._rng = Random(seed)
        self._pause = pause
        self._most = most_steps_at_once
        self._steps_at_once = 0
        self._timers: list[tuple[float, int, asyncio.TimerHandle, Lane]] = []
        self._counter = count(1)
        self._runnable: list[Lane] = []
        self.world = Lane("world")
        self.server = Lane("server")
        self.steps = 0
        self.tasks: list[SimTask] = []

    def time(self) -> float:
        return self._time

    def create_future(self) -> SimFuture:
        return SimFuture(loop=self, serial=next(self._counter))

    def create_task(  # pyright: ignore[reportIncompatibleMethodOverride] -- the stub's generic says the same
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        given = copy_context() if context is None else context
        lane = given.get(CURRENT, self.world)
        task = SimTask(coro, loop=self, serial=next(self._counter), name=name or "task", context=given)
        lane.tasks.add(task)
        return task

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready_in(self._lane(callback, handle), handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._time + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        lane = self._lane(callback, handle)
        heapq.heappush(self._timers, (when, next(self._counter), handle, lane))
        return handle

    def run_in_executor(self, executor: object, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:
        """Run `func` alone, after a pause, and hand its result on after another one."""
        future: asyncio.Future[T] = self.create_future()

        def settle(value: T | None, error: BaseException | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(value)

        def work() -> None:
            if future.cancelled():
                return  # it had not begun
            try:
                value = func(*args)
            except Exception as error:  # noqa: BLE001 -- an executor hands every error on
                self.call_later(self._pause(), settle, None, error)
            else:
                self.call_later(self._pause(), settle, value, None)

        self.call_later(self._pause(), work)
        return future

    def kill(self, lane: Lane) -> None:
        """End a lane here and now: nothing of it runs any more."""
        lane.dead = True
        lane.queue.clear()
        lane.remains.extend(task for task in lane.tasks if not task.done())

    def spawn(self, lane: Lane, coro: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """A task in another lane."""
        return self.create_task(coro, context=lane.context.copy())

    def _lane(self, callback: Callable[..., object], handle: asyncio.Handle) -> Lane:
        # What the server does by itself, its timers, outlives the process whose call began it.
        if isinstance(getattr(callback, "__self__", None), MemoryStream):
            return self.server
        return handle._context.get(CURRENT, self.world)

    def _ready_in(self, lane: Lane, handle: asyncio.Handle) -> None:
        if lane.dead:
            return
        lane.queue.append(handle)
        if not lane.listed:
            lane.listed = True
            self._runnable.append(lane)

    def _run_once(self) -> None:
        for _ in range(_BATCH):
            runnable = self._runnable
            if not runnable:
                self._advance()
                if not self._runnable:
                    raise Stuck("nothing will ever happen again, and the run has not ended")
                continue
            place = 0 if len(runnable) == 1 else int(self._rng.random() * len(runnable))
            lane = runnable[place]
            if not lane.queue:
                lane.listed = False
                runnable.pop(place)
                continue
            handle = lane.queue.popleft()
            self.steps += 1
            self._steps_at_once += 1
            if self._steps_at_once > self._most:
                raise Stuck(f"{self._most} steps at {self._time:.3f} s, the last in {lane}: {handle}")
            if not handle.cancelled():
                handle._run()
            if self._stopping:  # pyright: ignore
                return

    def _advance(self) -> None:
        timers = self._timers
        while timers:
            when, _, handle, lane = timers[0]
            if handle.cancelled() or lane.dead:
                heapq.heappop(timers)
                continue
            if when > self._time:
                if self._runnable:
                    return
                self._time = when
                self._steps_at_once = 0
            heapq.heappop(timers)
            self._ready_in(lane, handle)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are passed over when their time comes."""

    def _process_events(self, event_list: object) -> None:
        """There is no outside."""

    def _write_to_self(self) -> None:
        """Nobody sleeps."""
