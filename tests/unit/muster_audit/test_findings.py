import pytest

from support.audits import audited, found
from support.cluster_objects import (
    GPU,
    Json,
    a_claim,
    a_class,
    a_device,
    a_group,
    a_node,
    a_pod,
    a_request,
    a_running,
    a_slice,
    a_waiting,
    gpus,
)

FLEET = [a_node(), a_class()]
WHOLE, PART = a_device("gpu-0", uuid="U"), a_device("part", parentUUID="U")
MEMORY = f'device.capacity["{GPU}"].memory.compareTo(quantity("80Gi")) >= 0'
TYPO = f'device.attributes["{GPU}"].modle == "a"'
NOTHING = f'device.attributes["{GPU}"].model == "b"'
BOARD = a_device("gpu-0", capacity={"memory": "81559Mi"}, model="a")
CASES: list[tuple[str, str, list[Json]]] = [
    ("allocated-device-not-published", f"{GPU}/node-a/gpu-9", [a_slice(devices=gpus(1)), *a_running("r", "gpu-9")]),
    ("overlap-without-counters", f"{GPU}/node-a/gpu-0", [a_slice(devices=[WHOLE, PART])]),
    (
        "same-device-in-two-pools",
        "U",
        [a_slice(devices=[WHOLE]), a_slice(devices=[WHOLE], pool="other", name="other")],
    ),
    (
        "integers-and-devices",
        "Node/node-b",
        [a_node("node-b", **{"example.com/gpu": "2"}), a_slice("node-b", gpus(2))],
    ),
    ("pool-incomplete", f"{GPU}/node-a", [a_slice(devices=gpus(1), count=2)]),
    (
        "pool-inconsistent",
        f"{GPU}/node-a",
        [a_slice(devices=gpus(1), name="a"), a_slice(devices=[], count=2, name="b")],
    ),
    (
        "pool-invalid",
        f"{GPU}/node-a",
        [a_slice(devices=gpus(1), count=2, name="a"), a_slice(devices=gpus(1), count=2, name="b")],
    ),
    ("slice-without-node", f"ResourceSlice/gone-{GPU}", [a_slice("gone", gpus(1))]),
    (
        "extended-resource-not-uniform",
        "DeviceClass/mixed",
        [
            a_class("mixed", f'device.driver == "{GPU}"', extended="x.com/g"),
            a_slice(devices=[BOARD, a_device("small")]),
        ],
    ),
    (
        "template-differs",
        "NodeGroup/g",
        [a_node("n", labels={"group": "g"}), a_slice("n", gpus(1)), a_group("g", gpus(2), size=1)],
    ),
    (
        "attribute-unknown",
        "ResourceClaim/team-a/p",
        [a_slice(devices=[BOARD]), *a_waiting("p", a_request("g", GPU, TYPO))],
    ),
    (
        "selector-matches-nothing",
        "ResourceClaim/team-a/p",
        [a_slice(devices=[BOARD]), *a_waiting("p", a_request("g", GPU, NOTHING))],
    ),
    (
        "amount-just-missed",
        "ResourceClaim/team-a/p",
        [a_slice(devices=[BOARD]), *a_waiting("p", a_request("g", GPU, MEMORY))],
    ),
    (
        "orphan-consumer",
        "Pod/team-a/p",
        [a_pod("p", annotations={"autoscaling.x-k8s.io/consume-provisioning-request": "nope"})],
    ),
    ("allocated-claim-unused", "ResourceClaim/team-a/old", [a_claim("old", held=["gpu-0"], by="gone"), a_pod("p")]),
]


@pytest.mark.parametrize(("kind", "about", "objects"), CASES, ids=[case[0] for case in CASES])
def test_what_is_wrong_beyond_pods_is_said_once_with_its_object_and_a_remedy(
    kind: str, about: str, objects: list[Json]
) -> None:
    (finding,) = found(kind, *FLEET, *objects)
    assert finding.object == about
    assert finding.why
    assert finding.remedy


def test_a_sound_cluster_has_no_finding() -> None:
    sound = [a_slice(devices=gpus(2)), *a_running("r", "gpu-0"), *a_waiting("p"), a_group("g", gpus(2))]
    assert audited(*FLEET, *sound).findings == ()


def test_admin_access_holds_nothing_and_so_misses_nothing() -> None:
    claim = a_claim("watch", a_request(adminAccess=True), held=["gpu-9"], by="w", adminAccess=True)
    assert found("allocated-device-not-published", *FLEET, a_slice(devices=gpus(1)), claim) == []


def test_partitions_that_share_counters_with_their_parent_do_not_overlap() -> None:
    draw = [{"counterSet": "s", "counters": {"m": {"value": "1"}}}]
    slices = [
        a_slice(name="c", count=2, sharedCounters=[{"name": "s", "counters": {"m": {"value": "1"}}}]),
        a_slice(name="d", count=2, devices=[each | {"consumesCounters": draw} for each in (WHOLE, PART)]),
    ]
    assert found("overlap-without-counters", *FLEET, *slices) == []
