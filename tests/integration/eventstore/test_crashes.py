"""What is promised when the server is killed, and when two processes believe that they are the writer."""

import asyncio
import contextlib
from collections import Counter
from datetime import timedelta

import pytest

from contract.eventstore.tally import CODEC, LEDGER, Release, TallyWire, a_handler
from muster.commands.claims.v1 import claims_pb2
from muster_eventstore import (
    NEW,
    Appended,
    Cause,
    CommandSubject,
    ConsumerSpec,
    Delivery,
    Draft,
    Fenced,
    JetStreamStore,
    Leases,
    Projector,
    Recorded,
    SendCommand,
    StoredMessage,
    TimerSubject,
    Worker,
    command_filter,
    event_subject,
    fired_filter,
    publish_command,
    schedule_timer,
)
from muster_eventstore.codec import Decoded
from muster_eventstore.testing import a_meta, replay
from support.nats_server import CrashingNats, now, store_on, wait_until


async def test_appends_survive_kills_of_the_server_without_gap_or_duplicate(crashing_nats: CrashingNats) -> None:
    """Stack §3.1: acknowledged means stored once, whatever the answers that a crash swallows."""
    done = asyncio.Event()
    written: Counter[str] = Counter()

    async def writer(store: JetStreamStore, name: str) -> None:
        subject, last = event_subject("gangs", "c1", "gang", name), NEW
        while not done.is_set():
            number = written[name] + 1
            answer = await store.append(subject, last, str(number).encode(), a_meta(f"{name}-{number}"))
            assert isinstance(answer, Appended), f"{name} writes alone, yet {answer}"
            last = answer.sequence
            written[name] = number

    async with store_on(crashing_nats.url, attempt_timeout=0.3) as store:
        writers = [asyncio.create_task(writer(store, f"w{i}")) for i in range(8)]
        for _ in range(3):
            before = written.total()
            await wait_until(lambda before=before: written.total() > before + 100, "a hundred more appends")
            crashing_nats.crash_and_restart()
        before = written.total()
        await wait_until(lambda: written.total() > before + 100, "appends after the last crash")
        done.set()
        await asyncio.gather(*writers)
        for i in range(8):
            stored = await replay(store, "gangs", [event_subject("gangs", "c1", "gang", f"w{i}")])
            assert [int(message.data) for message in stored] == list(range(1, written[f"w{i}"] + 1))


async def test_a_reader_goes_on_after_kills_of_the_server_without_a_gap(crashing_nats: CrashingNats) -> None:
    seen: list[StoredMessage] = []

    async def follow(store: JetStreamStore) -> None:
        async with contextlib.aclosing(store.read("gangs")) as chunks:
            async for chunk in chunks:
                seen.extend(chunk.messages)

    async with (
        store_on(crashing_nats.url, attempt_timeout=0.3) as writing,
        store_on(crashing_nats.url, read_batch=50, heartbeat=0.5) as reading,
    ):
        follower = asyncio.create_task(follow(reading))
        stored: list[int] = []
        for burst in range(3):
            for i in range(150):
                answer = await writing.publish(event_subject("gangs", "c1", "gang", "g"), b"", a_meta(f"{burst}-{i}"))
                stored.append(answer.sequence)
            await wait_until(lambda least=150 * (burst + 1) - 40: len(seen) >= least, "the reader follows")
            crashing_nats.crash_and_restart()
        await writing.publish(event_subject("gangs", "c1", "gang", "g"), b"", a_meta("last"))
        await wait_until(lambda: len(seen) == len(stored) + 1, "the reader has everything")
        assert [message.sequence for message in seen][:-1] == sorted(set(stored))
        follower.cancel()


async def test_commands_are_handled_once_each_across_kills_of_the_server(crashing_nats: CrashingNats) -> None:
    async with store_on(crashing_nats.url, attempt_timeout=0.3, heartbeat=0.5) as store:
        handler = a_handler(store, now)

        async def on_command(delivery: Delivery) -> None:
            decoded = CODEC.decode(delivery.message.headers, delivery.message.data)
            assert isinstance(decoded, Decoded)
            (message,) = decoded.batch.events
            assert isinstance(message, claims_pb2.ReleaseGang)
            await handler.handle(LEDGER, Release(message.gang_id), Cause.of(decoded.meta))

        spec = ConsumerSpec("commands", "claims", (command_filter("claims"),), ack_wait=1.0)
        worker = Worker(store, spec, on_command, now=now)
        running = asyncio.create_task(worker.run())
        for i in range(150):
            to = CommandSubject("claims", "c1", "ReleaseGang", f"g{i}")
            command = SendCommand(to, claims_pb2.ReleaseGang(gang_id=f"g{i}"))
            await publish_command(store, command, Cause.first(f"g{i}"), source="/test", now=now())
            if i in (40, 110):
                crashing_nats.crash_and_restart()

        async def empty() -> bool:
            return (await store.state("commands")).messages == 0

        await wait_until(empty, "every command is acknowledged")
        await worker.stop()
        await running
        events = [
            TallyWire().from_wire(event).gang
            for message in await replay(store, "claims")
            if isinstance(decoded := CODEC.decode(message.headers, message.data), Decoded)
            for event in decoded.batch.events
        ]
        assert sorted(events) == sorted(f"g{i}" for i in range(150))
        assert handler.state(LEDGER) == tuple(events)


