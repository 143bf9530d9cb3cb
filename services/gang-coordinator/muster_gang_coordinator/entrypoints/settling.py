"""Deals with what the clusters show whenever there is news of them."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from muster_eventstore import TransientError
from muster_gang_coordinator.handlers.cluster_view import ClusterView
from muster_gang_coordinator.handlers.intake import Intake
from muster_gang_coordinator.handlers.onlooker import Onlooker
from muster_types import ClusterId

log = structlog.get_logger("muster.settling")
_PAUSE = 0.5
_LOOK_AGAIN = 10.0


class Settling:
    """`ready` waits until everything stored at the start was read."""

    def __init__(
        self,
        view: ClusterView,
        intake: Intake,
        onlooker: Onlooker,
        clusters: tuple[str, ...],
        ready: Callable[[], Awaitable[None]],
    ) -> None:
        self._view = view
        self._intake = intake
        self._onlooker = onlooker
        self._clusters = clusters
        self._ready = ready

    async def run(self) -> None:
        """Follow until cancelled."""
        await self._ready()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_AGAIN):
                    await self._view.news.wait()
            self._view.news.clear()
            for cluster in map(ClusterId, self._clusters):
                try:
                    done = await self._intake.settle(cluster)
                    await self._onlooker.saw(cluster, sorted(done))
                    await self._onlooker.look_again(cluster)
                except TransientError as error:
                    log.warning("observations will be dealt with again", error=str(error))
                    await asyncio.sleep(_PAUSE)
