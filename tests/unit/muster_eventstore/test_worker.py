"""The keyed worker: order, retries, parking, replay, stopping."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from contract.eventstore.tally import Forbidden
from muster_eventstore import (
    ConsumerSpec,
    Delivery,
    MemoryServer,
    MemoryStore,
    PermanentError,
    Retries,
    TransientError,
    Worker,
    command_filter,
    drop_parked,
    list_parked,
    replay_parked,
    show_parked,
)
from muster_eventstore.testing import ask
from support.nats_server import now, wait_until

SPEC = ConsumerSpec("commands", "claims", (command_filter("claims"),))
IMPATIENT = replace(SPEC, ack_wait=0.6)
QUICK = Retries(delays=(0.001, 0.001), patience=0.05)


@pytest.fixture
def server() -> MemoryServer:
    return MemoryServer(now)


@pytest.fixture
def store(server: MemoryServer) -> MemoryStore:
    return MemoryStore(server)


@asynccontextmanager
async def running(worker: Worker) -> AsyncIterator[None]:
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        await worker.stop()
        await task


def key_of(delivery: Delivery) -> str:
    return delivery.message.subject.rsplit(".", 1)[1]


def drained(store: MemoryStore, server: MemoryServer) -> Callable[[], bool]:
    return lambda: not server.stream("commands").by_subject


async def test_each_key_keeps_its_order_while_keys_run_side_by_side(store: MemoryStore, server: MemoryServer) -> None:
    handled: dict[str, list[int]] = defaultdict(list)
    at_work: set[str] = set()
    together = 0

    async def handler(delivery: Delivery) -> None:
        nonlocal together
        key = key_of(delivery)
        assert key not in at_work
        at_work.add(key)
        together = max(together, len(at_work))
        await asyncio.sleep(0.001)
        at_work.discard(key)
        handled[key].append(delivery.message.sequence)

    for i in range(120):
        await ask(store, f"k{i % 12}", f"Kind{i}")
    async with running(Worker(store, SPEC, handler, now=now, key=key_of, concurrency=4)):
        await wait_until(drained(store, server), "all commands are acknowledged")
    assert sum(map(len, handled.values())) == 120
    assert all(sequences == sorted(sequences) for sequences in handled.values())
    assert together == 4


async def test_a_failing_message_is_retried_in_place_and_nothing_of_its_key_overtakes(
    store: MemoryStore, server: MemoryServer
) -> None:
    handled: list[str] = []
    failures = 2

    async def handler(delivery: Delivery) -> None:
        nonlocal failures
        if delivery.message.data == b"First-a" and failures:
            failures -= 1
            raise RuntimeError("not yet")
        handled.append(delivery.message.data.decode())

    for kind in ("First", "Second"):
        await ask(store, "a", kind)
    async with running(Worker(store, SPEC, handler, now=now, key=key_of, retries=QUICK)):
        await wait_until(drained(store, server), "both commands are acknowledged")
    assert handled == ["First-a", "Second-a"]
    assert await list_parked(store) == []


async def test_a_poisonous_message_is_parked_and_the_rest_of_its_key_goes_on(
    store: MemoryStore, server: MemoryServer
) -> None:
    handled: list[str] = []
    poisonous = True

    async def handler(delivery: Delivery) -> None:
        if delivery.message.data == b"First-a" and poisonous:
            raise RuntimeError("cannot\nread this")
        handled.append(delivery.message.data.decode())

    sequence = await ask(store, "a", "First")
    await ask(store, "a", "Second")
    async with running(Worker(store, SPEC, handler, now=now, key=key_of, retries=QUICK)):
        await wait_until(drained(store, server), "the queue is empty")
        (parked,) = await list_parked(store, "claims")
        assert handled == ["Second-a"]
        assert parked.reason == "RuntimeError: cannot read this"
        assert parked.attempts == 3
        assert parked.original.sequence == sequence
        assert parked.original.data == b"First-a"
        assert parked.original.subject == "muster.commands.claims.c1.First.a"
        assert parked.original.headers["ce-id"] == "First-a"

        again = await replay_parked(store, parked.sequence, now())
        assert again == parked
        await wait_until(lambda: len(server.stream("parked").by_subject) == 1, "it is parked again")
        (second,) = await list_parked(store)
        assert second.place.round == 1

        poisonous = False
        await replay_parked(store, second.sequence, now())
        await wait_until(lambda: handled == ["Second-a", "First-a"], "the replay is handled")
    assert await list_parked(store) == []
    assert not server.stream("replays").by_subject


async def test_a_parked_message_can_be_shown_and_dropped(store: MemoryStore, server: MemoryServer) -> None:
    async def handler(delivery: Delivery) -> None:
        raise PermanentError("UNDECODABLE", "garbage")

    await ask(store, "a")
    async with running(Worker(store, SPEC, handler, now=now)):
        await wait_until(drained(store, server), "the queue is empty")
    (parked,) = await list_parked(store)
    assert parked.reason == "UNDECODABLE: garbage"
    assert parked.attempts == 1
    assert await show_parked(store, parked.sequence) == parked
    assert await drop_parked(store, parked.sequence) == parked
    assert await drop_parked(store, parked.sequence) is None
    assert await replay_parked(store, 99, now()) is None
    assert await list_parked(store) == []


async def test_a_refused_command_is_parked_at_once_with_its_reason(store: MemoryStore, server: MemoryServer) -> None:
    async def handler(delivery: Delivery) -> None:
        raise Forbidden("this gang is not released")

    await ask(store, "a")
    async with running(Worker(store, SPEC, handler, now=now)):
        await wait_until(drained(store, server), "the queue is empty")
    assert [(p.reason, p.attempts) for p in await list_parked(store)] == [("FORBIDDEN: this gang is not released", 1)]


async def test_a_message_is_not_given_up_while_the_outside_is_away(store: MemoryStore, server: MemoryServer) -> None:
    attempts = 0

    async def handler(delivery: Delivery) -> None:
        nonlocal attempts
        attempts += 1
        if attempts < 12:
            raise TransientError("the provider is away")

    await ask(store, "a")
    async with running(Worker(store, SPEC, handler, now=now, retries=Retries((0.001,), patience=60))):
        await wait_until(drained(store, server), "the queue is empty")
    assert attempts == 12
    assert await list_parked(store) == []


def test_patience_ends() -> None:
    retries = Retries((0.1, 1.0), patience=10)
    away, bug = TransientError("away"), ValueError("bug")
    assert [retries.delay(n, 0, away) for n in (1, 2, 3)] == [0.1, 1.0, 1.0]
    assert retries.delay(9, 9.5, away) is None
    assert [retries.delay(n, 0, bug) for n in (1, 2, 3)] == [0.1, 1.0, None]
    assert retries.delay(1, 0, PermanentError("NO", "never")) is None


async def test_a_long_handler_and_those_waiting_behind_it_are_not_delivered_again(
    store: MemoryStore, server: MemoryServer
) -> None:
    handled: list[tuple[str, int]] = []

    async def handler(delivery: Delivery) -> None:
        await asyncio.sleep(1.4)  # more than twice the time to answer
        handled.append((delivery.message.data.decode(), delivery.attempt))

    for kind in ("First", "Second"):
        await ask(store, "a", kind)
    async with running(Worker(store, IMPATIENT, handler, now=now, key=key_of)):
        await wait_until(drained(store, server), "both are acknowledged")
    assert handled == [("First-a", 1), ("Second-a", 1)]


async def test_a_stop_finishes_the_handlers_at_work_and_hands_back_the_rest(
    store: MemoryStore, server: MemoryServer
) -> None:
    started, release = asyncio.Event(), asyncio.Event()
    handled: list[str] = []

    async def handler(delivery: Delivery) -> None:
        started.set()
        await release.wait()
        handled.append(delivery.message.data.decode())

    for kind in ("First", "Second", "Third"):
        await ask(store, "a", kind)
    worker = Worker(store, SPEC, handler, now=now, key=key_of)
    task = asyncio.create_task(worker.run())
    await started.wait()
    await worker.stop()
    release.set()
    await task
    assert worker.idle
    assert handled == ["First-a"]
    async with running(Worker(store, SPEC, handler, now=now, key=key_of)):
        await wait_until(drained(store, server), "the rest is done by the next one")
    assert handled == ["First-a", "Second-a", "Third-a"]


async def test_a_cancelled_worker_leaves_its_message_for_the_next(store: MemoryStore, server: MemoryServer) -> None:
    started = asyncio.Event()
    handled: list[str] = []

    async def stuck(delivery: Delivery) -> None:
        started.set()
        await asyncio.Event().wait()

    async def handler(delivery: Delivery) -> None:
        handled.append(delivery.message.data.decode())

    await ask(store, "a")
    task = asyncio.create_task(Worker(store, SPEC, stuck, now=now).run())
    await started.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    async with running(Worker(store, SPEC, handler, now=now)):
        await wait_until(drained(store, server), "the command is done")
    assert handled == ["BookGang-a"]


async def test_a_crash_between_parking_and_giving_up_parks_once(store: MemoryStore, server: MemoryServer) -> None:
    from muster_eventstore.memory import Lost, Step

    lost = False

    async def hook(step: Step, subject: str) -> None:
        nonlocal lost
        await asyncio.sleep(0)
        if step is Step.BEFORE_ANSWER and not lost:
            lost = True
            raise Lost

    async def handler(delivery: Delivery) -> None:
        raise PermanentError("BAD", "for ever")

    await ask(store, "a")
    async with running(Worker(MemoryStore(server, hook), IMPATIENT, handler, now=now)):
        await wait_until(drained(store, server), "the message is given up in the end")
    assert lost
    assert len(await list_parked(store)) == 1
