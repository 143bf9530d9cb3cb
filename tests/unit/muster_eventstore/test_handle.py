"""Load, fold, decide, append: conflicts, repeats, foreign bytes, fences."""

import asyncio

import pytest
from google.protobuf.wrappers_pb2 import StringValue

from contract.eventstore.tally import CODEC, LEDGER, Forbidden, Release, Released, a_handler
from muster_eventstore import (
    BATCH,
    NEW,
    Appended,
    Batch,
    Cause,
    Codec,
    Fenced,
    MemoryServer,
    MemoryStore,
    Recorded,
    Unchanged,
    UndecodableHistory,
    event_subject,
)
from muster_eventstore.memory import Lost, Step
from muster_eventstore.testing import a_meta, replay
from support.nats_server import now


@pytest.fixture
def server() -> MemoryServer:
    return MemoryServer(now)


@pytest.fixture
def store(server: MemoryServer) -> MemoryStore:
    return MemoryStore(server)


async def test_a_command_is_decided_and_its_events_are_one_message(store: MemoryStore) -> None:
    handler = a_handler(store, now)
    outcome = await handler.handle(LEDGER, Release("a"), Cause.first("1"))
    assert outcome == Recorded(1, 1, (Released("a"),), ("a",))
    (message,) = await replay(store, "claims")
    decoded = CODEC.decode(message.headers, message.data)
    assert not isinstance(decoded, str)
    batch = CODEC.decode_batch(message.data)
    assert isinstance(batch, Batch)
    assert (batch.version, batch.token, batch.command_id) == (1, 0, "1")
    assert message.headers["ce-type"] == BATCH
    assert message.headers["muster-causation-id"] == "1"


async def test_a_command_that_changes_nothing_records_nothing(store: MemoryStore) -> None:
    handler = a_handler(store, now)
    await handler.handle(LEDGER, Release("a"), Cause.first("1"))
    assert await handler.handle(LEDGER, Release("a"), Cause.first("2")) == Unchanged(1, ("a",))
    assert len(await replay(store, "claims")) == 1


async def test_a_refused_command_records_nothing(store: MemoryStore) -> None:
    handler = a_handler(store, now)
    with pytest.raises(Forbidden):
        await handler.handle(LEDGER, Release("forbidden"), Cause.first("1"))
    assert await replay(store, "claims") == []


async def test_a_repeated_command_gets_the_recorded_outcome(store: MemoryStore) -> None:
    handler = a_handler(store, now)
    first = await handler.handle(LEDGER, Release("a"), Cause.first("1"))
    await handler.handle(LEDGER, Release("b"), Cause.first("2"))
    again = await handler.handle(LEDGER, Release("a"), Cause.first("1"))
    assert isinstance(first, Recorded)
    assert again == Recorded(first.sequence, first.version, first.events, ("a", "b"))


async def test_a_repeat_after_a_restart_gets_the_recorded_outcome(store: MemoryStore) -> None:
    first = await a_handler(store, now).handle(LEDGER, Release("a"), Cause.first("1"))
    restarted = a_handler(store, now)
    assert await restarted.load([LEDGER]) == 1
    assert await restarted.handle(LEDGER, Release("a"), Cause.first("1")) == first


async def test_a_repeat_that_is_forgotten_here_is_known_to_the_store(store: MemoryStore) -> None:
    handler = a_handler(store, now, remember=1)
    first = await handler.handle(LEDGER, Release("a"), Cause.first("1"))
    await handler.handle(LEDGER, Release("b"), Cause.first("2"))
    # The same cause, but a command that would decide anew: the recorded outcome wins.
    again = await handler.handle(LEDGER, Release("c"), Cause.first("1"))
    assert isinstance(first, Recorded)
    assert isinstance(again, Recorded)
    assert (again.sequence, again.events) == (first.sequence, first.events)
    assert len(await replay(store, "claims")) == 2


async def test_two_writers_that_race_both_get_a_right_answer(store: MemoryStore) -> None:
    one, two = a_handler(store, now), a_handler(store, now)
    names = [f"g{i}" for i in range(20)]
    await asyncio.gather(
        *(one.handle(LEDGER, Release(name), Cause.first(f"one-{name}")) for name in names),
        *(two.handle(LEDGER, Release(name), Cause.first(f"two-{name}")) for name in names),
    )
    fresh = a_handler(store, now)
    await fresh.load([LEDGER])
    assert sorted(fresh.state(LEDGER)) == sorted(names)
    assert len(await replay(store, "claims")) == 20


