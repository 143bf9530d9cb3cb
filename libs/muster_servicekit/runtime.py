"""A service as a process: ordered start, supervised tasks, signals, ordered stop, exit status."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import Enum

import structlog
import uvloop

from muster_eventstore import PermanentError, TransientError

log = structlog.get_logger("muster.runtime")

# What the surroundings may do to a service: told in one line, without a traceback.
_NO_BUGS = (TransientError, PermanentError, OSError)


class OnCrash(Enum):
    """What the failure of a task means. STOP ends the process, for an orchestrator to start it again; RESTART is for
    tasks that hold nothing and are begun anew after a pause."""

    STOP = "stop"
    RESTART = "restart"


@dataclass(frozen=True, slots=True)
class _Task:
    name: str
    start: Callable[[], Coroutine[None, None, None]]
    on_crash: OnCrash
    stop: Callable[[], Awaitable[None]] | None


class Runtime:
    """What one service runs. Use it as the argument of `run_service`:

    resources are entered on `stack` and closed in reverse order after everything else has stopped; tasks are added
    with `supervise` in the order in which they start; `on_ready` is awaited once all of them run, `on_stop` first of
    all at a stop (health, gRPC server).
    """

    def __init__(self, name: str, *, grace: float = 10.0) -> None:
        self.name = name
        self.stack = AsyncExitStack()
        self._grace = grace
        self._tasks: list[_Task] = []
        self._on_ready: list[Callable[[], Awaitable[None]]] = []
        self._on_stop: list[Callable[[], Awaitable[None]]] = []
        self._stopping = asyncio.Event()
        self._failure: str | None = None

    def supervise(
        self,
        name: str,
        start: Callable[[], Coroutine[None, None, None]],
        *,
        stop: Callable[[], Awaitable[None]] | None = None,
        on_crash: OnCrash = OnCrash.STOP,
    ) -> None:
        """Run `start()` as a task. At a stop `stop()` is awaited and the task may finish within the grace; a task
        without `stop` is cancelled. A task with OnCrash.STOP that ends by itself ends the process too."""
        self._tasks.append(_Task(name, start, on_crash, stop))

    def on_ready(self, call: Callable[[], Awaitable[None]]) -> None:
        """Await `call()` when every task has been started."""
        self._on_ready.append(call)

    def on_stop(self, call: Callable[[], Awaitable[None]]) -> None:
        """Await `call()` at the beginning of a stop, before the tasks end; calls run in the order of registration."""
        self._on_stop.append(call)

    def request_stop(self, failure: str | None = None) -> None:
        """Begin to stop; with `failure` the exit status is 1."""
        if failure is not None and self._failure is None:
            self._failure = failure
        self._stopping.set()

    async def stopping(self) -> None:
        """Until a stop is asked for."""
        await self._stopping.wait()

    @property
    def failure(self) -> str | None:
        """Why the process ends with an error, if it does."""
        return self._failure

    async def run(self) -> None:
        """Start everything, wait for the end, stop everything."""
        running: list[tuple[_Task, asyncio.Task[None]]] = []
        try:
            for task in self._tasks:
                running.append((task, asyncio.create_task(self._supervised(task), name=f"{self.name}:{task.name}")))
            try:
                for call in self._on_ready:
                    await call()
                log.info("service is ready", name=self.name)
            except _NO_BUGS as error:
                self.request_stop(str(error))
            await self._stopping.wait()
        finally:
            log.info("service stops", name=self.name)
            await self._stop(running)
            await self.stack.aclose()

    async def _supervised(self, task: _Task) -> None:
        pause = 0.5
        while True:
            try:
                await task.start()
                if self._stopping.is_set():
                    return
                failure = "ended by itself"
            except _NO_BUGS as error:
                failure = str(error)
                log.error("task failed", name=self.name, task=task.name, error=failure)
            except Exception as error:
                failure = f"{type(error).__name__}: {error}"
                log.error("task failed by a bug", name=self.name, task=task.name, exc_info=error)
            if task.on_crash is OnCrash.STOP:
                self.request_stop(f"{task.name}: {failure}")
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, 30.0)

    async def _stop(self, running: list[tuple[_Task, asyncio.Task[None]]]) -> None:
        self._stopping.set()
        for call in self._on_stop:
            await _logged(call(), self.name)
        polite = [handle for task, handle in running if task.stop is not None]
        for task, handle in reversed(running):
            if task.stop is None:
                handle.cancel()
            elif not handle.done():
                await _logged(task.stop(), self.name)
        if polite:
            _, late = await asyncio.wait(polite, timeout=self._grace)
            for handle in late:
                log.warning("task did not finish in time and is cancelled", name=self.name, task=handle.get_name())
                handle.cancel()
        await _ended({handle for _, handle in running})


async def _ended(tasks: set[asyncio.Task[None]]) -> None:
    """Until all tasks are done. Cancelled again while they are not: `asyncio.wait_for` of Python 3.11 can lose a
    cancellation that arrives with its result, and the NATS client uses it."""
    while tasks:
        _, tasks = await asyncio.wait(tasks, timeout=1.0)
        for task in tasks:
            task.cancel()


async def _logged(call: Awaitable[None], name: str) -> None:
    try:
        await call
    except _NO_BUGS as error:
        log.error("stopping a part failed", name=name, error=str(error))
    except Exception as error:
        log.error("stopping a part failed", name=name, exc_info=error)


async def _built(runtime: Runtime, build: Callable[[Runtime], Awaitable[None]]) -> bool:
    """False when a stop was asked for before everything was built: a replica that stands by has nothing to finish."""
    building = asyncio.ensure_future(build(runtime))
    stopping = asyncio.create_task(runtime.stopping())
    await asyncio.wait({building, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if building.done():
        building.result()
        return True
    building.cancel()
    await asyncio.gather(building, return_exceptions=True)
    await runtime.stack.aclose()
    log.info("stopped before it was ready", name=runtime.name)
    return False


def run_service(name: str, build: Callable[[Runtime], Awaitable[None]], *, grace: float = 10.0) -> int:
    """Run a service until SIGTERM or SIGINT on uvloop; the exit status: 0 after a stop by signal, 1 after a failure.

    `build` connects and registers on the runtime. Its TransientError, PermanentError and OSError are told in one line.
    """

    async def main() -> int:
        runtime = Runtime(name, grace=grace)
        loop = asyncio.get_running_loop()
        for sign in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(sign, runtime.request_stop)
        try:
            if not await _built(runtime, build):
                return 0
        except _NO_BUGS as error:
            await runtime.stack.aclose()
            sys.stderr.write(f"{name} cannot start: {error}\n")
            return 1
        except BaseException:
            await runtime.stack.aclose()
            raise
        await runtime.run()
        if runtime.failure is not None:
            sys.stderr.write(f"{name} ended: {runtime.failure}\n")
            return 1
        return 0

    return uvloop.run(main())
