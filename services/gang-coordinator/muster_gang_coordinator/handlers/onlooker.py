"""Sees what is odd about requests and their pods, and says so once; nothing of it changes a gang's way."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from fnmatch import fnmatchcase

import structlog
from prometheus_client import Counter

from muster_eventstore import PermanentError, TransientError
from muster_gang_coordinator.domain.notices import (
    About,
    Notice,
    gang_api_disabled,
    group_without_pods,
    orphan_consumer,
    parameters_changed,
    template_drift,
    unmarked_consumer,
)
from muster_gang_coordinator.domain.observed import PodSeen
from muster_gang_coordinator.domain.states import Received
from muster_gang_coordinator.handlers.cluster_view import ClusterView
from muster_gang_coordinator.handlers.projections import GangEntry, GangsView
from muster_gang_coordinator.ports import Notices, Templates
from muster_types import ClusterId, ObjectKey

log = structlog.get_logger("muster.notices")
_NOTICES = Counter("muster_notices_total", "Notices about requests and their pods", ("cluster", "code"))
_REMEMBERED = 10_000


class Onlooker:
    """`grace`: how long a pod may be there before the request that it names."""

    def __init__(
        self,
        gangs: GangsView,
        clusters: ClusterView,
        templates: Templates,
        notices: Notices,
        classes: tuple[str, ...],
        now: Callable[[], datetime],
        grace: timedelta,
    ) -> None:
        self._gangs = gangs
        self._clusters = clusters
        self._templates = templates
        self._notices = notices
        self._classes = classes
        self._now = now
        self._grace = grace
        self._lonely: dict[tuple[ClusterId, ObjectKey], datetime] = {}
        self._told: set[tuple[ClusterId, Notice]] = set()

    async def saw(self, cluster: ClusterId, keys: Iterable[ObjectKey]) -> None:
        """Objects that have changed."""
        for key in keys:
            for notice in self._odd(cluster, key):
                await self._tell(cluster, notice)

    async def look_again(self, cluster: ClusterId) -> None:
        """Consumers whose request has not come, and groups whose pods have not."""
        now = self._now()
        for place, since in sorted(self._lonely.items()):
            if place[0] != cluster:
                continue
            notice = self._lonely_notice(cluster, place[1])
            if notice is None or now - since >= self._grace:
                del self._lonely[place]
            if notice is not None and now - since >= self._grace:
                await self._tell(cluster, notice)

    def _odd(self, cluster: ClusterId, key: ObjectKey) -> list[Notice]:
        view = self._clusters.cluster(cluster)
        match key.kind:
            case "PodTemplate" | "ResourceClaimTemplate":
                shown = view.parts.get(key)
                return [] if shown is None else self._drifts(cluster, key, shown.json)
            case "ProvisioningRequest":
                seen = view.requests.get(key)
                entry = None if seen is None else self._gangs.by_uid(cluster, seen.uid)
                if seen is None or entry is None or entry.over:
                    return []
                return [*self._changed(entry, seen.json), *self._unmarked(cluster, entry)]
            case "PodGroup":
                if self._is_empty(cluster, key):
                    self._lonely.setdefault((cluster, key), self._now())
                return []
            case "Pod":
                pod = view.pods.get(key)
                return [] if pod is None else self._of_pod(cluster, pod)
            case _:
                return []

    def _changed(self, entry: GangEntry, shown: bytes) -> list[Notice]:
        changed = self._from_cluster(entry) and self._templates.parameters_changed(entry.gang.saga.spec, shown)
        return [parameters_changed(_about(entry))] if changed else []

    def _unmarked(self, cluster: ClusterId, entry: GangEntry) -> list[Notice]:
        """Pods that were there before the request was dealt with."""
        spec = entry.gang.saga.spec
        looks = self._templates.looks(spec)
        pods = (pod for pod in self._clusters.cluster(cluster).pods.values() if pod.key.namespace == spec.namespace)
        alike = sorted((pod for pod in pods if not pod.request and pod.look in looks), key=lambda pod: pod.key)
        return [unmarked_consumer(About(pod.key, pod.uid), spec.name) for pod in alike if not pod.group]

    def _drifts(self, cluster: ClusterId, key: ObjectKey, shown: bytes) -> list[Notice]:
        return [
            template_drift(_about(entry), key)
            for entry in self._gangs.open(cluster)
            if self._from_cluster(entry)
            and not isinstance(entry.gang, Received)
            and entry.gang.saga.spec.namespace == key.namespace
            and self._templates.drifted(entry.gang.saga.spec, key, shown)
        ]

    def _of_pod(self, cluster: ClusterId, pod: PodSeen) -> list[Notice]:
        about = About(pod.key, pod.uid)
        if not pod.request:
            kin = [] if pod.group else self._gangs.alike(cluster, pod.key.namespace, self._templates, pod.look)
            return [unmarked_consumer(about, entry.gang.saga.spec.name) for entry in kin]
        if self._is_lonely(cluster, pod):
            self._lonely.setdefault((cluster, pod.key), self._now())
            return []
        request = ObjectKey("ProvisioningRequest", pod.key.namespace, pod.request)
        groups = [self._templates.group_of(entry.gang.saga.spec) for entry in self._gangs.serving(cluster, request)]
        return [gang_api_disabled(about, group) for group in groups if group and not pod.group]

    def _lonely_notice(self, cluster: ClusterId, key: ObjectKey) -> Notice | None:
        view = self._clusters.cluster(cluster)
        if key.kind == "PodGroup":
            group = view.parts.get(key)
            alone = group is not None and self._is_empty(cluster, key)
            return group_without_pods(About(key, group.uid)) if group is not None and alone else None
        pod = view.pods.get(key)
        if pod is None or not self._is_lonely(cluster, pod):
            return None
        return orphan_consumer(About(pod.key, pod.uid), pod.request)

    def _is_empty(self, cluster: ClusterId, key: ObjectKey) -> bool:
        """A group that asks for its capacity, and that no pod is of."""
        group = self._clusters.cluster(cluster).parts.get(key)
        asks = group is not None and self._templates.opted_in(group.json)
        return asks and not self._clusters.pods_of_group(cluster, key)

    def _is_lonely(self, cluster: ClusterId, pod: PodSeen) -> bool:
        ours = not pod.class_name or any(fnmatchcase(pod.class_name, each) for each in self._classes)
        key = ObjectKey("ProvisioningRequest", pod.key.namespace, pod.request)
        known = key in self._clusters.cluster(cluster).requests or bool(self._gangs.serving(cluster, key))
        return ours and not pod.node and not known

    @staticmethod
    def _from_cluster(entry: GangEntry) -> bool:
        """What somebody handed in over gRPC may differ from what the API server has made of it."""
        return entry.gang.saga.request_id == entry.gang.saga.spec.uid

    async def _tell(self, cluster: ClusterId, notice: Notice) -> None:
        if (cluster, notice) in self._told:
            return
        if len(self._told) >= _REMEMBERED:
            self._told.clear()  # some are told again then, which does no harm
        self._told.add((cluster, notice))
        _NOTICES.labels(cluster, notice.code.value).inc()
        log.warning(
            "notice", cluster=cluster, code=notice.code.value, object=str(notice.about.key), reason=notice.sentence
        )
        try:
            await self._notices.tell(cluster, notice)
        except (TransientError, PermanentError) as error:
            log.warning("a notice is not in the cluster", cluster=cluster, reason=str(error))


def _about(entry: GangEntry) -> About:
    spec = entry.gang.saga.spec
    return About(spec.key, spec.uid)
