"""Stream -> read model: position, snapshots, unreadable messages."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from contract.eventstore.tally import CODEC, LEDGER, Release, a_handler
from muster_eventstore import (
    BATCH,
    Cause,
    Decoded,
    FileSnapshots,
    MemoryServer,
    MemoryStore,
    Projector,
    Snapshot,
    StoredMessage,
    list_parked,
)
from muster_eventstore.testing import a_meta
from support.nats_server import now, wait_until


class Sequences:
    """Remembers which messages it saw."""

    def __init__(self, schema: int = 1) -> None:
        self.schema = schema
        self.seen: list[int] = []
        self.restored = False

    def apply(self, message: StoredMessage, decoded: Decoded) -> None:
        self.seen.append(message.sequence)

    def dump(self) -> bytes:
        return ",".join(map(str, self.seen)).encode()

    def restore(self, data: bytes) -> None:
        self.restored = True
        self.seen = [int(part) for part in data.decode().split(",") if part]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(MemoryServer(now))


@asynccontextmanager
async def projecting(
    store: MemoryStore, model: Sequences, snapshots: FileSnapshots | None = None, every: int = 1000
) -> AsyncIterator[Projector]:
    projector = Projector(
        store, CODEC, model, name="seen", stream="claims", now=now, snapshots=snapshots, snapshot_every=every
    )
    task = asyncio.create_task(projector.run())
    async with asyncio.timeout(5):
        await projector.wait_ready()
    try:
        yield projector
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def record(store: MemoryStore, *gangs: str) -> None:
    handler = a_handler(store, now)
    await handler.load([LEDGER])
    for gang in gangs:
        await handler.handle(LEDGER, Release(gang), Cause.first(gang))


async def test_the_model_is_level_with_the_stream_and_follows_it(store: MemoryStore) -> None:
    await record(store, "a", "b")
    model = Sequences()
    async with projecting(store, model) as projector:
        assert projector.position == 2
        waiting = asyncio.create_task(projector.wait_for(3, 5))
        await record(store, "c")
        assert await waiting
        assert model.seen == [1, 2, 3]
        assert await projector.wait_for(2, 0)


async def test_waiting_for_what_does_not_come_ends_at_the_deadline(store: MemoryStore) -> None:
    async with projecting(store, Sequences()) as projector:
        assert not await projector.wait_for(1, 0.02)


async def test_a_snapshot_spares_the_replay(store: MemoryStore, tmp_path: Path) -> None:
    snapshots = FileSnapshots(tmp_path)
    await record(store, "a", "b")
    async with projecting(store, Sequences(), snapshots):
        pass
    await record(store, "c")
    model = Sequences()
    async with projecting(store, model, snapshots) as projector:
        assert model.restored
        assert model.seen == [1, 2, 3]
        assert projector.position == 3


async def test_a_snapshot_of_another_schema_is_not_used(store: MemoryStore, tmp_path: Path) -> None:
    snapshots = FileSnapshots(tmp_path)
    await record(store, "a")
    async with projecting(store, Sequences(1), snapshots):
        pass
    model = Sequences(2)
    async with projecting(store, model, snapshots):
        assert not model.restored
        assert model.seen == [1]


async def test_a_snapshot_of_a_stream_that_was_made_anew_is_not_used(tmp_path: Path) -> None:
    snapshots = FileSnapshots(tmp_path)
    old, new = MemoryStore(MemoryServer(now)), MemoryStore(MemoryServer(now))
    await record(old, "a", "b")
    await record(new, "x", "y", "z")
    async with projecting(old, Sequences(), snapshots):
        pass
    model = Sequences()
    async with projecting(new, model, snapshots):
        assert not model.restored
        assert model.seen == [1, 2, 3]


async def test_a_snapshot_beyond_the_end_of_the_stream_is_not_used(store: MemoryStore, tmp_path: Path) -> None:
    snapshots = FileSnapshots(tmp_path)
    await record(store, "a")
    state = await store.state("claims")
    await snapshots.save("seen", Snapshot("claims", state.incarnation, 7, 1, b"1,7"))
    model = Sequences()
    async with projecting(store, model, snapshots):
        assert model.seen == [1]


async def test_snapshots_are_taken_on_the_way(store: MemoryStore, tmp_path: Path) -> None:
    snapshots = FileSnapshots(tmp_path)
    async with projecting(store, Sequences(), snapshots, every=2) as projector:
        await record(store, "a", "b", "c")
        assert await projector.wait_for(3, 5)

        async def saved() -> bool:
            snapshot = await snapshots.load("seen")
            return snapshot is not None and snapshot.sequence >= 2

        await wait_until(saved, "a snapshot is saved")


async def test_an_unreadable_message_is_parked_once_and_passed_over(store: MemoryStore) -> None:
    await record(store, "a")
    await store.publish(LEDGER, b"garbage", a_meta("x", type=BATCH))
    await store.publish(LEDGER, b"", a_meta("y", type="muster.events.claims.v9.Unheard"))
    await record(store, "b")
    for _ in range(2):
        model = Sequences()
        async with projecting(store, model) as projector:
            assert model.seen == [1, 4]
            assert projector.position == 4
    parked = await list_parked(store, "seen")
    assert [each.original.sequence for each in parked] == [2, 3]
    assert "v9.Unheard" in parked[1].reason


def test_a_model_that_cannot_be_kept_gets_no_snapshots(store: MemoryStore, tmp_path: Path) -> None:
    class Plain:
        def apply(self, message: StoredMessage, decoded: Decoded) -> None: ...

    with pytest.raises(TypeError, match="cannot be kept"):
        Projector(store, CODEC, Plain(), name="x", stream="claims", now=now, snapshots=FileSnapshots(tmp_path))
