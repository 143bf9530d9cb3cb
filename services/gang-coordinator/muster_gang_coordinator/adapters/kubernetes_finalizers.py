"""A finalizer on requests that are being served: their deletion is a cancel, and its outcome can still be written
(group-capacity N-1.7, N-2.5)."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from muster_eventstore import TransientError
from muster_gang_coordinator.adapters.kubernetes_calls import REQUEST, ClusterApi
from muster_gang_coordinator.domain.status import RequestStatus, plan_writes
from muster_gang_coordinator.wire.statuses import from_status
from muster_kube.parts import at, mapping, sequence, text
from muster_kubeapi import Conflict, Json, get, list_pages, patch
from muster_types import ObjectKey

FINALIZER = "muster.dev/capacity"
_ATTEMPTS = 20


@dataclass(frozen=True, slots=True, order=True)
class Served:
    """A request, told from a later one of its name."""

    key: ObjectKey
    uid: str


@dataclass(frozen=True, slots=True)
class Finalized:
    """A request that carries the finalizer; `leaving` when somebody has deleted it."""

    request: Served
    leaving: bool


async def finalized_requests(api: ClusterApi) -> AsyncGenerator[Finalized]:
    """Every request with the finalizer. Raises KubeError."""
    resource = await api.resource(REQUEST)
    if resource is None:
        return
    async for page in list_pages(api.client, resource):
        for obj in page.items:
            if FINALIZER in sequence(at(obj, "metadata", "finalizers")):
                metadata = mapping(obj.get("metadata"))
                key = ObjectKey(REQUEST, text(metadata.get("namespace")), text(metadata.get("name")))
                yield Finalized(Served(key, text(metadata.get("uid"))), bool(metadata.get("deletionTimestamp")))


async def add_finalizer(api: ClusterApi, request: Served) -> None:
    """Unless it is there, or the request is gone or on its way out. Raises KubeError, TransientError."""

    def added(obj: Json) -> list[object] | None:
        finalizers = sequence(at(obj, "metadata", "finalizers"))
        leaving = at(obj, "metadata", "deletionTimestamp")
        return None if leaving or FINALIZER in finalizers else [*finalizers, FINALIZER]

    await _write(api, request, added)


async def remove_finalizer(api: ClusterApi, request: Served) -> None:
    """The cluster may forget the request. Raises KubeError, TransientError."""

    def removed(obj: Json) -> list[object] | None:
        finalizers = sequence(at(obj, "metadata", "finalizers"))
        return [each for each in finalizers if each != FINALIZER] if FINALIZER in finalizers else None

    await _write(api, request, removed)


async def shows_status(api: ClusterApi, request: Served, status: RequestStatus) -> bool:
    """Whether there is nothing left to write of a status; True as well for a request that is gone. Raises KubeError."""
    obj = await _get(api, request)
    return obj is None or not plan_writes(from_status(mapping(obj.get("status"))), status)


async def _write(api: ClusterApi, request: Served, change: Callable[[Json], list[object] | None]) -> None:
    for _ in range(_ATTEMPTS):
        obj, target = await _get(api, request), await api.request(request.key)
        wanted = None if obj is None else change(obj)
        if obj is None or target is None or wanted is None:
            return
        version = at(obj, "metadata", "resourceVersion")
        merged = {"metadata": {"resourceVersion": version, "finalizers": wanted or None}}
        if not isinstance(await patch(api.client, target, merged), Conflict):
            return
    raise TransientError(f"cluster {api.cluster!r}: {request.key} changed {_ATTEMPTS} times while it was written")


async def _get(api: ClusterApi, request: Served) -> Json | None:
    target = await api.request(request.key)
    obj = None if target is None else await get(api.client, target)
    return obj if text(at(obj, "metadata", "uid")) == request.uid else None
