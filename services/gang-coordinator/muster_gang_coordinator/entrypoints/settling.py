"""Deals with what the clusters show whenever there is news of them."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from muster_eventstore import TransientError
from muster_gang_coordinator.handlers.cluster_view import ClusterView
from muster_gang_coordinator.handlers.intake import Intake
from muster_types import ClusterId

log = structlog.get_logger("muster.settling")
_PAUSE = 0.5


class Settling:
    """`ready` waits until everything stored at the start was read."""

    def __init__(
        self, view: ClusterView, intake: Intake, clusters: tuple[str, ...], ready: Callable[[], Awaitable[None]]
    ) -> None:
        self._view = view
        self._intake = intake
        self._clusters = clusters
        self._ready = ready

    async def run(self) -> None:
        """Follow until cancelled."""
        await self._ready()
        while True:
            await self._view.news.wait()
            self._view.news.clear()
            for cluster in self._clusters:
                try:
                    await self._intake.settle(ClusterId(cluster))
                except TransientError as error:
                    log.warning("observations will be dealt with again", error=str(error))
                    await asyncio.sleep(_PAUSE)
