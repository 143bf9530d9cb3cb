"""Requests come in: over gRPC, and as ProvisioningRequests that the cluster shows or no longer shows."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase

import structlog

from muster_eventstore import Cause, derived_id
from muster_gang_coordinator.domain.commands import (
    CancelGang,
    RecordDrift,
    RecordMemberBind,
    RecordMemberLoss,
    RequestGang,
)
from muster_gang_coordinator.domain.groups import request_of_group
from muster_gang_coordinator.domain.observed import PodSeen, RequestSeen
from muster_gang_coordinator.domain.plans import existing_nodes
from muster_gang_coordinator.domain.requests import GangSpec, gang_id_of, plan_intake
from muster_gang_coordinator.domain.requests import Intake as Choice
from muster_gang_coordinator.domain.states import Compensating, Ended, Held, Ready, Received
from muster_gang_coordinator.handlers.cluster_view import ClusterView
from muster_gang_coordinator.handlers.desk import Desk
from muster_gang_coordinator.handlers.projections import GangEntry, GangsView
from muster_gang_coordinator.handlers.turns import Turns
from muster_gang_coordinator.ports import Lookup, Specs, Templates
from muster_servicekit.errors import DomainError, Invalid
from muster_types import ClusterId, GangId, ObjectKey

_TEMPLATES = frozenset({"PodTemplate", "ResourceClaimTemplate"})
log = structlog.get_logger("muster.intake")


@dataclass(frozen=True, slots=True)
class Taken:
    """The gang that serves a request, and the stream sequence that shows it."""

    gang_id: GangId
    sequence: int


class Intake:
    """`classes` are patterns of provisioning class names that are ours, such as `atomic.muster.dev`."""

    def __init__(
        self,
        desk: Desk,
        gangs: GangsView,
        clusters: ClusterView,
        turns: Turns,
        specs: Specs,
        templates: Templates,
        classes: tuple[str, ...],
        now: Callable[[], datetime],
        level: Callable[[], Awaitable[None]],
    ) -> None:
        """`level` waits until `gangs` shows everything that `desk` has recorded."""
        self._desk = desk
        self._gangs = gangs
        self._clusters = clusters
        self._turns = turns
        self._specs = specs
        self._templates = templates
        self._classes = classes
        self._now = now
        self._level = level

    async def request(
        self, cluster: ClusterId, request_id: str, request_json: bytes, objects_json: tuple[bytes, ...]
    ) -> Taken:
        """A request over gRPC; the same request_id again gives the same gang. Raises Invalid, GangAlreadyRequested."""
        if not request_id:
            raise Invalid("request_id: it is empty; give each request an id of its own, to be used again on a retry")
        key = self._specs.key_of(request_json)
        await self._level()
        lookup = self._specs.with_objects(objects_json, lambda k: self._clusters.part(cluster, k), key.namespace)
        earlier = self._gangs.by_request(cluster, request_id)
        uid = earlier.gang.saga.spec.uid if earlier is not None else self._uid(cluster, request_id, key, request_json)
        spec = self._specs.read(request_json, uid, lookup)
        if not self._is_ours(spec_class := self._specs.class_of(request_json)):
            raise Invalid(
                f"{key}: spec.provisioningClassName is {spec_class!r}, which is not Muster's; "
                f"write {self._classes[0]!r}"
            )
        if spec.defects:
            raise Invalid(spec.defects[0].sentence)
        cause = Cause.first(derived_id("request", cluster, request_id, spec.content_hash))
        if earlier is not None:  # a repeat stays with its gang: that may be over, and a later attempt at work
            return await self._hand_in(cluster, Choice(earlier.gang_id), spec, request_id, cause)
        fresh = gang_id_of(cluster, key.namespace, key.name, uid)
        return await self._take(cluster, fresh, spec, request_id, cause)

    async def settle(self, cluster: ClusterId) -> set[ObjectKey]:
        """Deal with everything that changed in a cluster, and tell what did. What was dealt with before decides nothing
        again."""
        changes = self._clusters.take_changes(cluster)
        done: set[ObjectKey] = set()
        try:
            for key, cause in changes.items():
                await self._level()
                try:
                    await self._settle_one(cluster, key, cause)
                except DomainError as error:
                    log.warning("observation refused", object=str(key), reason=error.reason, detail=str(error))
                done.add(key)
        finally:
            left = {key: cause for key, cause in changes.items() if key not in done}
            if left:
                self._clusters.put_back(cluster, left)
        return done

    async def bind_members(self, cluster: ClusterId, entry: GangEntry, cause: Cause) -> None:
        """Tell a gang of the pods that are bound already."""
        for pod in self._clusters.bound_pods(cluster, entry.gang.saga.spec.key, entry.gang.saga.spec.uid):
            await self._bind(cluster, entry, pod, cause)

    async def _settle_one(self, cluster: ClusterId, key: ObjectKey, cause: Cause) -> None:
        match key.kind:
            case "ProvisioningRequest":
                await self._settle_request(cluster, key, cause)
            case "Pod":
                pod = self._clusters.cluster(cluster).pods.get(key)
                if pod is None or not pod.node:
                    await self._lose(cluster, key, cause)
                else:
                    for entry in self._joined(cluster, pod):
                        await self._bind(cluster, entry, pod, cause)
            case _:
                for entry in self._gangs.incomplete(cluster, key.namespace):
                    await self._read_again(cluster, entry, cause)
                if key.kind in _TEMPLATES:
                    await self._compare(cluster, key, cause)

    def _joined(self, cluster: ClusterId, pod: PodSeen) -> list[GangEntry]:
        """The gangs of which a bound pod is a member: those that it names; without a name those whose pods look like it
        and whose capacity it uses, for Kueue marks only the first of merged pod sets (N-2.4, T32)."""
        if pod.request:
            return self._gangs.serving(cluster, ObjectKey("ProvisioningRequest", pod.key.namespace, pod.request))
        if pod.group:
            of_group = self._gangs.serving(cluster, request_of_group(pod.key.namespace, pod.group))
            if of_group:
                return of_group
        alike = self._gangs.alike(cluster, pod.key.namespace, self._templates, pod.look)
        return [e for e in alike if isinstance(e.gang, Ready) and pod.node in existing_nodes(e.gang.placements)]

    async def _settle_request(self, cluster: ClusterId, key: ObjectKey, cause: Cause) -> None:
        seen = self._clusters.cluster(cluster).requests.get(key)
        for entry in self._gangs.serving(cluster, key):
            spec = entry.gang.saga.spec
            if seen is not None and seen.uid == spec.uid and not seen.leaving:
                continue
            shown = self._clusters.cluster(cluster).known_uids
            if seen is None and entry.gang.saga.request_id != spec.uid and spec.uid not in shown:
                continue  # asked for over gRPC and not yet shown by the cluster
            why = f"ProvisioningRequest {key.namespace}/{key.name} was deleted"
            command = CancelGang(why, self._now(), spec.uid, successor=True)
            await self._desk.tell(cluster, entry.gang_id, command, cause.step("cancel"))
            await self._take_overtaken(cluster, entry, cause)
        if seen is None or seen.leaving or not self._is_ours(seen.class_name):
            return
        known = self._gangs.by_uid(cluster, seen.uid)
        if known is not None and not self._is_left_over(cluster, known, seen):
            await self._read_again(cluster, known, cause)
        elif seen.status.true("Provisioned"):
            # Its capacity stands already; a store that was lost, or restored from before, must not buy it again.
            log.warning("a provisioned request without a gang in these streams is left alone", request=str(seen.key))
        elif not any(seen.status.true(t) for t in ("Failed", "BookingExpired", "CapacityRevoked")):
            await self._take_seen(cluster, seen, cause)

    async def _take_overtaken(self, cluster: ClusterId, entry: GangEntry, cause: Cause) -> None:
        """A request whose gang went over to another attempt of its workload is served again when that one goes."""
        await self._level()
        for key, seen in sorted(self._clusters.cluster(cluster).requests.items()):
            known = self._gangs.by_uid(cluster, seen.uid)
            if known is not None and known.gang_id == entry.gang_id and self._is_left_over(cluster, known, seen):
                await self._settle_request(cluster, key, cause.step("overtaken", seen.uid))

    def _is_left_over(self, cluster: ClusterId, known: GangEntry, seen: RequestSeen) -> bool:
        """Whether the gang that a request had serves another request, is at an end with it, and that one is gone."""
        spec = known.gang.saga.spec
        if spec.uid == seen.uid or not isinstance(known.gang, Compensating | Ended | Held):
            return False
        shown = self._clusters.cluster(cluster).requests.get(spec.key)
        return shown is None or shown.uid != spec.uid or shown.leaving

    async def _take_seen(self, cluster: ClusterId, seen: RequestSeen, cause: Cause) -> None:
        try:
            spec = self._specs.read(seen.json, seen.uid, self._lookup(cluster))
        except Invalid as error:
            log.error("provisioning request cannot be read", request=str(seen.key), reason=str(error))
            return
        fresh = gang_id_of(cluster, seen.key.namespace, seen.key.name, seen.uid)
        await self._take(cluster, fresh, spec, seen.uid, cause)

    async def _take(self, cluster: ClusterId, fresh: GangId, spec: GangSpec, request_id: str, cause: Cause) -> Taken:
        choice = plan_intake(fresh, spec, self._gangs.siblings(cluster, spec.workload_key))
        return await self._hand_in(cluster, choice, spec, request_id, cause)

    async def _hand_in(self, cluster: ClusterId, plan: Choice, spec: GangSpec, request_id: str, cause: Cause) -> Taken:
        ahead = self._turns.ahead_of(cluster, plan.gang_id, spec.priority)
        command = RequestGang(plan.gang_id, spec, request_id, self._now(), ahead)
        outcome = await self._desk.tell(cluster, plan.gang_id, command, cause.step("request"))
        for older in plan.superseded:
            why = f"superseded by {spec.namespace}/{spec.name}, which asks for something else for the same workload"
            await self._desk.tell(cluster, older, CancelGang(why, self._now()), cause.step("supersede", older))
        return Taken(plan.gang_id, outcome.sequence)

    async def _read_again(self, cluster: ClusterId, entry: GangEntry, cause: Cause) -> None:
        """The objects that a request waited for may be there now."""
        gang = self._desk.gang(cluster, entry.gang_id)
        if not isinstance(gang, Received):
            return
        held = gang.saga.spec
        lookup = self._specs.with_objects(held.objects_json, self._lookup(cluster), held.namespace)
        try:
            spec = self._specs.read(held.request_json, held.uid, lookup)
        except Invalid as error:
            log.error("request cannot be read", gang=entry.gang_id, reason=str(error))
            return
        ahead = self._turns.ahead_of(cluster, entry.gang_id, spec.priority)
        command = RequestGang(entry.gang_id, spec, gang.saga.request_id, self._now(), ahead)
        await self._desk.tell(cluster, entry.gang_id, command, cause.step("complete"))

    async def _bind(self, cluster: ClusterId, entry: GangEntry, pod: PodSeen, cause: Cause) -> None:
        name = f"{pod.key.namespace}/{pod.key.name}"
        ungrouped = not pod.grouped and self._specs.groups_pods(entry.gang.saga.spec.objects_json)
        command = RecordMemberBind(name, pod.node, self._now(), ungrouped)
        await self._desk.tell(cluster, entry.gang_id, command, cause.step("bind", name))

    async def _lose(self, cluster: ClusterId, pod: ObjectKey, cause: Cause) -> None:
        name = f"{pod.namespace}/{pod.name}"
        for gang_id in self._gangs.with_member(cluster, name):
            await self._desk.tell(cluster, gang_id, RecordMemberLoss(name, self._now()), cause.step("unbind", name))

    async def _compare(self, cluster: ClusterId, key: ObjectKey, cause: Cause) -> None:
        """A template that was edited after it was accepted is noted by the gangs that were planned with it (T3)."""
        shown = self._clusters.part(cluster, key)
        if shown is None:
            return
        for entry in list(self._gangs.open(cluster)):
            held = entry.gang.saga.spec
            if held.namespace != key.namespace or isinstance(entry.gang, Received):
                continue
            accepted = self._specs.with_objects(held.objects_json, self._lookup(cluster), held.namespace)
            if accepted(key) in {None, shown}:
                continue
            try:
                now = self._specs.read(held.request_json, held.uid, _instead(accepted, key, shown))
            except Invalid as error:
                log.warning("edited template cannot be read", gang=entry.gang_id, object=str(key), reason=str(error))
                continue
            if now.content_hash != held.content_hash:
                drift = RecordDrift(key.kind, key.name, now.content_hash, self._now())
                await self._desk.tell(cluster, entry.gang_id, drift, cause.step("drift", entry.gang_id))

    def _lookup(self, cluster: ClusterId) -> Lookup:
        return lambda key: self._clusters.part(cluster, key)

    def _uid(self, cluster: ClusterId, request_id: str, key: ObjectKey, request_json: bytes) -> str:
        shown = self._clusters.cluster(cluster).requests.get(key)
        if shown is not None:
            return shown.uid
        return self._specs.uid_of(request_json) or derived_id("request", cluster, request_id)

    def _is_ours(self, class_name: str) -> bool:
        return any(fnmatchcase(class_name, pattern) for pattern in self._classes)


def _instead(lookup: Lookup, key: ObjectKey, json: bytes) -> Lookup:
    return lambda wanted: json if wanted == key else lookup(wanted)
