"""Snapshots in Redis, shared by the replicas of a service; apart, because importing the client takes 0.4 s."""

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from muster_eventstore.snapshots import Snapshot, pack, unpack

log = structlog.get_logger("muster.snapshots")


class RedisSnapshots:
    """One key for each projection; Redis may be emptied or away at any moment."""

    def __init__(self, redis: Redis, prefix: str = "muster:snapshot:") -> None:
        self._redis = redis
        self._prefix = prefix

    async def load(self, name: str) -> Snapshot | None:
        try:
            blob = await self._redis.get(self._prefix + name)
        except (RedisError, OSError) as error:
            log.warning("snapshot not read", key=self._prefix + name, error=str(error))
            return None
        return unpack(blob) if isinstance(blob, bytes) else None

    async def save(self, name: str, snapshot: Snapshot) -> None:
        try:
            await self._redis.set(self._prefix + name, pack(snapshot))
        except (RedisError, OSError) as error:
            log.warning("snapshot not saved", key=self._prefix + name, error=str(error))
