"""Waiting gangs try again when something changed that could help them, in a fair order."""

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime

import structlog

from muster_eventstore import Cause, TransientError, derived_id
from muster_gang_coordinator.domain.commands import RetryGang
from muster_gang_coordinator.domain.events import GangWaits, PlanningStarted
from muster_gang_coordinator.domain.states import Planning, Waiting
from muster_gang_coordinator.handlers.desk import Desk
from muster_gang_coordinator.handlers.projections import Step
from muster_gang_coordinator.handlers.turns import Turns
from muster_gang_coordinator.ports import Clock
from muster_types import ClusterId, GangId

log = structlog.get_logger("muster.retries")


class RetryRounds:
    """One round per helpful change, several changes within `settle_seconds` taken together.

    A change that comes while a gang is being planned is not lost on it: a round follows when it then has to wait.
    """

    def __init__(
        self, desk: Desk, turns: Turns, clusters: Iterable[str], clock: Clock, *, settle_seconds: float
    ) -> None:
        self._desk = desk
        self._turns = turns
        self._floors: dict[ClusterId, GangId] = {}
        self._clock = clock
        self._settle = settle_seconds
        self._news = asyncio.Event()
        self._causes: dict[ClusterId, str] = {ClusterId(c): "the coordinator has started" for c in clusters}
        self._changes: dict[ClusterId, int] = {}
        self._planned_at: dict[tuple[ClusterId, GangId], int] = {}
        self._news.set()
        self._running = False

    @property
    def pending(self) -> bool:
        """A round is to come, or runs."""
        return self._running or self._news.is_set()

    def changed(self, cluster: ClusterId, cause: str) -> None:
        """Something happened that could help a waiting gang."""
        self._changes[cluster] = self._changes.get(cluster, 0) + 1
        self._causes[cluster] = cause
        self._news.set()

    def saw(self, step: Step) -> None:
        """An event of a gang."""
        cluster, key = step.entry.cluster, (step.entry.cluster, step.entry.gang_id)
        match step.event:
            case PlanningStarted():
                self._planned_at[key] = self._changes.get(cluster, 0)
            case GangWaits() if self._changes.get(cluster, 0) != self._planned_at.get(key, 0):
                self._causes.setdefault(cluster, "the cluster changed while the gang was planned")
                self._news.set()
            case _:
                if step.entry.over:
                    self._planned_at.pop(key, None)
        held_up = self._floors.get(cluster) == step.entry.gang_id
        if held_up and not isinstance(step.entry.gang, Waiting | Planning):
            del self._floors[cluster]
            self.changed(cluster, f"gang {step.entry.gang_id} has had its turn")

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            await self._news.wait()
            await self._clock.sleep(self._settle)
            self._news.clear()
            self._running = True
            causes, self._causes = self._causes, {}
            for cluster, cause in sorted(causes.items()):
                await self._round(cluster, cause, self._clock.now)
            self._running = False

    async def _round(self, cluster: ClusterId, cause: str, now: Callable[[], datetime]) -> None:
        floor = self._turns.floor(cluster)
        if floor is not None:
            self._floors[cluster] = floor
        for gang_id in self._turns.next(cluster):
            gang = self._desk.gang(cluster, gang_id)
            if not isinstance(gang, Waiting):
                continue
            first = Cause.first(derived_id("retry", cluster, gang_id, gang.saga.attempt))
            try:
                await self._desk.tell(cluster, gang_id, RetryGang(cause, now()), first)
            except TransientError as error:
                log.warning("retry of a waiting gang comes later", gang=gang_id, error=str(error))
                self._causes.setdefault(cluster, cause)
                self._news.set()
                return
