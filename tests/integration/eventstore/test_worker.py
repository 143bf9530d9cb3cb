"""The keyed worker on a real server: order for each key, a poisonous message, a process that dies."""

import asyncio
import random
from collections import defaultdict

from muster_eventstore import (
    ConsumerSpec,
    Delivery,
    JetStreamStore,
    Retries,
    Worker,
    command_filter,
    command_subject,
    list_parked,
    replay_parked,
)
from muster_eventstore.testing import a_meta
from support.nats_server import now, store_on, wait_until

SPEC = ConsumerSpec("commands", "claims", (command_filter("claims"),))


def key_of(delivery: Delivery) -> str:
    return delivery.message.subject.rsplit(".", 1)[1]


async def ask_all(store: JetStreamStore, count: int, keys: int) -> None:
    async def ask(number: int) -> None:
        subject = command_subject("claims", "c1", "BookGang", f"g{number % keys}")
        await store.publish(subject, str(number).encode(), a_meta(f"n{number}"))

    for start in range(0, count, 50):
        for number in range(start, min(count, start + 50)):
            await ask(number)


async def test_keys_keep_their_order_and_a_poisonous_message_is_parked_and_replayed(store: JetStreamStore) -> None:
    chance = random.Random(7)
    handled: dict[str, list[int]] = defaultdict(list)
    poisonous = True

    async def handler(delivery: Delivery) -> None:
        number = int(delivery.message.data)
        if number == 123 and poisonous:
            raise ValueError("no such rack")
        if chance.random() < 0.04:
            raise RuntimeError("flaky")
        await asyncio.sleep(0)
        handled[key_of(delivery)].append(number)

    async def empty() -> bool:
        return (await store.state("commands")).messages == 0

    retries = Retries(delays=(0.002,) * 8)
    worker = Worker(store, SPEC, handler, now=now, key=key_of, retries=retries)
    running = asyncio.create_task(worker.run())
    await ask_all(store, 400, keys=40)
    await wait_until(empty, "the work queue is empty")
    assert all(numbers == sorted(numbers) for numbers in handled.values())
    assert sum(map(len, handled.values())) == 399
    (parked,) = await list_parked(store)
    assert parked.reason == "ValueError: no such rack"
    assert (parked.attempts, parked.original.data) == (9, b"123")

    poisonous = False
    await replay_parked(store, parked.sequence, now())
    await wait_until(lambda: 123 in handled["g3"], "the replayed message is handled")
    await worker.stop()
    await running
    assert await list_parked(store) == []


async def test_what_a_dead_process_left_unfinished_is_done_by_the_next_in_order(streams_url: str) -> None:
    taken: list[int] = []
    handled: list[int] = []

    async def stuck(delivery: Delivery) -> None:
        taken.append(int(delivery.message.data))
        await asyncio.Event().wait()

    async def handler(delivery: Delivery) -> None:
        handled.append(int(delivery.message.data))

    async with store_on(streams_url) as dying:
        await ask_all(dying, 30, keys=30)
        task = asyncio.create_task(Worker(dying, SPEC, stuck, now=now, concurrency=10).run())
        await wait_until(lambda: len(taken) == 10, "ten messages are at work")
        # As a killed process: the connection breaks, nothing is acknowledged, and nothing is handed back.
        await dying.client.close()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    async with store_on(streams_url) as store:
        worker = Worker(store, SPEC, handler, now=now, key=lambda _: "one", concurrency=1)
        running = asyncio.create_task(worker.run())
        await wait_until(lambda: len(handled) == 30, "everything is done", deadline=5)
        await worker.stop()
        await running
    assert handled == list(range(30))
