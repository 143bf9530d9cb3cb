"""Faults that the in-memory adapter can play."""

import asyncio

import pytest

from muster_eventstore import Appended, MemoryServer, MemoryStore, command_subject, event_subject
from muster_eventstore.memory import Lost, Step
from muster_eventstore.testing import a_meta, replay
from support.nats_server import now

GANG = event_subject("gangs", "c1", "gang", "g")


async def test_an_append_that_timed_out_after_it_was_stored_is_recognised() -> None:
    server = MemoryServer(now)
    struck: list[Step] = []

    async def hook(step: Step, subject: str) -> None:
        if step is Step.AFTER_APPEND and not struck:
            struck.append(step)
            raise Lost

    store = MemoryStore(server, hook)
    assert await store.append(GANG, 0, b"1", a_meta("a")) == Appended(1)
    assert struck
    assert len(await replay(MemoryStore(server), "gangs")) == 1


async def test_a_publish_whose_answer_was_lost_is_stored_once() -> None:
    server = MemoryServer(now)
    struck: list[Step] = []

    async def hook(step: Step, subject: str) -> None:
        if step is Step.AFTER_PUBLISH and len(struck) < 3:
            struck.append(step)
            raise Lost

    store = MemoryStore(server, hook)
    assert await store.publish(command_subject("claims", "c1", "k", "x"), b"", a_meta("a")) == Appended(1)
    assert (await store.state("commands")).messages == 1


@pytest.mark.parametrize(("step", "stored"), [(Step.BEFORE_APPEND, 0), (Step.AFTER_APPEND, 1)])
async def test_a_crash_of_the_caller_leaves_what_was_stored_until_then(step: Step, stored: int) -> None:
    class Crash(BaseException):
        pass

    server = MemoryServer(now)

    async def hook(at: Step, subject: str) -> None:
        await asyncio.sleep(0)
        if at is step:
            raise Crash

    with pytest.raises(Crash):
        await MemoryStore(server, hook).append(GANG, 0, b"1", a_meta("a"))
    assert len(await replay(MemoryStore(server), "gangs")) == stored


async def test_everything_stored_is_dumped_in_order() -> None:
    server = MemoryServer(now)
    store = MemoryStore(server)
    await store.publish(GANG, b"1", a_meta("a"))
    await store.publish(command_subject("claims", "c1", "k", "x"), b"2", a_meta("b"))
    assert [message.data for message in server.dump()] == [b"2", b"1"]