async def test_a_timer_survives_a_restart_and_one_that_fell_due_meanwhile_fires_late(
    crashing_nats: CrashingNats,
) -> None:
    later, meanwhile = (TimerSubject("gangs", "c1", "WakeGang", key) for key in ("later", "meanwhile"))
    wake = claims_pb2.ReleaseGang(gang_id="g")

    async with store_on(crashing_nats.url) as store:
        begin = now()
        for timer, seconds in ((later, 1.5), (meanwhile, 0.2)):
            due = begin + timedelta(seconds=seconds)
            await schedule_timer(store, timer, due, wake, Cause.first(timer.key), source="/test", now=begin)
    crashing_nats.kill()
    await wait_until(lambda: now() > begin + timedelta(seconds=0.3), "the first timer has fallen due")
    crashing_nats.start()
    fired: list[tuple[str, float]] = []

    async def on_timer(delivery: Delivery) -> None:
        fired.append((delivery.message.subject, (delivery.message.time - begin).total_seconds()))

    async with store_on(crashing_nats.url) as store:
        worker = Worker(store, ConsumerSpec("timers", "gang-timers", (fired_filter("gangs"),)), on_timer, now=now)
        running = asyncio.create_task(worker.run())
        await wait_until(lambda: len(fired) == 2, "both timers have fired")
        await worker.stop()
        await running
    assert [subject for subject, _ in fired] == [meanwhile.fired, later.fired]
    assert fired[1][1] >= 1.5


async def test_a_stale_holder_is_refused_by_the_store(store: JetStreamStore) -> None:
    one, two = Leases(store, "one", now=now, ttl=2), Leases(store, "two", now=now, ttl=2)
    first = await one.wait_acquire("claims/c1")  # never renewed: its holder stands still
    stale = a_handler(store, now, fence=lambda: first.token)
    await stale.handle(LEDGER, Release("a"), Cause.first("a"))

    second = await two.wait_acquire("claims/c1")
    assert second.token > first.token
    fresh = a_handler(store, now, fence=lambda: second.token)
    assert await fresh.load([LEDGER]) == 1
    assert await fresh.take_over() == 1
    with pytest.raises(Fenced):
        await stale.handle(LEDGER, Release("b"), Cause.first("b"))
    assert isinstance(await fresh.handle(LEDGER, Release("b"), Cause.first("b")), Recorded)
    assert fresh.state(LEDGER) == ("a", "b")


async def test_bulk_facts_and_projections_resume_across_a_kill(crashing_nats: CrashingNats) -> None:
    class Last:
        def __init__(self) -> None:
            self.facts: dict[str, bytes] = {}

        def apply(self, message: StoredMessage, decoded: Decoded) -> None:
            self.facts[message.subject] = message.data

    release = claims_pb2.ReleaseGang.DESCRIPTOR.full_name

    def facts(round: int) -> list[Draft]:
        return [
            Draft(
                event_subject("observed", "c1", "Node", f"n{i}"),
                claims_pb2.ReleaseGang(gang_id=str(round)).SerializeToString(),
                a_meta(f"{round}-{i}", type=release),
            )
            for i in range(1200)
        ]

    async with (
        store_on(crashing_nats.url, attempt_timeout=0.5) as writing,
        store_on(crashing_nats.url, heartbeat=0.5) as reading,
    ):
        model = Last()
        projector = Projector(reading, CODEC, model, name="last", stream="observed", now=now)
        running = asyncio.create_task(projector.run())
        await projector.wait_ready()
        last = await writing.publish_all(facts(1))
        assert await projector.wait_for(last, 5)
        crashing_nats.crash_and_restart()
        last = await writing.publish_all(facts(2))
        assert await projector.wait_for(last, 10)
        assert set(model.facts.values()) == {claims_pb2.ReleaseGang(gang_id="2").SerializeToString()}
        assert len(model.facts) == 1200
        running.cancel()
