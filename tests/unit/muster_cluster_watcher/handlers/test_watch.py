"""The watch of one cluster, over a fake source and a store in memory."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from contract.cluster_source.fake import FakeSource
from contract.cluster_source.suite import NODE, a_node
from muster_cluster_watcher.adapters.stream import StoredObservations
from muster_cluster_watcher.domain.observations import Observation
from muster_cluster_watcher.handlers.watch import ClusterWatch
from muster_cluster_watcher.ports import Shown
from muster_eventstore import MemoryServer, MemoryStore
from muster_servicekit.clock import FakeClock
from muster_types import ClusterId

LOCAL = ClusterId("local")


class Heard:
    """Reports, kept; `wait_lists` until so many were told."""

    def __init__(self) -> None:
        self.observations: list[str] = []
        self._lists = 0
        self._told = asyncio.Event()

    def told(self, cluster: ClusterId, observations: Sequence[Observation], shown: Shown) -> None:
        self.observations += [type(each).__name__ for each in observations]
        self._lists += 1
        self._told.set()

    async def wait_lists(self, count: int) -> None:
        async with asyncio.timeout(5):
            while self._lists < count:
                self._told.clear()
                await self._told.wait()


@asynccontextmanager
async def watching(store: MemoryStore, source: FakeSource) -> AsyncGenerator[Heard]:
    heard = Heard()
    watch = ClusterWatch(LOCAL, source, StoredObservations(store, FakeClock()), heard)
    task = asyncio.create_task(watch.run())
    try:
        await heard.wait_lists(1)
        yield heard
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _store() -> MemoryStore:
    return MemoryStore(MemoryServer(FakeClock().now))


async def test_a_restart_tells_nothing_new() -> None:
    store, source = _store(), FakeSource()
    source.put(a_node("n1"))
    source.spoil("bad")
    async with watching(store, source) as heard:
        assert heard.observations == ["InputRejected", "ObjectObserved", "SyncCompleted"]
    async with watching(store, source) as heard:
        assert heard.observations == []


async def test_what_happened_while_the_watcher_was_down_is_told_at_its_start() -> None:
    store, source = _store(), FakeSource()
    source.put(a_node("n1"))
    async with watching(store, source):
        pass
    source.remove(NODE)
    source.put(a_node("n2"))
    async with watching(store, source) as heard:
        assert heard.observations == ["ObjectObserved", "ObjectRemoved"]


async def test_changes_are_told_as_they_come() -> None:
    store, source = _store(), FakeSource()
    async with watching(store, source) as heard:
        source.put(a_node("n1"))
        await heard.wait_lists(2)
        source.spoil("bad")
        await heard.wait_lists(3)
        source.mend("bad")
        await heard.wait_lists(4)
        assert heard.observations == [
            "SyncCompleted",
            "ObjectObserved",
            "SyncCompleted",
            "InputRejected",
            "SyncCompleted",
            "InputMended",
            "SyncCompleted",
        ]
