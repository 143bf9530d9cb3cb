"""GangSpec: from Kubernetes JSON, and to and from muster.type.v1."""

from collections.abc import Mapping
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration

from muster.type.v1 import gang_pb2 as pb
from muster_gang_coordinator.domain.plans import Reason
from muster_gang_coordinator.domain.requests import GangSpec
from muster_gang_coordinator.wire.manifests import (
    Json,
    Lookup,
    Unreadable,
    collect,
    content_hash,
    pod_sets,
    priority,
    read_json,
    workload_key,
)
from muster_kube.keys import object_key
from muster_kube.parts import at, text
from muster_types import ObjectKey

# Parameters of a request that mean something to Muster.
PARAMETERS = frozenset({"ValidUntilSeconds", "Priority"})
_LONGEST_BOOKING = 7 * 24 * 3600


def read_spec(request_json: bytes, uid: str, lookup: Lookup, booking: timedelta) -> GangSpec | Unreadable:
    """The spec of a sound ProvisioningRequest. `booking` is used without the parameter `ValidUntilSeconds`."""
    request = read_json(request_json)
    if isinstance(request, Unreadable):
        return request
    key = object_key(request)
    found, missing = collect(request, key.namespace, lookup)
    duration, defects = _booking(request, key, booking)
    return GangSpec(
        namespace=key.namespace,
        name=key.name,
        uid=uid,
        request_json=request_json,
        objects_json=tuple(found.values()),
        pod_count=sum(count for _, count in pod_sets(request)),
        content_hash=content_hash(request, key.namespace, found),
        priority=priority(request, found.values()),
        booking_duration=duration,
        workload_key=workload_key(request),
        missing=missing,
        defects=defects,
    )


def to_spec(spec: GangSpec) -> pb.GangSpec:
    message = pb.GangSpec(
        namespace=spec.namespace,
        name=spec.name,
        uid=spec.uid,
        request_json=spec.request_json,
        objects_json=spec.objects_json,
        pod_count=spec.pod_count,
        content_hash=spec.content_hash,
        priority=spec.priority,
        workload_key=spec.workload_key,
    )
    duration = Duration()
    duration.FromTimedelta(spec.booking_duration)
    message.booking_duration.CopyFrom(duration)
    return message


def from_spec(message: pb.GangSpec) -> GangSpec:
    """`missing` follows from the objects that are there; defects are not kept, the end of the gang tells them."""
    return GangSpec(
        namespace=message.namespace,
        name=message.name,
        uid=message.uid,
        request_json=message.request_json,
        objects_json=tuple(message.objects_json),
        pod_count=message.pod_count,
        content_hash=message.content_hash,
        priority=message.priority,
        booking_duration=message.booking_duration.ToTimedelta(),
        workload_key=message.workload_key,
        missing=_missing(message),
    )


def by_key(objects_json: tuple[bytes, ...]) -> Mapping[ObjectKey, bytes]:
    """Objects by their key; what is no object is left out."""
    read = [(read_json(data), data) for data in objects_json]
    return {object_key(obj): data for obj, data in read if not isinstance(obj, Unreadable)}


def _missing(message: pb.GangSpec) -> tuple[ObjectKey, ...]:
    request = read_json(message.request_json)
    if isinstance(request, Unreadable):
        return ()
    objects = by_key(tuple(message.objects_json))
    _, missing = collect(request, message.namespace, objects.get)
    return missing


def _booking(request: Json, key: ObjectKey, default: timedelta) -> tuple[timedelta, tuple[Reason, ...]]:
    given = text(at(request, "spec", "parameters", "ValidUntilSeconds"))
    if not given:
        return default, ()
    if given.isdigit() and 0 < int(given) <= _LONGEST_BOOKING:
        return timedelta(seconds=int(given)), ()
    sentence = (
        f"{key}: spec.parameters[ValidUntilSeconds] is {given!r}, which is no number of seconds from 1 to "
        f"{_LONGEST_BOOKING}: correct it and submit the request again"
    )
    return default, (Reason("INVALID_REQUEST", sentence, (("field", "spec.parameters[ValidUntilSeconds]"),)),)
