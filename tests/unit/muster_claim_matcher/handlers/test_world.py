from muster_claim_matcher.domain.seen import ListCompleted, ObjectGone, ObjectSeen
from muster_claim_matcher.handlers.world import ClusterWorld
from muster_types import DeviceId, NodeName, ObjectKey
from unit.muster_claim_matcher.objects import a_consuming_pod, a_node, an_allocated_claim

POD = ObjectKey("Pod", "team", "llm-workers-0")
NODE = ObjectKey("Node", "", "node-1")
CLAIM = ObjectKey("ResourceClaim", "team", "c")


def test_the_newest_form_of_an_object_counts() -> None:
    world = ClusterWorld()
    for cpu in ("64", "32"):
        world.apply(ObjectSeen(NODE, a_node("node-1", cpu=cpu)))
    node = world.snapshot().node(NodeName("node-1"))
    assert node is not None
    assert node.allocatable["cpu"] == 32 * 10**9
    world.apply(ObjectGone(NODE))
    assert world.snapshot().node(NodeName("node-1")) is None


def test_pods_are_found_by_the_request_whose_capacity_they_use() -> None:
    world = ClusterWorld()
    world.apply(ObjectSeen(POD, a_consuming_pod("llm", 0, "node-1")))
    assert [pod.name for pod in world.pods_of("team", "llm")] == ["llm-workers-0"]
    assert world.pods_of("other", "llm") == ()
    world.apply(
        ObjectSeen(POD, {**a_consuming_pod("llm", 0, "node-1"), "metadata": {"name": POD.name, "namespace": "team"}})
    )
    assert world.pods_of("team", "llm") == ()
    world.apply(ObjectGone(POD))
    assert world.pods_of("team", "llm") == ()


def test_a_node_that_cannot_be_read_any_more_is_absent() -> None:
    world = ClusterWorld()
    world.apply(ObjectSeen(NODE, a_node("node-1")))
    world.snapshot()
    world.apply(ObjectSeen(NODE, {"kind": "Node", "metadata": {"name": "node-1"}, "spec": {"taints": "none"}}))
    assert world.snapshot().node(NodeName("node-1")) is None
    assert NODE in world.snapshot().problems
    world.apply(ObjectSeen(NODE, a_node("node-1")))
    assert world.snapshot().node(NodeName("node-1")) is not None
    assert NODE not in world.snapshot().problems


def test_what_a_claim_holds_does_not_look_free_because_of_a_typing_error() -> None:
    world = ClusterWorld()
    device = DeviceId("gpu.example.com", "node-1", "gpu-0")
    world.apply(ObjectSeen(CLAIM, an_allocated_claim("c", "node-1", ["gpu-0"])))
    assert world.snapshot().held.holders(device) == ("team/c",)
    world.apply(ObjectSeen(CLAIM, {"kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "team"}, "spec": 7}))
    assert world.snapshot().held.holders(device) == ("team/c",)


def test_many_facts_are_folded_without_anybody_looking() -> None:
    world = ClusterWorld()
    for index in range(1500):
        world.apply(ObjectSeen(ObjectKey("Node", "", f"n-{index}"), a_node(f"n-{index}")))
    assert len(world.snapshot().tables.nodes) == 1500


def test_a_list_is_whole_once_a_source_said_so() -> None:
    world = ClusterWorld()
    assert not world.listed
    world.apply(ListCompleted("dump"))
    assert world.listed
