import pytest

from support.audits import row_of
from support.cluster_objects import (
    GPU,
    NIC,
    Json,
    a_class,
    a_device,
    a_node,
    a_pod,
    a_request,
    a_running,
    a_slice,
    a_waiting,
    gpus,
)

NUMA = "resource.kubernetes.io/numaNode"


def fleet(*sizes: int) -> list[Json]:
    names = [f"n{index}" for index in range(len(sizes))]
    return [
        a_class(),
        *(each for name, size in zip(names, sizes, strict=True) for each in (a_node(name), a_slice(name, gpus(size)))),
    ]


def held(*nodes: str) -> list[Json]:
    return [each for node in nodes for each in a_running(f"r-{node}", "gpu-0", node=node)]


@pytest.mark.parametrize(
    ("objects", "wanted", "reason", "words"),
    [
        ([*fleet(1), *held("n0")], 1, "shortage", "1 device wanted, none is free; held by claim team-a/r-n0"),
        ([*fleet(2, 2), *held("n0", "n1")], 2, "fragmentation", "2 free, largest free set on one node is 1, 2 wanted"),
        (fleet(2, 2), 3, "topology-mismatch", "3 devices wanted on one node, none has so many (4 in all)"),
        (fleet(2), 3, "shortage", "3 devices wanted, 2 of the kind exist"),
        ([a_node(), a_class()], 1, "no-inventory", f"no node publishes a device of {GPU} that the pod could use"),
        ([a_class()], 1, "no-inventory", "the cluster has no node"),
    ],
)  # fmt: skip
def test_shortage_is_told_apart_from_fragmentation_and_shape(
    objects: list[Json], wanted: int, reason: str, words: str
) -> None:
    row = row_of("p", *objects, *a_waiting("p", a_request(count=wanted)))
    assert row.reason == reason
    assert words in row.why


def test_a_pod_of_higher_priority_is_told_that_devices_are_not_preempted() -> None:
    low = [*fleet(1), *a_running("low", "gpu-0", node="n0")]
    assert "the scheduler preempts nobody for devices" in row_of("p", *low, *a_waiting("p", priority=5)).why
    assert "preempts" not in row_of("p", *low, *a_waiting("p")).why


def test_the_driver_that_lacks_an_attribute_is_named() -> None:
    slices = [
        a_slice(devices=[a_device("g", attributes={NUMA: 0})]),
        a_slice(devices=[a_device("n")], driver=NIC),
    ]
    pair = a_waiting("p", a_request("g"), a_request("n", NIC), constraints=[{"matchAttribute": NUMA}])
    row = row_of("p", a_node(), a_class(), a_class(NIC), *slices, *pair)
    assert (row.reason, row.why.endswith(f"{NIC} devices do not have {NUMA}")) == ("attribute-missing", True)


def test_an_amount_that_no_device_of_the_kind_allows_is_no_matter_of_more_nodes() -> None:
    policy = {"default": "1", "validRange": {"min": "1", "max": "4"}}
    device = a_device("n", allowMultipleAllocations=True) | {"capacity": {"x": {"value": "8", "requestPolicy": policy}}}
    row = row_of(
        "p",
        a_node(),
        a_class(),
        a_slice(devices=[device]),
        *a_waiting("p", a_request(capacity={"requests": {"x": "5"}})),
    )
    assert (row.reason, "another identical node would not help" in row.why) == ("policy-violation", True)


def test_rooms_that_would_do_in_sum_are_fragmented() -> None:
    nodes = [a_node("a", cpu="4"), a_node("b", cpu="4")]
    pods = [a_pod("r1", node="a", cpu="2"), a_pod("r2", node="b", cpu="2")]
    row = row_of("p", *nodes, *pods, a_pod("p", cpu="4"))
    assert (row.reason, "4 cpu left in total, at most 2 on one node, 4 wanted" in row.why) == ("fragmentation", True)


def test_a_slice_that_was_refused_is_named_where_nothing_is_left() -> None:
    from muster_audit import Dump, Refused, audit
    from muster_types import ObjectKey
    from support.audits import pick

    refused = Refused(ObjectKey("ResourceSlice", "", "bad"), "spec.devices[0]", "is wrong")
    row = pick(audit([Dump((a_node(), a_class(), *a_waiting("p")), (refused,))]), "p")
    assert (row.reason, f"no valid slice of {GPU}: bad was refused" in row.why) == ("no-inventory", True)
    assert row.remedy == "mend spec.devices[0] of slice bad in its driver"