async def test_a_lost_answer_is_not_decided_twice(server: MemoryServer) -> None:
    lost: list[Step] = []

    async def hook(step: Step, subject: str) -> None:
        await asyncio.sleep(0)
        if step in (Step.BEFORE_APPEND, Step.AFTER_APPEND) and lost.count(step) < 2:
            lost.append(step)
            raise Lost

    handler = a_handler(MemoryStore(server, hook), now)
    outcome = await handler.handle(LEDGER, Release("a"), Cause.first("1"))
    assert outcome == Recorded(1, 1, (Released("a"),), ("a",))
    assert len(lost) == 4
    assert len(await replay(MemoryStore(server), "claims")) == 1


async def test_a_command_cancelled_after_its_append_is_found_again(server: MemoryServer) -> None:
    reached = asyncio.Event()

    async def hook(step: Step, subject: str) -> None:
        if step is Step.AFTER_APPEND and not reached.is_set():
            reached.set()
            await asyncio.Event().wait()

    handler = a_handler(MemoryStore(server, hook), now)
    running = asyncio.create_task(handler.handle(LEDGER, Release("a"), Cause.first("1")))
    await reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert handler.state(LEDGER) == ()
    outcome = await handler.handle(LEDGER, Release("a"), Cause.first("1"))
    assert outcome == Recorded(1, 1, (Released("a"),), ("a",))
    assert await handler.handle(LEDGER, Release("b"), Cause.first("2")) == Recorded(2, 2, (Released("b"),), ("a", "b"))


async def test_foreign_bytes_on_an_own_subject_stop_nobody(store: MemoryStore) -> None:
    handler = a_handler(store, now)
    await handler.handle(LEDGER, Release("a"), Cause.first("1"))
    assert isinstance(await store.append(LEDGER, 1, b"hello", a_meta("x", type=BATCH)), Appended)
    assert await handler.handle(LEDGER, Release("b"), Cause.first("2")) == Recorded(3, 2, (Released("b"),), ("a", "b"))
    fresh = a_handler(store, now)
    await fresh.load([LEDGER])
    assert fresh.state(LEDGER) == ("a", "b")


async def test_an_event_of_a_newer_version_stops_the_start(store: MemoryStore) -> None:
    newer = Codec([StringValue])
    await store.append(LEDGER, NEW, newer.encode(Batch((StringValue(value="?"),))), a_meta("x", type=BATCH))
    with pytest.raises(UndecodableHistory, match=r"stream 'claims', sequence 1: .*StringValue"):
        await a_handler(store, now).load([LEDGER])


async def test_aggregates_are_apart_and_listed_by_subject(store: MemoryStore) -> None:
    handler = a_handler(store, now)
    other = event_subject("claims", "c0", "ledger")
    await handler.handle(LEDGER, Release("a"), Cause.first("1"))
    await handler.handle(other, Release("a"), Cause.first("1"))
    assert handler.state(event_subject("claims", "c9", "ledger")) == ()
    assert dict(handler.states()) == {other: ("a",), LEDGER: ("a",)}
    assert handler.position == 2


async def test_f25_a_writer_of_an_older_generation_must_step_down(store: MemoryStore) -> None:
    stale, fresh = a_handler(store, now, fence=lambda: 3), a_handler(store, now, fence=lambda: 7)
    await stale.handle(LEDGER, Release("a"), Cause.first("1"))
    await fresh.load([LEDGER])
    assert await fresh.take_over() == 1
    assert await fresh.take_over() == 0
    with pytest.raises(Fenced, match="generation 7, this writer holds 3"):
        await stale.handle(LEDGER, Release("b"), Cause.first("2"))
    assert fresh.state(LEDGER) == ("a",)
    assert await fresh.handle(LEDGER, Release("b"), Cause.first("2")) == Recorded(3, 2, (Released("b"),), ("a", "b"))


async def test_only_open_aggregates_are_fenced(store: MemoryStore) -> None:
    await a_handler(store, now, fence=lambda: 1).handle(LEDGER, Release("a"), Cause.first("1"))
    fresh = a_handler(store, now, fence=lambda: 2)
    await fresh.load([LEDGER])
    assert await fresh.take_over(is_open=lambda state: "a" not in state) == 0
