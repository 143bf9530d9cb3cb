# ruff: noqa: S101 -- a contract suite asserts
"""The contract of `EventStore`, as a suite that every adapter must pass.

Subclass `EventStoreContract` in a test module that has a fixture `store` giving an adapter on empty streams of the
system. Times are real: an adapter's clock must run.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta

from muster_eventstore.envelope import EventMeta, from_headers
from muster_eventstore.errors import PermanentError, StreamRegressed
from muster_eventstore.leases import HeldBy, Lease, Leases
from muster_eventstore.port import (
    NEW,
    Appended,
    Conflict,
    ConsumerSpec,
    Delivery,
    Draft,
    EventStore,
    Inbox,
    Start,
    StoredMessage,
)
from muster_eventstore.subjects import (
    TimerSubject,
    command_filter,
    command_subject,
    event_filter,
    event_subject,
    fired_filter,
)
from muster_eventstore.timers import SCHEDULE, TARGET, cancel_timer

GANG = event_subject("gangs", "c.1", "gang", "team/a")
OTHER = event_subject("gangs", "c.1", "gang", "team/b")
COMMANDS = (command_filter("claims"),)


def a_meta(id: str, **fields: str) -> EventMeta:
    """Metadata of a message of no interest but its id."""
    given = {"type": "t", "source": "/test", "subject": "s", "correlation_id": id, "causation_id": id, **fields}
    return EventMeta(id=id, time=datetime(2026, 1, 1, tzinfo=UTC), **given)


async def replay(store: EventStore, stream: str, subjects: Sequence[str] = (), after: int = 0) -> list[StoredMessage]:
    """Everything that is stored now."""
    found: list[StoredMessage] = []
    async with contextlib.aclosing(store.read(stream, subjects, after)) as chunks:
        async for chunk in chunks:
            found.extend(chunk.messages)
            if chunk.pending == 0:
                break
    return found


async def take(inbox: Inbox, count: int) -> list[Delivery]:
    """The next `count` deliveries."""
    taken: list[Delivery] = []
    async with asyncio.timeout(10):
        while len(taken) < count:
            taken.extend(await inbox.fetch(1.0))
    assert len(taken) == count, f"{len(taken)} deliveries where {count} were possible"
    return taken


async def ask(store: EventStore, key: str, kind: str = "BookGang") -> int:
    """A command on the work queue."""
    id = f"{kind}-{key}"
    return (await store.publish(command_subject("claims", "c1", kind, key), id.encode(), a_meta(id))).sequence


def keys(deliveries: Sequence[Delivery]) -> list[str]:
    """Last tokens of the subjects."""
    return [delivery.message.subject.rsplit(".", 1)[1] for delivery in deliveries]


async def eventually(condition: Callable[[], Awaitable[bool]], what: str) -> None:
    """Wait for a named condition."""
    try:
        async with asyncio.timeout(10):
            while not await condition():  # noqa: ASYNC110 -- what is waited for lies in the store
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"still not: {what}") from None


class AppendContract:
    """Optimistic concurrency per subject, exactly once per message id."""

    async def test_an_append_moves_its_subject_on(self, store: EventStore) -> None:
        first = await store.append(GANG, NEW, b"1", a_meta("a"))
        assert isinstance(first, Appended)
        second = await store.append(GANG, first.sequence, b"2", a_meta("b"))
        assert isinstance(second, Appended)
        assert second.sequence > first.sequence
        assert [message.data for message in await replay(store, "gangs")] == [b"1", b"2"]

    async def test_a_wrong_expectation_is_a_conflict_that_tells_the_last_sequence(self, store: EventStore) -> None:
        first = await store.append(GANG, NEW, b"1", a_meta("a"))
        assert isinstance(first, Appended)
        assert await store.append(GANG, NEW, b"2", a_meta("b")) == Conflict(first.sequence)
        assert await store.append(OTHER, first.sequence, b"3", a_meta("c")) == Conflict(0)
        assert len(await replay(store, "gangs")) == 1

    async def test_the_expectation_is_of_the_subject_and_not_of_the_stream(self, store: EventStore) -> None:
        assert isinstance(await store.append(GANG, NEW, b"1", a_meta("a")), Appended)
        assert isinstance(await store.append(OTHER, NEW, b"2", a_meta("b")), Appended)

    async def test_an_append_repeated_unchanged_is_stored_once(self, store: EventStore) -> None:
        first = await store.append(GANG, NEW, b"1", a_meta("a"))
        assert await store.append(GANG, NEW, b"1", a_meta("a")) == first
        assert len(await replay(store, "gangs")) == 1

    async def test_an_append_repeated_after_others_wrote_is_still_known(self, store: EventStore) -> None:
        first = await store.append(GANG, NEW, b"1", a_meta("a"))
        assert isinstance(first, Appended)
        second = await store.append(GANG, first.sequence, b"2", a_meta("b"))
        assert isinstance(second, Appended)
        await store.append(GANG, second.sequence, b"3", a_meta("c"))
        assert await store.append(GANG, NEW, b"1", a_meta("a")) == first
        assert await store.append(GANG, first.sequence, b"2", a_meta("b")) == second
        assert len(await replay(store, "gangs")) == 3

    async def test_of_racing_writers_exactly_one_wins(self, store: EventStore) -> None:
        answers = await asyncio.gather(*(store.append(GANG, NEW, b"", a_meta(f"w{i}")) for i in range(12)))
        assert sum(isinstance(answer, Appended) for answer in answers) == 1
        assert len(await replay(store, "gangs")) == 1

    async def test_metadata_and_headers_come_back(self, store: EventStore) -> None:
        meta = a_meta("a", subject='Gang "ü" 100%', correlation_id="story 1", traceparent="00-ab-cd-01")
        await store.append(GANG, NEW, b"\x00\xff", meta, {"muster-extra": "yes"})
        message = await store.last(GANG)
        assert message is not None
        assert from_headers(message.headers) == meta
        assert message.headers["muster-extra"] == "yes"
        assert (message.stream, message.subject, message.data) == ("gangs", GANG, b"\x00\xff")
        assert abs(datetime.now(UTC) - message.time) < timedelta(minutes=1)

    async def test_a_stream_that_does_not_exist_refuses(self, store: EventStore) -> None:
        try:
            async with asyncio.timeout(5):
                await store.last(event_subject("nowhere", "c1", "gang", "g"))
        except PermanentError as error:
            reason = error.reason
        else:
            reason = "accepted"
        assert reason == "NO_STREAM"

    async def test_a_publish_with_a_known_id_is_stored_once(self, store: EventStore) -> None:
        first = await store.publish(GANG, b"1", a_meta("a"))
        assert await store.publish(GANG, b"1", a_meta("a")) == first
        assert len(await replay(store, "gangs")) == 1

    async def test_facts_in_bulk_keep_their_order_and_only_the_newest_of_a_subject(self, store: EventStore) -> None:
        facts = [
            Draft(event_subject("observed", "c1", "Node", f"n{i % 700}"), str(i).encode(), a_meta(f"f{i}"))
            for i in range(1400)
        ]
        last = await store.publish_all(facts)
        kept = await replay(store, "observed")
        assert [message.data for message in kept] == [str(i).encode() for i in range(700, 1400)]
        assert kept[-1].sequence == last

    async def test_messages_are_found_and_removed_by_sequence_and_subject(self, store: EventStore) -> None:
        first = await store.publish(GANG, b"1", a_meta("a"))
        second = await store.publish(GANG, b"2", a_meta("b"))
        found = await store.get("gangs", first.sequence)
        assert found is not None
        assert found.data == b"1"
        await store.delete("gangs", first.sequence)
        await store.delete("gangs", first.sequence)
        assert await store.get("gangs", first.sequence) is None
        await store.purge(GANG)
        assert await store.last(GANG) is None
        assert (await store.state("gangs")).last_sequence == second.sequence


class ReadContract:
    """All messages, in order, resuming anywhere."""

    async def test_an_empty_stream_is_level_at_once(self, store: EventStore) -> None:
        assert await replay(store, "gangs") == []

    async def test_filters_and_positions_select(self, store: EventStore) -> None:
        for i in range(10):
            await store.publish(GANG if i % 2 else OTHER, str(i).encode(), a_meta(str(i)))
        every = await replay(store, "gangs", [event_filter("gangs", "c.1")])
        assert [message.data for message in every] == [str(i).encode() for i in range(10)]
        odd = await replay(store, "gangs", [GANG], every[4].sequence)
        assert [message.data for message in odd] == [b"5", b"7", b"9"]
        assert await replay(store, "gangs", [event_filter("gangs", "c2")]) == []

    async def test_a_reader_that_is_level_gets_what_is_stored_later(self, store: EventStore) -> None:
        await store.publish(GANG, b"0", a_meta("0"))
        seen: list[bytes] = []
        level = asyncio.Event()

        async def follow() -> None:
            async with contextlib.aclosing(store.read("gangs")) as chunks:
                async for chunk in chunks:
                    seen.extend(message.data for message in chunk.messages)
                    level.set()
                    if len(seen) == 300:
                        return

        follower = asyncio.create_task(follow())
        async with asyncio.timeout(20):
            await level.wait()
            for i in range(1, 300):
                await store.publish(GANG, str(i).encode(), a_meta(str(i)))
            await follower
        assert seen == [str(i).encode() for i in range(300)]

    async def test_a_position_beyond_the_end_is_an_error(self, store: EventStore) -> None:
        last = await store.publish(GANG, b"", a_meta("a"))
        try:
            await replay(store, "gangs", after=last.sequence + 1)
        except StreamRegressed:
            return
        raise AssertionError("a stream that lost messages was read as if nothing had happened")


class InboxContract:
    """Durable consumers of work queues and of event streams."""

    async def test_commands_come_in_order_and_an_answered_one_is_gone(self, store: EventStore) -> None:
        for key in "abc":
            await ask(store, key)
        inbox = await store.open_inbox(ConsumerSpec("commands", "claims", COMMANDS))
        deliveries = await take(inbox, 3)
        assert keys(deliveries) == ["a", "b", "c"]
        assert [delivery.attempt for delivery in deliveries] == [1, 1, 1]
        for delivery in deliveries[:2]:
            await delivery.ack()
        await deliveries[2].term()

        async def empty() -> bool:
            return (await store.state("commands")).messages == 0

        await eventually(empty, "the work queue is empty")
        await inbox.close()

    async def test_only_the_filtered_subjects_are_delivered(self, store: EventStore) -> None:
        await store.publish(command_subject("provisioner", "c1", "PlaceOrder", "o"), b"", a_meta("o"))
        await ask(store, "a")
        inbox = await store.open_inbox(ConsumerSpec("commands", "claims", COMMANDS))
        assert keys(await take(inbox, 1)) == ["a"]
        await inbox.close()

    async def test_a_restart_takes_back_what_was_not_answered_in_order(self, store: EventStore) -> None:
        for key in "abcd":
            await ask(store, key)
        spec = ConsumerSpec("commands", "claims", COMMANDS, ack_wait=60)
        crashed = await store.open_inbox(spec)
        deliveries = await take(crashed, 4)
        await deliveries[1].ack()

        async def three_left() -> bool:
            return (await store.state("commands")).messages == 3

        await eventually(three_left, "the acknowledged command is gone")
        await crashed.close()
        restarted = await store.open_inbox(spec)
        assert keys(await take(restarted, 3)) == ["a", "c", "d"]
        await restarted.close()

    async def test_a_message_not_answered_in_time_comes_again(self, store: EventStore) -> None:
        await ask(store, "a")
        inbox = await store.open_inbox(ConsumerSpec("commands", "claims", COMMANDS, Start.JOIN, ack_wait=0.5))
        await take(inbox, 1)
        (again,) = await take(inbox, 1)
        assert again.attempt == 2
        await again.ack()
        await inbox.close()

    async def test_work_in_progress_is_left_alone(self, store: EventStore) -> None:
        await ask(store, "a")
        inbox = await store.open_inbox(ConsumerSpec("commands", "claims", COMMANDS, Start.JOIN, ack_wait=0.5))
        (delivery,) = await take(inbox, 1)
        for _ in range(4):
            assert list(await inbox.fetch(0.25)) == []
            await delivery.in_progress()
        await delivery.ack()
        await inbox.close()

    async def test_a_message_handed_back_comes_again_at_once(self, store: EventStore) -> None:
        await ask(store, "a")
        inbox = await store.open_inbox(ConsumerSpec("commands", "claims", COMMANDS, ack_wait=60))
        (delivery,) = await take(inbox, 1)
        await delivery.nak()
        (again,) = await take(inbox, 1)
        await again.ack()
        await inbox.close()

    async def test_no_more_than_the_limit_is_open_at_once(self, store: EventStore) -> None:
        for key in "abcde":
            await ask(store, key)
        inbox = await store.open_inbox(ConsumerSpec("commands", "claims", COMMANDS, ack_wait=60, max_ack_pending=2))
        first = await take(inbox, 2)
        assert list(await inbox.fetch(0.2)) == []
        for delivery in first:
            await delivery.ack()
        assert keys(await take(inbox, 2)) == ["c", "d"]
        await inbox.close()

    async def test_a_durable_on_events_goes_on_where_it_was(self, store: EventStore) -> None:
        await store.publish(GANG, b"1", a_meta("1"))
        spec = ConsumerSpec("gangs", "reactor", (event_filter("gangs"),), Start.JOIN)
        inbox = await store.open_inbox(spec)
        (delivery,) = await take(inbox, 1)
        await delivery.ack()
        await inbox.close()
        await store.publish(GANG, b"2", a_meta("2"))
        inbox = await store.open_inbox(spec)
        (delivery,) = await take(inbox, 1)
        assert delivery.message.data == b"2"
        assert len(await replay(store, "gangs")) == 2
        await inbox.close()

    async def test_a_waiting_consumer_gets_a_message_as_soon_as_it_is_there(self, store: EventStore) -> None:
        inbox = await store.open_inbox(ConsumerSpec("commands", "claims", COMMANDS))
        waiting = asyncio.create_task(take(inbox, 1))
        await ask(store, "a")
        assert keys(await waiting) == ["a"]
        await inbox.close()


class TimeContract:
    """Scheduled messages and messages that expire."""

    async def _schedule(self, store: EventStore, timer: TimerSubject, due: datetime, id: str) -> None:
        at = due.isoformat(timespec="microseconds").replace("+00:00", "Z")
        headers = {SCHEDULE: f"@at {at}", TARGET: timer.fired}
        await store.publish(timer.scheduled, id.encode(), a_meta(id), headers)

    async def test_timers_fire_once_when_due_replaced_or_not_at_all_when_cancelled(self, store: EventStore) -> None:
        begin = datetime.now(UTC)
        replaced, kept, cancelled, past = (TimerSubject("gangs", "c1", "WakeGang", key) for key in "rkcp")
        await self._schedule(store, replaced, begin + timedelta(seconds=60), "old")
        await self._schedule(store, replaced, begin + timedelta(seconds=1.2), "new")
        await self._schedule(store, kept, begin + timedelta(seconds=0.6), "kept")
        await self._schedule(store, cancelled, begin + timedelta(seconds=0.9), "cancelled")
        await self._schedule(store, past, begin - timedelta(hours=1), "past")
        await cancel_timer(store, cancelled)
        inbox = await store.open_inbox(ConsumerSpec("timers", "timers", (fired_filter("gangs", "c1"),)))
        fired = [(await take(inbox, 1))[0] for _ in range(3)]
        assert [delivery.message.data for delivery in fired] == [b"past", b"kept", b"new"]
        assert [delivery.message.subject for delivery in fired] == [past.fired, kept.fired, replaced.fired]
        assert fired[1].message.time >= begin + timedelta(seconds=0.6)
        assert fired[2].message.time >= begin + timedelta(seconds=1.2)
        assert from_headers(fired[0].message.headers) == a_meta("past")
        for delivery in fired:
            await delivery.ack()
        assert list(await inbox.fetch(0.3)) == []
        await inbox.close()

    async def test_a_lease_has_one_holder_and_expires_unless_it_is_renewed(self, store: EventStore) -> None:
        one = Leases(store, "one", now=lambda: datetime.now(UTC), ttl=2)
        two = Leases(store, "two", now=lambda: datetime.now(UTC), ttl=2)
        first = await one.acquire("claims/c.1")
        assert isinstance(first, Lease)
        assert await two.acquire("claims/c.1") == HeldBy("one")
        acquired = datetime.now(UTC)

        async def half_over() -> bool:
            return datetime.now(UTC) - acquired > timedelta(seconds=0.9)

        await eventually(half_over, "half of its time is over")
        assert await one.renew(first)
        async with asyncio.timeout(6):
            second = await two.wait_acquire("claims/c.1")
        assert second.token > first.token
        assert not first.valid
        assert not await one.renew(first)

    async def test_a_released_lease_is_free_at_once(self, store: EventStore) -> None:
        one = Leases(store, "one", now=lambda: datetime.now(UTC), ttl=60)
        two = Leases(store, "two", now=lambda: datetime.now(UTC), ttl=60)
        async with one.held("claims/c1") as first:
            assert first.valid
        assert not first.valid
        second = await two.acquire("claims/c1")
        assert isinstance(second, Lease)
        assert second.token > first.token


class EventStoreContract(AppendContract, ReadContract, InboxContract, TimeContract):
    """Everything."""
