"""Facts of the stream `observed` to what the coordinator keeps of them."""

from google.protobuf.message import Message

from muster.events.observed.v1 import observed_pb2 as pb
from muster.type.v1.object_pb2 import ObjectRef
from muster_eventstore import derived_id
from muster_gang_coordinator.domain.details import GANG_LABEL
from muster_gang_coordinator.domain.groups import GATE
from muster_gang_coordinator.domain.observed import (
    GangNodeSeen,
    ObjectGone,
    ObjectPassed,
    PartSeen,
    PodSeen,
    RequestSeen,
    Seen,
)
from muster_gang_coordinator.wire.groups import is_gated
from muster_gang_coordinator.wire.manifests import (
    Json,
    Unreadable,
    consumed_class,
    consumed_request,
    is_grouped,
    read_json,
)
from muster_gang_coordinator.wire.statuses import from_status
from muster_gang_coordinator.wire.templates import look_of
from muster_kube.parts import at, mapping, sequence, text
from muster_types import ClusterId, GangId, NodeName, ObjectKey, OrderId

_ORDER_LABEL = "muster.dev/order"
_PARTS = frozenset({"PodTemplate", "ResourceClaimTemplate", "ResourceClaim", "PodGroup"})


def from_observed(message: Message, cluster: ClusterId) -> Seen | None:
    """The fact; None for a type that is about no object."""
    match message:
        case pb.ObjectObserved() as m:
            return _seen(_key(m.object), m.uid, m.json, cluster)
        case pb.ObjectRemoved() as m:
            return ObjectGone(_key(m.object), m.uid)
        case _:
            return None


def uid_without_one(cluster: ClusterId, key: ObjectKey) -> str:
    """The uid that Muster gives to an object of a hand-written manifest, which has none."""
    return derived_id("uid", cluster, str(key))


def _seen(key: ObjectKey, uid: str, data: bytes, cluster: ClusterId) -> Seen:
    if key.kind in _PARTS:
        return PartSeen(key, data, uid if key.kind == "PodGroup" else "")
    if key.kind not in {"ProvisioningRequest", "Pod", "Node"}:
        return ObjectPassed(key)
    obj = read_json(data)
    if isinstance(obj, Unreadable):
        return ObjectPassed(key)
    match key.kind:
        case "ProvisioningRequest":
            class_name = text(at(obj, "spec", "provisioningClassName"))
            status = from_status(mapping(obj.get("status")))
            leaving = bool(at(obj, "metadata", "deletionTimestamp"))
            return RequestSeen(key, uid or uid_without_one(cluster, key), class_name, status, data, leaving)
        case "Pod":
            return _pod(key, uid, obj, data)
        case _:
            return _node(key, obj)


def _pod(key: ObjectKey, uid: str, pod: Json, data: bytes) -> Seen:
    spec = mapping(pod.get("spec"))
    request, node = consumed_request(pod), text(spec.get("nodeName"))
    failed = text(at(pod, "status", "phase")) == "Failed"  # evicted, or ended badly: another one follows it
    group = text(at(spec, "schedulingGroup", "podGroupName"))
    return PodSeen(
        key,
        request,
        NodeName("" if failed else node),
        group,
        consumed_class(pod),
        look_of(spec),
        uid,
        is_gated(pod, GATE),
        data if group and not request and not node else b"",
        is_grouped(pod),
    )


def _node(key: ObjectKey, node: Json) -> Seen:
    labels = mapping(at(node, "metadata", "labels"))
    gang, order = text(labels.get(GANG_LABEL)), text(labels.get(_ORDER_LABEL))
    if not gang or not order:
        return ObjectPassed(key)
    conditions = [mapping(c) for c in sequence(at(node, "status", "conditions"))]
    ready = any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)
    return GangNodeSeen(key, GangId(gang), OrderId(order), ready)


def _key(ref: ObjectRef) -> ObjectKey:
    return ObjectKey(ref.kind, ref.namespace, ref.name)
