"""The examples of the demo: sound manifests, a consistent fleet, and stories that the planner ends as they are told."""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from muster_kube import Manifest, read_path
from muster_kube.parts import amount, at, mapping, sequence, text
from muster_plan import (
    CHEAPEST,
    ExistingNode,
    Gang,
    NewNode,
    NoPlan,
    NoPlanKind,
    Plan,
    Policy,
    ReasonCode,
    Snapshot,
    plan,
)
from muster_types import DeviceId, NodeGroupName

EXAMPLES = Path(__file__).parents[3] / "examples"
Json = Mapping[str, object]


@cache
def _objects(folder: str) -> tuple[Json, ...]:
    manifests = list(read_path(EXAMPLES / folder))
    assert all(isinstance(each, Manifest) for each in manifests), manifests
    return tuple(each.obj for each in manifests if isinstance(each, Manifest))


def _of(kind: str, folder: str = "fleet") -> list[Json]:
    return [obj for obj in _objects(folder) if obj["kind"] == kind]


def _name(obj: Json) -> str:
    return text(at(obj, "metadata", "name"))


def _told(story: str, policy: Policy = CHEAPEST) -> Plan | NoPlan:
    snapshot = Snapshot.build([*_objects("fleet"), *_objects(story)])
    assert snapshot.problems == {}
    (request,) = _of("ProvisioningRequest", story)
    gang = Gang.from_request(request, snapshot)
    assert isinstance(gang, Gang), gang
    return plan(snapshot, gang, policy)


@pytest.mark.parametrize("folder", ["fleet", "story-1", "story-2", "story-3"])
def test_every_manifest_is_read_without_a_remark(folder: str) -> None:
    manifests = list(read_path(EXAMPLES / folder))
    assert manifests
    assert [each for each in manifests if not isinstance(each, Manifest) or each.warnings] == []


def test_the_fleet_has_what_the_stories_need() -> None:
    assert len(_of("Node")) >= 12
    pools = Counter(text(at(node, "metadata", "labels", "cloud.example.com/node-pool")) for node in _of("Node"))
    assert pools == {"h100-a": 6, "h100-b": 4, "h100-quad": 2, "h100-mig": 1}
    sizes = {_name(group): at(group, "spec", "currentSize") for group in _of("NodeGroup")}
    assert sizes == {name: count for name, count in pools.items() if name != "h100-mig"}
    assert {_name(each) for each in _of("DeviceClass")} == {"gpu.nvidia.com", "mig.nvidia.com", "rdma.dra.net"}


def test_every_slice_lies_on_a_node_of_the_fleet_and_every_pool_is_whole() -> None:
    nodes = {_name(node) for node in _of("Node")}
    pools: Counter[tuple[str, str]] = Counter()
    counts: dict[tuple[str, str], object] = {}
    for each in _of("ResourceSlice"):
        assert text(at(each, "spec", "nodeName")) in nodes
        pool = (text(at(each, "spec", "driver")), text(at(each, "spec", "pool", "name")))
        pools[pool] += 1
        counts[pool] = at(each, "spec", "pool", "resourceSliceCount")
    assert pools == counts


def test_what_is_allocated_exists_and_is_held_once() -> None:
    published = {
        DeviceId(
            text(at(each, "spec", "driver")), text(at(each, "spec", "pool", "name")), text(mapping(device)["name"])
        )
        for each in _of("ResourceSlice")
        for device in sequence(at(each, "spec", "devices"))
    }
    held = [
        DeviceId(*(text(mapping(result)[field]) for field in ("driver", "pool", "device")))
        for claim in _of("ResourceClaim")
        for result in sequence(at(claim, "status", "allocation", "devices", "results"))
    ]
    assert set(held) <= published
    assert len(set(held)) == len(held)


def test_every_claim_belongs_to_a_running_pod_on_the_node_of_its_devices() -> None:
    pods = {(text(at(pod, "metadata", "namespace")), _name(pod)): pod for pod in _of("Pod")}
    for claim in _of("ResourceClaim"):
        (consumer,) = sequence(at(claim, "status", "reservedFor"))
        pod = pods[text(at(claim, "metadata", "namespace")), text(mapping(consumer)["name"])]
        assert mapping(consumer)["uid"] == at(pod, "metadata", "uid")
        assert {
            mapping(result)["pool"] for result in sequence(at(claim, "status", "allocation", "devices", "results"))
        } == {at(pod, "spec", "nodeName")}


