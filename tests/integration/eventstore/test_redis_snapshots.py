"""Snapshots in Redis: shared by replicas, and dispensable."""

from redis.asyncio import Redis

from muster_eventstore.redis_snapshots import RedisSnapshots
from muster_eventstore.snapshots import Snapshot

SNAPSHOT = Snapshot("claims", "2026", 7, 3, bytes(range(256)) * 100)


async def test_a_snapshot_is_read_back_and_an_emptied_server_has_none(redis_url: str) -> None:
    async with Redis.from_url(redis_url) as redis:
        store = RedisSnapshots(redis, prefix="test:")
        assert await store.load("ledger") is None
        await store.save("ledger", SNAPSHOT)
        assert await store.load("ledger") == SNAPSHOT
        await redis.set("test:ledger", b"something else")
        assert await store.load("ledger") is None
        await redis.flushdb()
        assert await store.load("ledger") is None


async def test_a_server_that_is_away_costs_nothing_but_the_snapshot() -> None:
    async with Redis.from_url("redis://127.0.0.1:1") as redis:
        store = RedisSnapshots(redis)
        await store.save("ledger", SNAPSHOT)
        assert await store.load("ledger") is None
