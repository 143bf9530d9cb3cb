"""Requests as Kubernetes JSON: what they need, what is missing, and what makes two of them the same wish."""

from collections.abc import Mapping
from datetime import timedelta

import orjson

from muster.type.v1 import gang_pb2
from muster_gang_coordinator.domain.requests import GangSpec
from muster_gang_coordinator.wire.manifests import Unreadable
from muster_gang_coordinator.wire.specs import by_key, from_spec, read_spec, to_spec
from muster_types import ObjectKey

TEN_MINUTES = timedelta(minutes=10)
Json = dict[str, object]


def a_request(name: str = "train", owner: str = "", **parameters: str) -> Json:
    metadata: Json = {"name": name, "namespace": "ml"}
    if owner:
        metadata["ownerReferences"] = [{"kind": "Workload", "name": owner, "uid": "w-1", "controller": True}]
    pod_sets = [{"podTemplateRef": {"name": f"ppt-{name}-main"}, "count": 3}]
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": metadata,
        "spec": {"provisioningClassName": "atomic.muster.dev", "podSets": pod_sets, "parameters": parameters},
    }


def a_pod_template(name: str, annotations: Mapping[str, str] | None = None, **spec: object) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": name, "namespace": "ml"},
        "template": {"metadata": {"annotations": dict(annotations or {})}, "spec": spec},
    }


def a_part(kind: str, name: str, **spec: object) -> Json:
    return {"kind": kind, "metadata": {"name": name, "namespace": "ml"}, "spec": spec}


def read(request: Json, *objects: Json) -> GangSpec:
    found = by_key(tuple(map(orjson.dumps, objects)))
    spec = read_spec(orjson.dumps(request), "uid-1", found.get, TEN_MINUTES)
    assert isinstance(spec, GangSpec)
    return spec


CLAIMS = [{"name": "gpus", "resourceClaimTemplateName": "four-gpus"}]


def test_a_request_without_its_template_misses_it() -> None:
    assert read(a_request()).missing == (ObjectKey("PodTemplate", "ml", "ppt-train-main"),)


def test_claim_templates_and_named_claims_of_a_template_are_needed_too() -> None:
    named = {"name": "net", "resourceClaimName": "shared-net"}
    template = a_pod_template("ppt-train-main", resourceClaims=[*CLAIMS, named])
    spec = read(a_request(), template)
    assert spec.missing == (
        ObjectKey("ResourceClaim", "ml", "shared-net"),
        ObjectKey("ResourceClaimTemplate", "ml", "four-gpus"),
    )
    whole = read(
        a_request(), template, a_part("ResourceClaimTemplate", "four-gpus"), a_part("ResourceClaim", "shared-net")
    )
    assert whole.missing == ()
    assert [orjson.loads(o)["kind"] for o in whole.objects_json] == [
        "PodTemplate",
        "ResourceClaim",
        "ResourceClaimTemplate",
    ]


def test_a_pod_group_is_taken_along_with_its_claims_but_never_waited_for() -> None:
    template = a_pod_template("ppt-train-main", schedulingGroup={"podGroupName": "train"})
    assert read(a_request(), template).missing == ()
    group = a_part("PodGroup", "train", resourceClaims=CLAIMS)
    assert read(a_request(), template, group).missing == (ObjectKey("ResourceClaimTemplate", "ml", "four-gpus"),)


def test_objects_that_nobody_names_are_left_out() -> None:
    spec = read(a_request(), a_pod_template("ppt-train-main"), a_pod_template("other"))
    assert len(spec.objects_json) == 1


def test_pods_of_all_sets_count_together() -> None:
    request = a_request()
    sets = [{"podTemplateRef": {"name": "leader"}, "count": 1}, {"podTemplateRef": {"name": "worker"}, "count": 8}]
    request["spec"] = {"provisioningClassName": "atomic.muster.dev", "podSets": sets}
    assert read(request).pod_count == 9


def test_valid_until_seconds_is_the_booking_duration() -> None:
    assert read(a_request(ValidUntilSeconds="90")).booking_duration == timedelta(seconds=90)
    assert read(a_request()).booking_duration == TEN_MINUTES
    for bad in ("soon", "0", "-5", "999999999"):
        (defect,) = read(a_request(ValidUntilSeconds=bad)).defects
        assert "spec.parameters[ValidUntilSeconds]" in defect.sentence


def test_priority_is_the_parameter_else_that_of_the_pods() -> None:
    template = a_pod_template("ppt-train-main", priority=1000)
    assert read(a_request(), template).priority == 1000
    assert read(a_request(Priority="-3"), template).priority == -3
    assert read(a_request()).priority == 0


def test_t27_two_attempts_of_one_workload_agree_in_key_and_content_though_not_in_names() -> None:
    own = {"autoscaling.x-k8s.io/consume-provisioning-request": "whatever"}
    first, second = (
        read(
            a_request(f"job-train-muster-{n}", owner="job-train"),
            a_pod_template(f"ppt-job-train-muster-{n}-main", {**own, "x": "y"} if n == 1 else {"x": "y"}, priority=1),
        )
        for n in (1, 2)
    )
    assert first.workload_key == second.workload_key == "w-1/muster"
    assert first.content_hash == second.content_hash


def test_another_check_of_the_same_workload_is_another_wish() -> None:
    keys = {read(a_request(f"job-train-{check}-1", owner="job-train")).workload_key for check in ("a", "b")}
    assert keys == {"w-1/a", "w-1/b"}


def test_t3_another_template_is_another_content() -> None:
    rack = {"kueue.x-k8s.io/podset-required-topology": "rack"}
    hashes = {
        read(a_request(), a_pod_template("ppt-train-main", priority=1)).content_hash,
        read(a_request(), a_pod_template("ppt-train-main", priority=2)).content_hash,
        read(a_request(), a_pod_template("ppt-train-main", rack)).content_hash,
        read(a_request(ValidUntilSeconds="9"), a_pod_template("ppt-train-main", priority=1)).content_hash,
    }
    assert len(hashes) == 4


def test_a_spec_comes_back_from_the_wire_with_what_it_misses() -> None:
    spec = read(a_request(owner="job"), a_pod_template("ppt-train-main", resourceClaims=CLAIMS))
    assert spec.missing
    message = to_spec(spec)
    assert from_spec(gang_pb2.GangSpec.FromString(message.SerializeToString())) == spec


def test_bytes_that_are_no_object_are_unreadable() -> None:
    for data in (b"{", b"[]", b"null", b"\xff"):
        assert isinstance(read_spec(data, "uid-1", lambda _: None, TEN_MINUTES), Unreadable)
