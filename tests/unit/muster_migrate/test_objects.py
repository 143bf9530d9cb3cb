"""Details of single pods that the recorded cases do not show alone."""

from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from muster_migrate import Cause, Cut, Evidence, Migration, Put, Query, Saying, apply_edits, migrate_objects, shown
from muster_plan import Snapshot
from property.migrate.fleets import CLASSES, NVIDIA, PRODUCTS, NodeShape

Json = Mapping[str, object]


def _pod(resources: Json, **spec: object) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod", "namespace": "a"},
        "spec": {"containers": [{"name": "main", "resources": resources}], **spec},
    }


def _migrated(pod: Json, evidence: Evidence | None = None) -> Migration:
    return migrate_objects([pod], evidence or Evidence.none())


def _causes(migration: Migration) -> list[Cause]:
    return [each.cause for each in migration.remarks]


def test_edits_refer_to_the_object_as_it_was() -> None:
    obj: Json = {"a": [1, 2, 3], "b": {"c": 1, "d": 2}}
    edits = [Cut(("a", 0)), Cut(("a", 2)), Put(("a", 3), 4), Put(("b", "e"), 5), Cut(("b", "c"))]
    assert apply_edits(obj, edits) == {"a": [2, 4], "b": {"d": 2, "e": 5}}
    assert obj == {"a": [1, 2, 3], "b": {"c": 1, "d": 2}}


def test_a_path_is_written_as_people_write_it() -> None:
    assert shown(("spec", "containers", 0, "limits", "nvidia.com/gpu")) == "spec.containers[0].limits['nvidia.com/gpu']"


@pytest.mark.parametrize(
    ("resources", "cause"),
    [
        ({"limits": {"nvidia.com/gpu": 2}, "requests": {"nvidia.com/gpu": 1}}, Cause.LIMITS_DIFFER),
        ({"requests": {"nvidia.com/gpu": 1}}, Cause.LIMITS_DIFFER),
        ({"limits": {"nvidia.com/gpu": "0.5"}}, Cause.NOT_WHOLE),
        ({"limits": {"nvidia.com/gpu": -1}}, Cause.NOT_WHOLE),
        ({"limits": {"nvidia.com/gpu": "many"}}, Cause.MALFORMED),
        ({"limits": ["nvidia.com/gpu"]}, Cause.MALFORMED),
    ],
)
def test_what_the_api_server_would_refuse_is_named_and_left_alone(resources: Json, cause: Cause) -> None:
    migration = _migrated(_pod(resources))
    assert _causes(migration) == [cause]
    assert migration.says(Saying.INVALID)
    assert not migration.objects[0].edits


def test_integers_of_the_whole_pod_are_refused() -> None:
    pod = _pod({})
    spec = {**cast("Json", pod["spec"]), "resources": {"limits": {"nvidia.com/gpu": 1}}}
    migration = _migrated({**pod, "spec": spec})
    assert _causes(migration) == [Cause.POD_LEVEL]


@pytest.mark.parametrize("resource", ["cpu", "hugepages-2Mi", "ephemeral-storage", "example.kubernetes.io/thing"])
def test_node_resources_are_no_devices(resource: str) -> None:
    assert not _migrated(_pod({"limits": {resource: 1}})).remarks


def test_the_implicit_name_of_a_class_is_a_claim_already() -> None:
    pod = _pod({"limits": {"deviceclass.resource.kubernetes.io/gpu.nvidia.com": 1}})
    assert not _migrated(pod).remarks


@pytest.mark.parametrize(
    "resource",
    ["nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb.shared", "gpu.intel.com/millicores", "rdma/hca_shared_a"],
)
def test_shares_of_devices_have_no_equivalent(resource: str) -> None:
    migration = _migrated(_pod({"limits": {resource: 1}}))
    assert _causes(migration) == [Cause.SHARED]
    assert not migration.objects[0].edits


def test_a_declared_resource_is_taken_at_its_word() -> None:
    query = Query("npu.example.com", "npu.example.com", "npu", "declared", ('device.driver == "npu.example.com"',))
    migration = _migrated(_pod({"limits": {"example.com/npu": 3}}), Evidence.none({"example.com/npu": query}))
    (template,) = migration.objects[0].before
    devices = cast("Mapping[str, Mapping[str, Mapping[str, Sequence[Json]]]]", template)["spec"]["spec"]["devices"]
    (request,) = cast("Mapping[str, Sequence[Json]]", devices)["requests"]
    assert request == {
        "name": "npu",
        "exactly": {
            "deviceClassName": "npu.example.com",
            "selectors": [{"cel": {"expression": 'device.driver == "npu.example.com"'}}],
            "count": 3,
        },
    }


def test_more_integers_than_devices_on_every_node_are_shares() -> None:
    """`--shared-dev-num` and renamed time-slicing leave no label: the numbers give them away."""
    node, slice_ = NodeShape("n", NVIDIA, (next(iter(PRODUCTS)),), (), "a", 16).objects()
    crowded = NodeShape("n", NVIDIA, (next(iter(PRODUCTS)),) * 4, (), "a", 16).node()
    evidence = Evidence.of(Snapshot.build([*CLASSES, crowded, slice_]))
    assert _causes(_migrated(_pod({"limits": {"nvidia.com/gpu": 1}}), evidence)) == [Cause.SHARED]
    plain = Evidence.of(Snapshot.build([*CLASSES, node, slice_]))
    assert _causes(_migrated(_pod({"limits": {"nvidia.com/gpu": 1}}), plain)) == [Cause.CLAIM]


def test_a_condition_of_another_vendor_stays_untouched() -> None:
    pod = _pod({"limits": {"amd.com/gpu": 1}}, nodeSelector={"nvidia.com/gpu.product": "NVIDIA-L4"})
    migration = _migrated(pod)
    spec = cast("Mapping[str, Json]", migration.objects[0].result)["spec"]
    assert spec["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-L4"}


def test_an_unnamed_object_gets_a_template_named_after_its_kind() -> None:
    pod = {**_pod({"limits": {"nvidia.com/gpu": 1}}), "metadata": {"generateName": "run-"}}
    (template,) = _migrated(pod).objects[0].before
    assert template["metadata"] == {"name": "run-gpu"}
