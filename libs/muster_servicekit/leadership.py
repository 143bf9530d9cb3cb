"""One writer for each cluster's subjects: a replica stands by until the lease is its own, and ends when it is lost.

The token of the lease goes with every event; the new holder's first events move each open subject on, so what a former
holder still tries to append is refused by the store (`CommandHandler.take_over`).
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import structlog

from muster_eventstore import CommandHandler, EventStore, Fenced, HeldBy, Lease, Leases, TransientError
from muster_servicekit.clock import Clock
from muster_servicekit.grpc import settings_tls, start_server
from muster_servicekit.process_owner import is_gone, own_name
from muster_servicekit.runtime import Runtime
from muster_servicekit.settings import ServiceSettings

log = structlog.get_logger("muster.lease")

C = TypeVar("C")
S = TypeVar("S")
E = TypeVar("E")
Read = Callable[[], Awaitable[int]]
_PAUSE = 0.05
_RELEASE = 1.0


class Leadership:
    """Held leases; `fence` is what a CommandHandler asks before it appends."""

    def __init__(self, leases: Sequence[Lease] = ()) -> None:
        self._leases = tuple(leases)
        self._written: list[tuple[Read, Callable[[], int]]] = []

    def fence(self) -> int:
        """The fencing token, which grows from holder to holder; 0 without leases."""
        return max((lease.token for lease in self._leases), default=0)

    async def wait_held(self) -> None:
        """Until every lease is known to be ours: for writers whose subjects no token guards.

        While the store is away a lease cannot be renewed; then nobody can write, nor take it.
        """
        while not all(lease.valid for lease in self._leases):  # noqa: ASYNC110 -- time alone makes a lease invalid
            await asyncio.sleep(_PAUSE)

    async def begin(self, handler: CommandHandler[C, S, E], read: Read, is_open: Callable[[S], bool]) -> None:
        """Fence what a former holder may still try to append. `read` folds what was appended since the last time."""
        if self._leases:
            self._written.append((read, lambda: handler.newest_token))
            await handler.take_over(is_open)

    async def nobody_wrote(self) -> bool:
        """Whether no later holder has appended. What we appended ourselves, and were never answered, counts for us."""
        own = max((lease.token for lease in self._leases), default=0)
        for read, newest in self._written:
            await read()
            if newest() > own:
                return False
        return True


ALONE = Leadership()
"""Of a process that is known to be the only one."""


async def take_leases(
    runtime: Runtime, settings: ServiceSettings, store: EventStore, clock: Clock, service: str
) -> Leadership:
    """The leases of all clusters of this process, as soon as nobody else holds one of them.

    Until then health is served and says NOT_SERVING. Afterwards they are renewed as a task of the runtime, whose end is
    the end of the process, and released at a stop.
    """
    if settings.lease_seconds == 0:
        return ALONE
    leases = Leases(store, own_name(service), now=clock.now, ttl=settings.lease_seconds, is_gone=is_gone)
    keys = [f"{service}/{cluster}" for cluster in sorted(set(settings.clusters))]
    held = await _at_once(leases, keys)
    if held is None:
        standby = await start_server(settings.grpc_listen, [], tls=settings_tls(settings))
        try:
            held = await _in_turn(leases, keys)
        finally:
            await standby.stop(0)

    leadership = Leadership(held)

    async def keep() -> None:
        keeping = [asyncio.create_task(_keep(leases, lease, leadership)) for lease in held]
        try:
            await asyncio.gather(*keeping)
        finally:
            for task in keeping:
                task.cancel()
            await asyncio.gather(*keeping, return_exceptions=True)

    async def release() -> None:
        # While the store is away nobody can be let in; the lease then runs out by itself.
        with contextlib.suppress(TimeoutError, TransientError):
            async with asyncio.timeout(_RELEASE):
                for lease in held:
                    if lease.valid:
                        await leases.release(lease)

    runtime.supervise("leases", keep)
    runtime.stack.push_async_callback(release)
    return leadership


async def _at_once(leases: Leases, keys: Sequence[str]) -> list[Lease] | None:
    """All of them, or none: a start without a rival, which needs no standing by."""
    held: list[Lease] = []
    for key in keys:
        answer = await leases.acquire(key)
        if isinstance(answer, HeldBy):
            for lease in held:
                await leases.release(lease)
            return None
        held.append(answer)
    return held


async def _in_turn(leases: Leases, keys: Sequence[str]) -> list[Lease]:
    """In the order of their keys, so that two processes never wait for one another; what is held is renewed."""
    held: list[Lease] = []
    keepers: list[asyncio.Task[None]] = []
    try:
        for key in keys:
            lease = await leases.wait_acquire(key)
            held.append(lease)
            keepers.append(asyncio.create_task(leases.keep(lease)))
        return held
    finally:
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)


async def _keep(leases: Leases, lease: Lease, leadership: Leadership) -> None:
    """Until somebody else holds it. While the store is away nobody can take it, nor can anybody write."""
    while True:
        await leases.keep(lease)
        answer = await leases.regain(lease)
        if answer is lease:
            continue
        if isinstance(answer, HeldBy) or not await leadership.nobody_wrote():
            raise Fenced(lease.key, lease.token, 0 if isinstance(answer, HeldBy) else answer.token)
        lease.token, lease.revision, lease.valid_until = answer.token, answer.revision, answer.valid_until
        log.info("lease regained, nobody has written meanwhile", lease=lease.key, token=lease.token)
