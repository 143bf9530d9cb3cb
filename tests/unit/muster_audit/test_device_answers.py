import pytest

from muster_audit import Branch, Cluster, Dump, audit_cluster, explain_pod
from support.cluster_objects import (
    GPU,
    Json,
    a_class,
    a_device,
    a_node,
    a_request,
    a_running,
    a_slice,
    a_waiting,
)

SETS = [{"name": "s", "counters": {"m": {"value": "4"}}}]


def lines(branch: Branch) -> list[str]:
    return [branch.text, *(line for child in branch.children for line in lines(child))]


def told(*objects: Json) -> str:
    cluster = Cluster.from_dumps([Dump(objects)])
    found = explain_pod(cluster, audit_cluster(cluster), "team-a", "p")
    assert found is not None
    return "\n".join(lines(found.tree))


@pytest.mark.parametrize(
    ("device", "request_", "words"),
    [
        (a_device("gpu-0", model="a"), a_request("g", GPU, f'device.attributes["{GPU}"].model == "b"'), "(model is a)"),
        (a_device("gpu-0", taints=[{"key": "sick", "effect": "NoSchedule"}]), a_request(), "tainted sick:NoSchedule"),
        (
            a_device("gpu-0", capacity={"memory": "8Gi"}, allowMultipleAllocations=True),
            a_request(capacity={"requests": {"memory": "9Gi"}}),
            "8Gi of 8Gi memory left, 9Gi wanted",
        ),
        (a_device("gpu-0"), a_request(capacity={"requests": {"memory": "9Gi"}}), "has no capacity memory"),
    ],
)
def test_the_first_condition_that_a_device_fails_is_told(device: Json, request_: Json, words: str) -> None:
    assert words in told(a_node(), a_class(), a_slice(devices=[device]), *a_waiting("p", request_))


def test_who_holds_a_device_is_told() -> None:
    objects = [a_node(), a_class(), a_slice(devices=[a_device("gpu-0")]), *a_running("busy", "gpu-0")]
    assert "gpu-0: held by claim team-a/busy (pod busy)" in told(*objects, *a_waiting("p"))


def test_counters_that_are_left_and_values_that_constraints_compare_are_told() -> None:
    draw = [{"counterSet": "s", "counters": {"m": {"value": "5"}}}]
    slices = [
        a_slice(name="c", count=2, sharedCounters=SETS),
        a_slice(name="d", count=2, devices=[a_device("big", consumesCounters=draw), a_device("free", numa=0)]),
    ]
    constraint = [{"matchAttribute": f"{GPU}/numa"}]
    text = told(a_node(), a_class(), *slices, *a_waiting("p", a_request(count=2), constraints=constraint))
    assert "big: counter s/m: 5 needed, 4 left" in text
    assert "free: free, numa=0" in text
