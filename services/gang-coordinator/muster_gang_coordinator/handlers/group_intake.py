"""PodGroups that opted in: asks for their capacity, lets their pods go on when it is there, cancels when they go."""

from datetime import datetime, timedelta

import structlog

from muster_eventstore import Cause, derived_id
from muster_gang_coordinator.domain.commands import CancelGang
from muster_gang_coordinator.domain.details import reservation_taint
from muster_gang_coordinator.domain.groups import attempt_of, group_of_request, is_of_group, request_of_group
from muster_gang_coordinator.domain.observed import PartSeen, PodSeen
from muster_gang_coordinator.domain.states import Compensating, Consumed, Ready
from muster_gang_coordinator.handlers.cluster_view import ClusterView
from muster_gang_coordinator.handlers.desk import Desk
from muster_gang_coordinator.handlers.intake import Intake
from muster_gang_coordinator.handlers.projections import GangEntry, GangsView
from muster_gang_coordinator.ports import Clock, GroupPods, Groups
from muster_servicekit.errors import DomainError, Invalid
from muster_types import ClusterId, ObjectKey

log = structlog.get_logger("muster.groups")


class GroupIntake:
    """One open gang for each group at most. `gather`: how long no further pod of a group has come before it is asked
    for, since a job makes its pods one by one and may have more of them than its group needs."""

    def __init__(
        self,
        desk: Desk,
        gangs: GangsView,
        clusters: ClusterView,
        intake: Intake,
        groups: Groups,
        pods: GroupPods,
        clock: Clock,
        gather: timedelta,
    ) -> None:
        self._desk = desk
        self._gangs = gangs
        self._clusters = clusters
        self._intake = intake
        self._groups = groups
        self._pods = pods
        self._clock = clock
        self._gather = gather
        self._gathering: dict[tuple[ClusterId, ObjectKey], tuple[str, datetime]] = {}

    @property
    def gathering(self) -> bool:
        """Whether it has to look again soon, though nothing may change."""
        return bool(self._gathering)

    async def saw(self, cluster: ClusterId, keys: set[ObjectKey]) -> None:
        """Objects that have changed; an offer changes its group, whose conditions tell of it. Raises TransientError."""
        view = self._clusters.cluster(cluster)
        touched = {group for place, group in self._gathering if place == cluster}
        touched |= {key for key in keys if key.kind == "PodGroup"}
        for key in keys:
            pod = view.pods.get(key)
            if pod is not None and pod.group and not pod.request:
                touched.add(ObjectKey("PodGroup", key.namespace, pod.group))
        gone = {key.namespace for key in keys if key.kind == "Pod" and key not in view.pods}
        for entry in self._gangs.open(cluster) if gone else ():
            group = group_of_request(entry.gang.saga.spec.key, entry.gang.saga.spec.uid)
            if group is not None and group.namespace in gone:
                touched.add(group)
        for group in sorted(touched):
            await self._settle(cluster, group)

    async def _settle(self, cluster: ClusterId, group: ObjectKey) -> None:
        request = request_of_group(group.namespace, group.name)
        part = self._clusters.cluster(cluster).parts.get(group)
        asks = part is not None and self._groups.opted_in(part.json)
        pods = self._clusters.pods_of_group(cluster, group)
        serving = [
            entry
            for entry in self._gangs.serving(cluster, request)
            if group_of_request(request, entry.gang.saga.spec.uid)
        ]
        for entry in serving:
            same = part is not None and is_of_group(entry.gang.saga.spec.uid, part.uid)
            if isinstance(entry.gang, Compensating) or (asks and same and pods):
                continue
            cause = Cause.first(derived_id("group-gone", cluster, entry.gang_id))
            await self._desk.tell(cluster, entry.gang_id, CancelGang(_gone(group), self._clock.now()), cause)
        if serving or not asks:
            self._gathering.pop((cluster, group), None)
        if part is None or not asks:
            return
        if not serving:
            await self._ask(cluster, part, pods)
        last = self._gangs.last_of(cluster, request)
        if last is not None and isinstance(last.gang, Ready | Consumed):
            await self._let_go(cluster, last, pods)

    async def _ask(self, cluster: ClusterId, group: PartSeen, pods: list[PodSeen]) -> None:
        """For the pods that wait, once there are enough of them; what was asked for before is not asked for again."""
        least = self._groups.least(group.json)
        waiting = [pod for pod in pods if not pod.node]
        attempt = attempt_of(group.key, group.uid, least, (pod.uid for pod in pods))
        asked = self._gangs.by_request(cluster, attempt.request_id) is not None
        if len(pods) < least or not waiting or asked:
            self._gathering.pop((cluster, group.key), None)
            return
        if not self._are_all(cluster, group.key, attempt.request_id):
            return
        request, objects = self._groups.request(attempt, (pod.json for pod in waiting))
        try:
            taken = await self._intake.request(cluster, attempt.request_id, request, objects)
        except (Invalid, DomainError) as error:
            log.warning("capacity of a group is not asked for", group=str(group.key), reason=str(error))
            return
        log.info("capacity of a group is asked for", cluster=cluster, group=str(group.key), gang=taken.gang_id)

    def _are_all(self, cluster: ClusterId, group: ObjectKey, pods: str) -> bool:
        """Whether the pods have been the same for long enough."""
        now, place = self._clock.now(), (cluster, group)
        before, since = self._gathering.get(place, ("", now))
        if before == pods and now - since >= self._gather:
            del self._gathering[place]
            return True
        self._gathering[place] = (pods, since if before == pods else now)
        return False

    async def _let_go(self, cluster: ClusterId, entry: GangEntry, pods: list[PodSeen]) -> None:
        held = [pod.key for pod in pods if not pod.node and (pod.gated or isinstance(entry.gang, Ready))]
        if held:
            await self._pods.admit(cluster, reservation_taint(entry.gang_id), tuple(held))


def _gone(group: ObjectKey) -> str:
    return f"PodGroup {group.namespace}/{group.name} or its pods are gone, or it does not ask for capacity any more"
