from dataclasses import replace
from datetime import UTC, datetime

from muster_dra.objects.claims import parse_claim
from muster_dra.objects.slices import Device, NodePlace, PoolId, ResourceSlice
from muster_inventory.domain.node import Purpose, Ready
from muster_inventory.domain.pool import PoolState
from muster_inventory.domain.seen import (
    InputMended,
    InputRejected,
    ListCompleted,
    NodeSeen,
    ObjectGone,
    ObjectSeen,
    Origin,
    Problem,
    ProblemId,
    Severity,
    Unreadable,
)
from muster_inventory.handlers.world import ClusterWorld
from muster_plan.nodes import parse_cluster_node
from muster_types import DeviceId, GangId, NodeName, ObjectKey, OrderId

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
FIRST, SECOND = Origin("1", "1", NOON), Origin("2", "2", NOON)
N1 = NodeName("n1")
NODE = ObjectKey("Node", "", "n1")
GPUS = PoolId("gpu", "n1")
PURPOSE = Purpose(OrderId("g-a1-0"), GangId("g"), 0)
A, B = ProblemId("directory/a"), ProblemId("directory/b")


def a_node(purpose: Purpose | None = None) -> NodeSeen:
    return NodeSeen(parse_cluster_node({"metadata": {"name": N1}}), Ready(), None, purpose)


def a_slice(name: str, device: str, count: int = 1) -> ObjectSeen:
    key = ObjectKey("ResourceSlice", "", name)
    return ObjectSeen(key, ResourceSlice(name, GPUS, 1, count, NodePlace(node_name="n1"), devices=(Device(device),)))


def test_a_changed_slice_touches_its_pool_and_its_node() -> None:
    world = ClusterWorld()
    world.apply(a_slice("a", "gpu-0"), FIRST)
    changed = world.take_changed()
    assert (set(changed.pools), set(changed.nodes)) == ({GPUS}, {N1})
    assert not world.take_changed()


def test_the_newest_fact_is_the_origin_of_what_follows() -> None:
    world = ClusterWorld()
    world.apply(ObjectSeen(NODE, a_node()), FIRST)
    world.apply(a_slice("a", "gpu-0"), SECOND)
    assert world.take_changed().nodes == {N1: SECOND}


def test_what_could_not_be_decided_stays_changed_unless_something_newer_came() -> None:
    world = ClusterWorld()
    world.apply(ObjectSeen(NODE, a_node()), FIRST)
    taken = world.take_changed()
    world.hand_back(taken)
    assert world.take_changed().nodes == {N1: FIRST}
    world.apply(ObjectSeen(NODE, a_node()), SECOND)
    world.hand_back(taken)
    assert world.take_changed().nodes == {N1: SECOND}


def test_a_pool_follows_its_slices() -> None:
    world = ClusterWorld()
    world.apply(a_slice("a", "gpu-0", count=2), FIRST)
    half = world.pool(GPUS)
    world.apply(a_slice("b", "gpu-1", count=2), FIRST)
    whole = world.pool(GPUS)
    assert half is not None
    assert whole is not None
    assert (half.state, whole.state) == (PoolState.INCOMPLETE, PoolState.COMPLETE)
    for name in ("a", "b"):
        world.apply(ObjectGone(ObjectKey("ResourceSlice", "", name)), SECOND)
    assert world.pool(GPUS) is None
    assert world.pools_on(N1) == []
    assert world.pool_ids() == []


def test_a_lost_node_is_remembered_with_its_purpose_until_that_was_told() -> None:
    world = ClusterWorld()
    world.apply(ObjectSeen(NODE, a_node(PURPOSE)), FIRST)
    world.apply(ObjectGone(NODE), SECOND)
    assert world.take_changed().lost == {N1: PURPOSE}
    assert world.take_changed().lost == {}


def test_an_object_that_cannot_be_read_any_more_is_absent_and_a_problem_until_it_is_mended() -> None:
    world = ClusterWorld()
    world.apply(ObjectSeen(NODE, a_node()), FIRST)
    world.apply(ObjectSeen(NODE, Unreadable("status", "want an object")), SECOND)
    assert world.nodes == {}
    assert world.problems() == [Problem("observed", "Node/n1", "status", "want an object")]
    world.apply(ObjectSeen(NODE, a_node()), SECOND)
    assert world.problems() == []


def test_rejected_inputs_are_problems_until_they_are_mended() -> None:
    world = ClusterWorld()
    problem = Problem("dump.yaml:3", "Node/x", "spec", "is required")
    world.apply(InputRejected(A, problem), FIRST)
    assert world.problems() == [problem]
    world.apply(InputMended(A), FIRST)
    assert world.problems() == []


def test_two_faults_of_one_object_are_two_problems_and_one_that_moves_stays_one() -> None:
    world = ClusterWorld()
    spec = Problem("dump.yaml:3", "Node/x", "spec", "is required")
    status = Problem("dump.yaml:3", "Node/x", "status", "want an object")
    world.apply(InputRejected(A, spec), FIRST)
    world.apply(InputRejected(B, status), FIRST)
    moved = replace(spec, source="dump.yaml:8")
    world.apply(InputRejected(A, moved), SECOND)
    assert world.problems() == [status, moved]
    world.apply(InputMended(A), SECOND)
    assert world.problems() == [status]


def test_errors_are_told_before_warnings() -> None:
    world = ClusterWorld()
    odd = Problem("a.yaml:1", "Node/a", "spec.colour", "is not known", Severity.WARNING)
    wrong = Problem("z.yaml:1", "Node/z", "spec", "is required")
    world.apply(InputRejected(A, odd), FIRST)
    world.apply(InputRejected(B, wrong), FIRST)
    assert world.problems() == [wrong, odd]


def test_a_device_is_held_by_the_claims_whose_allocation_names_it() -> None:
    claim = {
        "metadata": {"name": "c", "namespace": "team"},
        "spec": {"devices": {"requests": []}},
        "status": {
            "allocation": {"devices": {"results": [{"request": "r", "driver": "gpu", "pool": "n1", "device": "gpu-0"}]}}
        },
    }
    key, device = ObjectKey("ResourceClaim", "team", "c"), DeviceId("gpu", "n1", "gpu-0")
    world = ClusterWorld()
    for _ in range(2):  # a repeat counts once
        world.apply(ObjectSeen(key, parse_claim(claim)), FIRST)
    assert world.held.holders(device) == ("team/c",)
    world.apply(ObjectGone(key), SECOND)
    assert world.held.holders(device) == ()


def test_a_list_is_whole_once_a_source_said_so() -> None:
    world = ClusterWorld()
    assert not world.listed
    world.apply(ListCompleted("dump"), FIRST)
    assert world.listed