@pytest.mark.parametrize("resource", ["cpu", "memory"])
def test_no_node_holds_more_than_it_has(resource: str) -> None:
    used: Counter[str] = Counter()
    for pod in _of("Pod"):
        for container in sequence(at(pod, "spec", "containers")):
            used[text(at(pod, "spec", "nodeName"))] += amount(at(container, "resources", "requests", resource)) or 0
    for node in _of("Node"):
        assert used[_name(node)] <= (amount(at(node, "status", "allocatable", resource)) or 0), _name(node)


def test_the_shared_counters_of_the_partitioned_node_are_in_a_slice_of_their_own_and_not_overdrawn() -> None:
    slices = [each for each in _of("ResourceSlice") if at(each, "spec", "pool", "name") == "h100-mig-1"]
    counters = {
        (text(mapping(group)["name"]), name): amount(mapping(counter)["value"])
        for each in slices
        for group in sequence(at(each, "spec", "sharedCounters"))
        for name, counter in mapping(mapping(group)["counters"]).items()
    }
    assert len(counters) == 4 * 10
    held = {
        text(mapping(result)["device"])
        for claim in _of("ResourceClaim")
        for result in sequence(at(claim, "status", "allocation", "devices", "results"))
        if mapping(result)["pool"] == "h100-mig-1"
    }
    assert held
    drawn: Counter[tuple[str, str]] = Counter()
    for each in slices:
        for device in sequence(at(each, "spec", "devices")):
            for use in sequence(mapping(device).get("consumesCounters")) if mapping(device)["name"] in held else ():
                for name, counter in mapping(mapping(use)["counters"]).items():
                    drawn[text(mapping(use)["counterSet"]), name] += amount(mapping(counter)["value"]) or 0
    assert all(value <= (counters[key] or 0) for key, value in drawn.items())


def test_story_1_puts_two_of_four_pods_on_existing_nodes_and_orders_two_nodes_of_one_group() -> None:
    found = _told("story-1")
    assert isinstance(found, Plan)
    targets = [placement.target for placement in found.placements]
    assert sorted(str(target) for target in targets if isinstance(target, ExistingNode)) == ["h100-b-1", "h100-b-2"]
    assert sorted(str(target) for target in targets if isinstance(target, NewNode)) == ["h100-b#0", "h100-b#1"]
    assert [(order.group, order.count) for order in found.orders] == [("h100-b", 2)]
    assert found.cost == pytest.approx(196.64)


def test_story_1_gives_each_pod_four_devices_of_a_numa_node_and_the_nic_beside_the_first() -> None:
    found = _told("story-1")
    assert isinstance(found, Plan)
    for placement in found.placements:
        (claim,) = placement.claims
        chosen = {request: [] for request in ("lead-gpu", "gpus", "nic")}
        for result in claim.results:
            chosen[result.request].append(result.device.device.rpartition("-")[2])
        assert chosen["lead-gpu"] == chosen["nic"]
        assert len({int(index) // 4 for index in (*chosen["lead-gpu"], *chosen["gpus"])}) == 1
        assert len(chosen["gpus"]) == 3


def test_story_2_orders_three_nodes_of_the_cheaper_group_which_has_one_left() -> None:
    found = _told("story-2")
    assert isinstance(found, Plan)
    assert [(order.group, order.count) for order in found.orders] == [("h100-a", 3)]
    drivers = {_name(group): mapping(at(group, "spec", "driver")) for group in _of("NodeGroup")}
    assert drivers["h100-a"]["capacity"] == 1
    assert "capacity" not in drivers["h100-b"]


def test_story_2_is_served_by_the_other_group_when_the_cheaper_one_is_out() -> None:
    found = _told("story-2", Policy(excluded_groups=frozenset([NodeGroupName("h100-a")])))
    assert isinstance(found, Plan)
    assert [(order.group, order.count) for order in found.orders] == [("h100-b", 3)]


def test_story_3_never_fits_and_the_sentence_names_the_constraint_and_the_closest_shape() -> None:
    found = _told("story-3")
    assert isinstance(found, NoPlan)
    assert found.kind is NoPlanKind.NEVER
    assert found.even_empty
    assert found.reasons[0].code is ReasonCode.SHAPE
    assert "resource.kubernetes.io/numaNode" in found.sentence()
    assert (found.reasons[0].data["wanted"], found.reasons[0].data["found"]) == (8, 4)
