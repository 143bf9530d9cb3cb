"""Keeping and losing a lease; the contract suite has the rest."""

import asyncio
from datetime import timedelta

import pytest

from muster_eventstore import HeldBy, Lease, Leases, MemoryServer, MemoryStore
from muster_eventstore.memory import Lost, Step
from muster_eventstore.subjects import lease_subject
from muster_eventstore.testing import a_meta
from support.nats_server import now, wait_until


async def test_a_kept_lease_outlives_its_time_and_its_token_stays() -> None:
    store = MemoryStore(MemoryServer(now))
    async with Leases(store, "one", now=now, ttl=2).held("claims/c1") as lease:
        token = lease.token
        begin = now()
        await wait_until(lambda: now() - begin > timedelta(seconds=2.2), "its first time to live is over")
        assert lease.valid
        assert lease.token == token
        assert lease.revision > token


async def test_a_holder_whose_lease_was_overwritten_steps_down() -> None:
    store = MemoryStore(MemoryServer(now))
    leases = Leases(store, "one", now=now, ttl=2)
    lease = await leases.wait_acquire("claims/c1")
    await store.append(lease_subject("claims/c1"), lease.revision, b"two", a_meta("x"))
    async with asyncio.timeout(2):
        await leases.keep(lease)
    assert not lease.valid


async def test_a_holder_that_cannot_reach_the_store_steps_down_before_the_store_lets_another_in() -> None:
    server = MemoryServer(now)
    away = False

    async def hook(step: Step, subject: str) -> None:
        if away:
            raise Lost

    leases = Leases(MemoryStore(server, hook), "one", now=now, ttl=2)
    lease = await leases.wait_acquire("claims/c1")
    away = True
    async with asyncio.timeout(5):
        await leases.keep(lease)
    assert not lease.valid
    assert not isinstance(await Leases(MemoryStore(server), "two", now=now).acquire("claims/c1"), Lease)


async def test_a_lease_that_was_given_up_too_early_is_the_same_one_again() -> None:
    leases = Leases(MemoryStore(MemoryServer(now)), "one", now=now, ttl=5)
    lease = await leases.wait_acquire("claims/c1")
    token, lease.valid_until = lease.token, 0.0
    assert not lease.valid
    assert await leases.regain(lease) is lease
    assert (lease.valid, lease.token) == (True, token)


async def test_a_renewal_of_our_own_that_comes_in_late_does_not_lose_the_lease() -> None:
    server = MemoryServer(now)
    late = MemoryStore(server)
    armed: list[int] = []

    async def hook(step: Step, subject: str) -> None:
        if step is Step.BEFORE_APPEND and armed:
            await late.append(subject, armed.pop(), b"one", a_meta("late"))

    leases = Leases(MemoryStore(server, hook), "one", now=now, ttl=5)
    lease = await leases.wait_acquire("claims/c1")
    lease.valid_until = 0.0
    armed.append(lease.revision)
    assert await leases.regain(lease) is lease
    assert (lease.valid, armed) == (True, [])


async def test_a_lease_that_ran_out_comes_back_as_a_new_one_unless_another_has_it() -> None:
    server = MemoryServer(now)
    one, two = (Leases(MemoryStore(server), name, now=now, ttl=2) for name in ("one", "two"))
    lease = await one.wait_acquire("claims/c1")
    await one.release(lease)
    again = await one.regain(lease)
    assert isinstance(again, Lease)
    assert again.token > lease.token
    await one.release(again)
    await two.wait_acquire("claims/c1")
    assert await one.regain(again) == HeldBy("two")


async def test_the_lease_of_an_owner_that_is_gone_is_free_at_once() -> None:
    server = MemoryServer(now)
    await Leases(MemoryStore(server), "one", now=now).wait_acquire("claims/c1")
    assert await Leases(MemoryStore(server), "two", now=now).acquire("claims/c1") == HeldBy("one")
    heir = Leases(MemoryStore(server), "two", now=now, is_gone=lambda owner: owner == "one")
    assert isinstance(await heir.acquire("claims/c1"), Lease)


def test_a_time_to_live_is_at_least_two_whole_seconds() -> None:
    with pytest.raises(ValueError, match="at least 2, not 1"):
        Leases(MemoryStore(MemoryServer(now)), "one", now=now, ttl=1)
