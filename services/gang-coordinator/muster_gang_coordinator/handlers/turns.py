"""Whose turn it is among the waiting gangs of a cluster."""

from collections.abc import Callable
from datetime import datetime

from muster_gang_coordinator.domain.fairness import Rank, floor_of, rank, whose_turn
from muster_gang_coordinator.domain.policy import SagaPolicy
from muster_gang_coordinator.domain.states import New, Waiting
from muster_gang_coordinator.handlers.desk import Desk
from muster_gang_coordinator.handlers.projections import GangsView
from muster_types import ClusterId, GangId


class Turns:
    """Asked before a gang is planned for the first time, or again without holding anything."""

    def __init__(self, desk: Desk, gangs: GangsView, policy: SagaPolicy, now: Callable[[], datetime]) -> None:
        self._desk = desk
        self._gangs = gangs
        self._policy = policy
        self._now = now

    def next(self, cluster: ClusterId) -> tuple[GangId, ...]:
        """The waiting gangs that may try now, in order."""
        return whose_turn(self._waiting(cluster), self._now(), self._policy.patience)

    def floor(self, cluster: ClusterId) -> GangId | None:
        """The gang that holds up all behind it, if there is one."""
        floor = self._floor(cluster)
        return None if floor is None else floor[2]

    def ahead_of(self, cluster: ClusterId, gang_id: GangId, priority: int) -> GangId | None:
        """The gang that is planned before this one, which may be new."""
        floor = self._floor(cluster)
        gang = self._desk.gang(cluster, gang_id)
        own: Rank = (-priority, self._now(), gang_id) if isinstance(gang, New) else rank(gang.saga)
        return floor[2] if floor is not None and floor < own else None

    def _floor(self, cluster: ClusterId) -> Rank | None:
        return floor_of(self._waiting(cluster), self._now(), self._policy.patience)

    def _waiting(self, cluster: ClusterId) -> list[Waiting]:
        """As they are now: the view may be a moment behind."""
        gangs = (self._desk.gang(cluster, each.saga.gang_id) for each in self._gangs.waiting(cluster))
        return [gang for gang in gangs if isinstance(gang, Waiting)]
