"""What a dump says about a migration: differences are named, and devices that are sold twice."""

from collections.abc import Mapping
from typing import cast

from muster_migrate import Check, Evidence, Fit, check_migration, migrate_extended, migrate_objects
from muster_plan import Snapshot
from property.migrate.fleets import CLASSES, NVIDIA, NodeShape

Json = Mapping[str, object]
H100 = "NVIDIA H100 80GB HBM3"
FOUR = NodeShape("four", NVIDIA, (H100,) * 4, (), "a", 16)


def _pod(count: int, **spec: object) -> Json:
    container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": count}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod", "namespace": "a"},
        "spec": {"containers": [container], **spec},
    }


def _changed(node: Json, *, labels: Mapping[str, str] | None = None, integers: str | None = None) -> Json:
    metadata, status = dict(cast("Json", node["metadata"])), dict(cast("Json", node["status"]))
    if labels is not None:
        metadata["labels"] = labels
    if integers is not None:
        status["allocatable"] = {**cast("Json", status["allocatable"]), "nvidia.com/gpu": integers}
    return {**node, "metadata": metadata, "status": status}


def _check(pod: Json, objects: list[Json], *, extended: bool = False) -> Check:
    evidence = Evidence.of(Snapshot.build([*CLASSES, *objects]))
    migration = migrate_extended([pod], evidence) if extended else migrate_objects([pod], evidence)
    return check_migration(migration, evidence)


def _fit(check: Check) -> Fit:
    ((node,),) = [pod.nodes for pod in check.pods]
    return node.fit


def test_a_node_with_integers_and_no_slices_leaves_the_new_form_unproven() -> None:
    check = _check(_pod(1), [FOUR.node()])
    assert _fit(check) is Fit.NOT_PUBLISHED
    assert not check.proven
    assert not check.sold_twice


def test_a_node_whose_device_plugin_is_gone_counts_as_switched_over() -> None:
    check = _check(_pod(1), FOUR.objects(integers=False))
    assert _fit(check) is Fit.SWITCHED
    assert check.passed


def test_fewer_devices_than_integers_is_a_difference_with_its_reason() -> None:
    _, slice_ = FOUR.objects()
    more = NodeShape("four", NVIDIA, (H100,) * 8, (), "a", 16).node()
    # Another node shows that the integers are no shares as such: else the pod would not be migrated at all.
    check = _check(_pod(6), [more, slice_, *NodeShape("whole", NVIDIA, (H100,) * 2, (), "a", 16).objects()])
    fits = {each.node: each for pod in check.pods for each in pod.nodes}
    assert fits["four"].fit is Fit.ONLY_OLD
    assert "4" in fits["four"].why
    assert fits["whole"].fit is Fit.NEITHER
    assert not check.proven


def test_a_device_taint_that_integers_never_knew_is_a_difference() -> None:
    node, slice_ = FOUR.objects()
    rule = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "drain"},
        "spec": {"deviceSelector": {"driver": NVIDIA}, "taint": {"key": "example.com/drain", "effect": "NoSchedule"}},
    }
    check = _check(_pod(1), [node, slice_, rule])
    assert _fit(check) is Fit.ONLY_OLD


def test_a_node_that_offers_both_forms_is_sold_twice_and_its_holders_are_named() -> None:
    holder = {**_pod(1, nodeName="four"), "status": {"phase": "Running"}}
    check = _check(_pod(1), [*FOUR.objects(), holder])
    (told,) = check.sold_twice
    assert (told.node, told.resource, told.integers, told.devices, told.pods) == (
        "four",
        "nvidia.com/gpu",
        4,
        4,
        ("Pod/a/pod",),
    )
    assert check.proven
    assert not check.passed


def test_finished_pods_hold_no_integers() -> None:
    done = {**_pod(1, nodeName="four"), "status": {"phase": "Succeeded"}}
    (told,) = _check(_pod(1), [*FOUR.objects(), done]).sold_twice
    assert told.pods == ()


def test_half_a_node_for_the_plugin_and_half_for_the_driver_is_not_sold_twice() -> None:
    node, slice_ = FOUR.objects()
    eight = _changed(node, labels={"nvidia.com/gpu.count": "8"})
    assert not _check(_pod(1), [eight, slice_]).sold_twice
    four = _changed(node, labels={"nvidia.com/gpu.count": "4"})
    assert _check(_pod(1), [four, slice_]).sold_twice


def test_an_integer_of_zero_is_what_a_stopped_plugin_leaves_behind() -> None:
    node, slice_ = FOUR.objects()
    check = _check(_pod(1), [_changed(node, integers="0"), slice_])
    assert check.passed
    assert _fit(check) is Fit.SWITCHED


def test_cpu_and_node_taints_bind_both_forms_alike() -> None:
    node, slice_ = FOUR.objects()
    tainted = {**node, "spec": {"taints": [{"key": "x", "effect": "NoSchedule"}]}}
    assert _fit(_check(_pod(1), [tainted, slice_])) is Fit.NEITHER


def test_classes_for_extended_resources_are_checked_with_the_pod_as_it_is() -> None:
    check = _check(_pod(4), FOUR.objects(), extended=True)
    assert _fit(check) is Fit.BOTH
    assert _fit(_check(_pod(5), FOUR.objects(), extended=True)) is Fit.NEITHER
    assert check.sold_twice


def test_a_pod_that_fits_nowhere_says_so() -> None:
    check = _check(_pod(5), FOUR.objects())
    assert [pod.nowhere for pod in check.pods] == [True]
