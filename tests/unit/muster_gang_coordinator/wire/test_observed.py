"""What the cluster shows."""

import orjson
import pytest

from muster.events.observed.v1 import observed_pb2 as pb
from muster.type.v1.object_pb2 import ObjectRef
from muster_gang_coordinator.domain.observed import (
    GangNodeSeen,
    ObjectGone,
    ObjectPassed,
    PartSeen,
    PodSeen,
    RequestSeen,
    Seen,
)
from muster_gang_coordinator.domain.status import EMPTY
from muster_gang_coordinator.wire.observed import from_observed, uid_without_one
from muster_types import ClusterId, GangId, NodeName, ObjectKey, OrderId

LOCAL = ClusterId("local")


def seen(kind: str, name: str, obj: dict[str, object], *, namespace: str = "ml", uid: str = "u") -> Seen | None:
    ref = ObjectRef(kind=kind, namespace=namespace, name=name)
    return from_observed(pb.ObjectObserved(object=ref, uid=uid, json=orjson.dumps(obj)), LOCAL)


def test_a_request_is_seen_with_its_class_and_status() -> None:
    obj: dict[str, object] = {"spec": {"provisioningClassName": "atomic.muster.dev"}}
    key = ObjectKey("ProvisioningRequest", "ml", "train")
    assert seen("ProvisioningRequest", "train", obj) == RequestSeen(
        key, "u", "atomic.muster.dev", EMPTY, orjson.dumps(obj)
    )
    without = seen("ProvisioningRequest", "train", obj, uid="")
    assert isinstance(without, RequestSeen)
    assert without.uid == uid_without_one(LOCAL, key)


@pytest.mark.parametrize(
    "annotation",
    [
        "autoscaling.x-k8s.io/consume-provisioning-request",
        "cluster-autoscaler.kubernetes.io/consume-provisioning-request",
    ],
)
def test_a_pod_is_seen_with_the_request_it_consumes_and_its_node(annotation: str) -> None:
    obj: dict[str, object] = {"metadata": {"annotations": {annotation: "train"}}, "spec": {"nodeName": "n1"}}
    assert seen("Pod", "p0", obj) == PodSeen(ObjectKey("Pod", "ml", "p0"), "train", NodeName("n1"), uid="u")
    assert seen("Pod", "p0", {}) == PodSeen(ObjectKey("Pod", "ml", "p0"), "", NodeName(""), uid="u")


def test_a_node_matters_when_it_was_ordered_for_a_gang() -> None:
    labels = {"muster.dev/gang": "g", "muster.dev/order": "g-a1-1"}
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    key = ObjectKey("Node", "", "x0")
    node: dict[str, object] = {"metadata": {"labels": labels}, "status": ready}
    assert seen("Node", "x0", node, namespace="") == GangNodeSeen(key, GangId("g"), OrderId("g-a1-1"), ready=True)
    node["status"] = {"conditions": [{"type": "Ready", "status": "Unknown"}]}
    assert seen("Node", "x0", node, namespace="") == GangNodeSeen(key, GangId("g"), OrderId("g-a1-1"), ready=False)
    assert seen("Node", "x0", {}, namespace="") == ObjectPassed(key)


def test_objects_that_requests_name_are_kept_as_they_are() -> None:
    for kind in ("PodTemplate", "ResourceClaimTemplate", "ResourceClaim", "PodGroup"):
        uid = "u" if kind == "PodGroup" else ""
        assert seen(kind, "x", {"a": 1}) == PartSeen(ObjectKey(kind, "ml", "x"), b'{"a":1}', uid)


def test_a_pod_that_waits_in_a_group_is_kept_whole_and_one_that_runs_or_names_a_request_is_not() -> None:
    gates = [{"name": "muster.dev/capacity"}]
    spec: dict[str, object] = {"schedulingGroup": {"podGroupName": "g"}, "schedulingGates": gates}
    waiting = seen("Pod", "p0", {"spec": spec})
    assert isinstance(waiting, PodSeen)
    assert (waiting.group, waiting.gated, bool(waiting.json)) == ("g", True, True)
    for other in ({"spec": {**spec, "nodeName": "n"}}, {"spec": spec, "metadata": {"annotations": CONSUMES}}):
        found = seen("Pod", "p0", other)
        assert isinstance(found, PodSeen)
        assert found.json == b""


CONSUMES = {"autoscaling.x-k8s.io/consume-provisioning-request": "train"}


def test_other_kinds_and_unreadable_objects_say_nothing() -> None:
    assert seen("ResourceSlice", "s", {}) == ObjectPassed(ObjectKey("ResourceSlice", "ml", "s"))
    ref = ObjectRef(kind="Pod", namespace="ml", name="p0")
    assert from_observed(pb.ObjectObserved(object=ref, json=b"{"), LOCAL) == ObjectPassed(ObjectKey("Pod", "ml", "p0"))
    assert from_observed(pb.SyncCompleted(source="dump"), LOCAL) is None


def test_an_object_that_is_gone_is_told_with_its_uid() -> None:
    ref = ObjectRef(kind="Pod", namespace="ml", name="p0")
    assert from_observed(pb.ObjectRemoved(object=ref, uid="u"), LOCAL) == ObjectGone(ObjectKey("Pod", "ml", "p0"), "u")
