"""Keeps each gang's holds in its cluster as its recorded state wants them: level by level, not event by event."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
from tenacity import AsyncRetrying, retry_if_exception_type, wait_exponential

from muster_eventstore import PermanentError, TransientError
from muster_gang_coordinator.adapters.kubernetes_calls import ClusterApi, in_our_words
from muster_gang_coordinator.adapters.kubernetes_finalizers import (
    Served,
    add_finalizer,
    finalized_requests,
    remove_finalizer,
    shows_status,
)
from muster_gang_coordinator.adapters.kubernetes_nodes import held_nodes, hold_nodes, let_nodes_go
from muster_gang_coordinator.adapters.kubernetes_rules import free_devices, held_devices, keep_devices
from muster_gang_coordinator.adapters.kubernetes_wanted import NOTHING, Holds, wanted_holds
from muster_gang_coordinator.handlers.projections import GangEntry, GangsView, Step
from muster_gang_coordinator.settings import Hold
from muster_types import ClusterId, GangId

log = structlog.get_logger("muster.holds")
_LONGEST_PAUSE = 30.0
_STATUS_ATTEMPTS = 8  # a request may go without its last status when it cannot be written for so long

T = TypeVar("T")
Key = tuple[ClusterId, GangId]


class HoldKeeper:
    """Until `start` it only listens; then it compares what the clusters hold with what the gangs want, and follows."""

    def __init__(self, apis: dict[ClusterId, ClusterApi], kinds: frozenset[Hold]) -> None:
        self._apis = apis
        self._kinds = kinds
        self._entries: dict[Key, GangEntry] = {}
        self._held: dict[Key, Holds] = {}
        self._tried: dict[Key, Holds] = {}  # written in part, or not at all
        self._failed: asyncio.Future[None] | None = None
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._started = False

    def saw(self, step: Step) -> None:
        """An event of a gang."""
        if self._started:
            self._wake(step.entry)

    async def start(self, gangs: GangsView) -> None:
        """Take up what an earlier life has left, and set right what it missed."""
        for cluster, api in self._apis.items():
            found = await self._retried(lambda api=api, cluster=cluster: self._found(api, gangs, cluster))
            self._held |= {(cluster, gang): holds for gang, holds in found.items()}
        self._started = True
        for cluster in self._apis:
            for entry in gangs.all(cluster):
                self._wake(entry)
        for key in [key for key in self._held if key not in self._tasks]:
            if self._wanted(key) != self._held[key]:  # of a gang that nobody has recorded: an orphan always goes
                self._spawn(key)

    async def run(self) -> None:
        """Until cancelled; what is not done then is done by the next start. Raises what is a bug."""
        self._failed = asyncio.get_running_loop().create_future()
        try:
            await self._failed
        finally:
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def wait_idle(self) -> None:
        """Until everything seen so far is done."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    def _wake(self, entry: GangEntry) -> None:
        key = (entry.cluster, entry.gang_id)
        if entry.cluster not in self._apis:
            return
        self._entries[key] = entry
        if key not in self._tasks:
            self._spawn(key)

    def _spawn(self, key: Key) -> None:
        if self._level_already(key):
            self._forget(key)
            return
        task = self._tasks[key] = asyncio.create_task(self._settle(key))
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and self._failed is not None and not self._failed.done():
            self._failed.set_exception(error)

    def _level_already(self, key: Key) -> bool:
        return key not in self._tried and self._wanted(key) == self._held.get(key, NOTHING)

    def _forget(self, key: Key) -> None:
        """A gang that holds and wants nothing is no longer of interest."""
        if not self._held.get(key, NOTHING) and not self._wanted(key):
            self._held.pop(key, None)
            self._entries.pop(key, None)

    def _wanted(self, key: Key) -> Holds:
        entry = self._entries.get(key)
        return NOTHING if entry is None else wanted_holds(entry, self._kinds)

    async def _settle(self, key: Key) -> None:
        """Until the cluster holds what is wanted now; the newest state counts, whatever was wanted meanwhile."""
        try:
            while not self._level_already(key):
                await self._retried(lambda: self._level(key))
        except PermanentError as error:
            log.error("the holds of a gang cannot be written", cluster=key[0], gang=key[1], reason=error.detail)
        finally:
            del self._tasks[key]
        self._forget(key)

    async def _level(self, key: Key) -> None:
        cluster, gang = key
        api, held, wanted = self._apis[cluster], self._held.get(key, NOTHING), self._wanted(key)
        more, less = wanted - held, (held | self._tried.get(key, NOTHING)) - wanted
        # What fails half way is written again, or taken back when it is no longer wanted.
        self._tried[key] = self._tried.get(key, NOTHING) | more | less
        with in_our_words(api):
            for request in sorted(more.requests):
                await add_finalizer(api, request)
            await hold_nodes(api, gang, more.nodes)
            await keep_devices(api, gang, more.devices)
            await free_devices(api, gang, less.devices)
            await let_nodes_go(api, gang, less.nodes)
        for request in sorted(less.requests):
            await self._release(api, key, request)
        self._held[key] = wanted
        del self._tried[key]

    async def _release(self, api: ClusterApi, key: Key, request: Served) -> None:
        """The last status first, for the object may be gone with its last finalizer."""
        for attempt in range(_STATUS_ATTEMPTS):
            entry = self._entries.get(key)
            with in_our_words(api):
                if entry is None or entry.gang.saga.spec.uid != request.uid:
                    break
                if await shows_status(api, request, entry.status):
                    break
            await asyncio.sleep(0.05 * 2**attempt)
        else:
            log.warning("a request goes without its last status", cluster=key[0], request=str(request.key))
        with in_our_words(api):
            await remove_finalizer(api, request)

    async def _found(self, api: ClusterApi, gangs: GangsView, cluster: ClusterId) -> dict[GangId, Holds]:
        """What the cluster holds for which gang; a kind of hold that is switched off now is found as well."""
        found: dict[GangId, Holds] = {}

        def add(gang: GangId, holds: Holds) -> None:
            found[gang] = found.get(gang, NOTHING) | holds

        with in_our_words(api):
            for gang, nodes in (await held_nodes(api)).items():
                add(gang, Holds(nodes=nodes))
            for gang, devices in (await held_devices(api)).items():
                add(gang, Holds(devices=devices))
            async for each in finalized_requests(api):
                entry = gangs.by_uid(cluster, each.request.uid)
                if entry is not None:
                    add(entry.gang_id, Holds(requests=frozenset({each.request})))
                elif each.leaving:
                    await remove_finalizer(api, each.request)
        return found

    @staticmethod
    async def _retried(call: Callable[[], Awaitable[T]]) -> T:
        retrying = AsyncRetrying(
            retry=retry_if_exception_type((TransientError, OSError)),
            wait=wait_exponential(multiplier=0.1, max=_LONGEST_PAUSE),
            reraise=True,
        )
        async for attempt in retrying:
            with attempt:
                return await call()
        raise AssertionError("it is tried without end")
