"""Leases in the store's key-value bucket: who writes, until when, and which generation of writer it is.

A lease is one message with a time to live; its first sequence is the fencing token, which only grows. A holder that
cannot renew steps down a second before the store lets another one in.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

import structlog

from muster_eventstore import metrics
from muster_eventstore.envelope import EventMeta, derived_id
from muster_eventstore.port import Appended, EventStore, StoredMessage
from muster_eventstore.subjects import lease_subject

log = structlog.get_logger("muster.lease")

_TTL = "Nats-TTL"
_OPERATION = "KV-Operation"
_LEASE_TYPE = "muster.lease"
_ROUNDS = 5  # renewals of our own that may come in late, one after the other
_MARGIN = 1.0  # seconds before the store's expiry at which a holder steps down


@dataclass(frozen=True, slots=True)
class HeldBy:
    """Another one holds the lease."""

    owner: str


@dataclass(slots=True)
class Lease:
    """A lease of this process. `token` is the fencing token: later holders have greater ones."""

    key: str
    owner: str
    token: int
    revision: int
    valid_until: float

    @property
    def valid(self) -> bool:
        """Whether this process may still act under it, by the event loop's clock."""
        return asyncio.get_running_loop().time() < self.valid_until


class Leases:
    """Acquires, renews and releases leases. `owner` is unique to this process; `ttl` is whole seconds, at least 2.

    `is_gone` may know that another owner has ended without a release: its lease is then free at once.
    """

    def __init__(
        self,
        store: EventStore,
        owner: str,
        *,
        now: Callable[[], datetime],
        ttl: int = 5,
        is_gone: Callable[[str], bool] = lambda _: False,
    ) -> None:
        if ttl < 2:
            raise ValueError(f"a lease lives whole seconds, at least 2, not {ttl}")
        self._store = store
        self._owner = owner
        self._now = now
        self._ttl = ttl
        self._is_gone = is_gone
        self._attempts = 0

    async def acquire(self, key: str) -> Lease | HeldBy:
        """The lease, or who has it."""
        last = await self._store.last(lease_subject(key))
        holder = _holder(last)
        if holder is not None and not self._is_gone(holder):
            return HeldBy(holder)
        expected = 0 if last is None else last.sequence
        began = asyncio.get_running_loop().time()
        answer = await self._write(key, expected)
        if answer is None:
            return HeldBy(_holder(await self._store.last(lease_subject(key))) or "another process")
        return Lease(key, self._owner, answer, answer, began + self._ttl - _MARGIN)

    async def renew(self, lease: Lease) -> bool:
        """Hold it for another `ttl` seconds; False when it was lost."""
        began = asyncio.get_running_loop().time()
        answer = await self._write(lease.key, lease.revision)
        if answer is None:
            lease.valid_until = 0.0
            return False
        lease.revision = answer
        lease.valid_until = began + self._ttl - _MARGIN
        return True

    async def regain(self, lease: Lease) -> Lease | HeldBy:
        """After `keep` has given up: the same lease where it stands, a new one where it ran out, or its holder."""
        for _ in range(_ROUNDS):
            last = await self._store.last(lease_subject(lease.key))
            if last is None or _holder(last) != self._owner:
                break
            # Perhaps of a renewal whose answer was lost; another one may still be on its way from before an outage.
            lease.revision = last.sequence
            if await self.renew(lease):
                return lease
        return await self.acquire(lease.key)

    async def release(self, lease: Lease) -> None:
        """Let the next one in at once."""
        lease.valid_until = 0.0
        await self._append(lease.key, lease.revision, b"", {_OPERATION: "DEL"})

    async def wait_acquire(self, key: str) -> Lease:
        """Wait until the lease is free and take it."""
        waiting_for = ""
        while True:
            answer = await self.acquire(key)
            if isinstance(answer, Lease):
                log.info("lease acquired", lease=key, owner=self._owner, token=answer.token)
                return answer
            if answer.owner != waiting_for:
                waiting_for = answer.owner
                log.info("lease is held, standing by", lease=key, holder=answer.owner)
            await asyncio.sleep(self._ttl / 4)

    async def keep(self, lease: Lease) -> None:
        """Renew until the lease is lost, then return; whoever acts under it must look at `valid` before each act."""
        while lease.valid:
            await asyncio.sleep(self._ttl / 3)
            try:
                async with asyncio.timeout_at(lease.valid_until):
                    if not await self.renew(lease):
                        break
            except TimeoutError:
                break
        lease.valid_until = 0.0
        metrics.LEASES_LOST.labels(lease.key.split("/", 1)[0]).inc()
        log.warning("lease lost", lease=lease.key, owner=self._owner, token=lease.token)

    @asynccontextmanager
    async def held(self, key: str) -> AsyncGenerator[Lease, None]:
        """Wait for the lease and renew it in the background; released at the end unless it was lost before."""
        lease = await self.wait_acquire(key)
        keeper = asyncio.create_task(self.keep(lease))
        try:
            yield lease
        finally:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)
            if lease.valid:
                await self.release(lease)

    async def _write(self, key: str, expected: int) -> int | None:
        return await self._append(key, expected, self._owner.encode(), {_TTL: str(self._ttl)})

    async def _append(self, key: str, expected: int, value: bytes, headers: dict[str, str]) -> int | None:
        self._attempts += 1
        subject = lease_subject(key)
        id = derived_id(self._owner, key, expected, self._attempts)
        meta = EventMeta(id, _LEASE_TYPE, f"/muster/lease/{self._owner}", key, self._now(), id, id)
        answer = await self._store.append(subject, expected, value, meta, headers)
        return answer.sequence if isinstance(answer, Appended) else None


def _holder(last: StoredMessage | None) -> str | None:
    """Whose lease a message is; None for an absent, released or expired one."""
    if last is None or last.headers.get(_OPERATION) or last.headers.get("Nats-Marker-Reason"):
        return None
    return last.data.decode(errors="replace") or None
