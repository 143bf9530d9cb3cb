"""Extended resources that device classes back (dra-semantics §5.2)."""

import pytest

from muster_dra import (
    ContainerRequests,
    DeviceClass,
    Treatment,
    classes_by_resource,
    extended_resource_claim,
    is_candidate,
    treatment,
)
from muster_types import NANO, Nano

GPU = DeviceClass("gpu", extended_resource_name="example.com/gpu", creation_time="2026-01-02T00:00:00Z")
OLD = DeviceClass("old", extended_resource_name="example.com/gpu", creation_time="2026-01-01T00:00:00Z")
TWIN = DeviceClass("a-twin", extended_resource_name="example.com/gpu", creation_time="2026-01-02T00:00:00Z")
IMPLICIT = "deviceclass.resource.kubernetes.io/"


def container(name: str = "c", *, init: bool = False, sidecar: bool = False, **requests: int) -> ContainerRequests:
    resources = {"gpu": "example.com/gpu", "cpu": "cpu", "nic": "example.com/nic"}
    named = {resources[key]: Nano(value * NANO) for key, value in requests.items()}
    return ContainerRequests(name, named, init or sidecar, sidecar)


def asked(*containers: ContainerRequests) -> list[tuple[str, str, int]]:
    classes = classes_by_resource([GPU, DeviceClass("nic", extended_resource_name="example.com/nic")])
    found = extended_resource_claim("team", containers, classes)
    if found is None:
        return []
    return [
        (request.name, request.exactly.class_name, request.exactly.count)
        for request in found.claim.spec.requests
        if request.exactly is not None
    ]


def test_a_class_has_its_explicit_and_always_its_implicit_name() -> None:
    assert classes_by_resource([GPU]) == {"example.com/gpu": GPU, f"{IMPLICIT}gpu": GPU}


def test_the_younger_class_wins_a_name_and_then_the_smaller_one() -> None:
    assert classes_by_resource([OLD, GPU])["example.com/gpu"] is GPU
    assert classes_by_resource([GPU, TWIN])["example.com/gpu"] is TWIN


def test_a_class_that_loses_when_it_is_looked_at_misses_its_implicit_name_upstream() -> None:
    assert f"{IMPLICIT}old" not in classes_by_resource([GPU, OLD])
    assert f"{IMPLICIT}old" in classes_by_resource([OLD, GPU])
    assert f"{IMPLICIT}old" in classes_by_resource([GPU, OLD], strict=True)


@pytest.mark.parametrize(
    ("name", "candidate"),
    [
        ("example.com/gpu", True),
        (f"{IMPLICIT}gpu", True),
        ("cpu", False),
        ("hugepages-2Mi", False),
        ("kubernetes.io/batch", False),
        ("requests.example.com/gpu", False),
    ],
)
def test_which_names_may_be_backed(name: str, candidate: bool) -> None:
    assert is_candidate(name) is candidate


def test_how_a_node_serves_a_resource() -> None:
    assert treatment(True, None) is Treatment.DEVICES
    assert treatment(True, Nano(0)) is Treatment.DEVICES
    assert treatment(True, Nano(8 * NANO)) is Treatment.DEVICE_PLUGIN
    assert treatment(False, Nano(8 * NANO)) is Treatment.DEVICE_PLUGIN
    assert treatment(False, None) is Treatment.NO_FIT
    assert treatment(False, Nano(0)) is Treatment.RESOURCE_FIT


def test_one_request_for_each_container_and_resource_named_by_position() -> None:
    assert asked(container(cpu=1), container(cpu=1, gpu=2, nic=1)) == [
        ("container-1-request-1", "gpu", 2),
        ("container-1-request-2", "nic", 1),
    ]


def test_requests_are_sorted_by_name_as_text() -> None:
    names = [name for name, _, _ in asked(*(container(gpu=1) for _ in range(11)))]
    assert names[:3] == ["container-0-request-0", "container-1-request-0", "container-10-request-0"]


def test_an_init_container_uses_what_later_containers_will_have() -> None:
    assert asked(container(init=True, gpu=2), container(gpu=2)) == [("container-1-request-0", "gpu", 2)]
    assert asked(container(init=True, gpu=3), container(gpu=2)) == [
        ("container-0-request-0", "gpu", 1),
        ("container-1-request-0", "gpu", 2),
    ]


def test_only_the_largest_extra_of_init_containers_is_kept() -> None:
    found = asked(container(init=True, gpu=3), container(init=True, gpu=4), container(gpu=2))
    assert found == [("container-1-request-0", "gpu", 2), ("container-2-request-0", "gpu", 2)]


def test_a_sidecar_before_an_init_container_is_of_no_use_to_it() -> None:
    found = asked(container(sidecar=True, gpu=1), container(init=True, gpu=1))
    assert found == [("container-0-request-0", "gpu", 1), ("container-1-request-0", "gpu", 1)]


def test_nothing_asked_is_no_claim() -> None:
    assert asked(container(cpu=1)) == []
    assert asked(container(gpu=0)) == []


def test_the_mapping_says_which_request_serves_which_container() -> None:
    found = extended_resource_claim("team", [container("main", gpu=1)], classes_by_resource([GPU]))
    assert found is not None
    assert (found.claim.name, found.claim.namespace) == ("<extended-resources>", "team")
    (mapping,) = found.mappings
    assert (mapping.container, mapping.resource, mapping.request) == (
        "main",
        "example.com/gpu",
        "container-0-request-0",
    )
