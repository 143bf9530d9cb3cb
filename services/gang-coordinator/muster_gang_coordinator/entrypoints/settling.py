"""Deals with what the clusters show whenever there is news of them."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from muster_eventstore import TransientError
from muster_gang_coordinator.handlers.cluster_view import ClusterView
from muster_gang_coordinator.handlers.group_intake import GroupIntake
from muster_gang_coordinator.handlers.intake import Intake
from muster_gang_coordinator.handlers.onlooker import Onlooker
from muster_types import ClusterId, ObjectKey

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
        groups: GroupIntake | None,
        clusters: tuple[str, ...],
        ready: Callable[[], Awaitable[None]],
    ) -> None:
        self._view = view
        self._intake = intake
        self._onlooker = onlooker
        self._groups = groups
        self._clusters = clusters
        self._ready = ready
        self._left: dict[ClusterId, set[ObjectKey]] = {}

    async def run(self) -> None:
        """Follow until cancelled."""
        await self._ready()
        while True:
            with suppress(TimeoutError):
                gathering = self._groups is not None and self._groups.gathering
                async with asyncio.timeout(_PAUSE if gathering else _LOOK_AGAIN):
                    await self._view.news.wait()
            self._view.news.clear()
            for cluster in map(ClusterId, self._clusters):
                try:
                    await self._settle(cluster)
                except TransientError as error:
                    log.warning("observations will be dealt with again", error=str(error))
                    await asyncio.sleep(_PAUSE)

    async def _settle(self, cluster: ClusterId) -> None:
        changed = self._left.pop(cluster, set[ObjectKey]()) | await self._intake.settle(cluster)
        try:
            if self._groups is not None:
                await self._groups.saw(cluster, changed)
            await self._onlooker.saw(cluster, sorted(changed))
            await self._onlooker.look_again(cluster)
        except TransientError:
            self._left[cluster] = changed
            self._view.news.set()
            raise
