from muster_audit.scene import Hold
from support.audits import scene_of
from support.cluster_objects import a_class, a_device, a_node, a_slice, gpus


def test_a_cluster_without_doubtful_hardware_has_one_state() -> None:
    scene, _ = scene_of(a_node(), a_class(), a_slice(devices=gpus(1)))
    assert scene.now.counted is scene.now.careful
    assert scene.held is scene.now


def test_doubtful_hardware_is_blocked_in_the_careful_state_alone() -> None:
    pair = [a_device("whole", uuid="U"), a_device("part", parentUUID="U")]
    scene, _ = scene_of(a_node(), a_class(), a_slice(devices=pair))
    (parent,) = [each.parent for each in scene.physical.overlaps]
    assert scene.now.careful.fleet.allocated.holders(parent)
    assert not scene.now.counted.fleet.allocated.holders(parent)


def test_without_bookings_nothing_is_held() -> None:
    scene, _ = scene_of(a_node(), a_class())
    assert scene.holding([], [Hold("x", frozenset(), 0, 1, 2)]) is scene
