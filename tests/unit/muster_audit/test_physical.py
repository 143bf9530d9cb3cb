from muster_audit.physical import Physical, block
from muster_dra import AllocatedState
from muster_types import DeviceId
from support.audits import scene_of
from support.cluster_objects import GPU, Json, a_class, a_device, a_node, a_pod, a_running, a_slice, gpus


def physical(*objects: Json) -> Physical:
    return scene_of(a_node(), a_class(), *objects)[0].physical


WHOLE, PART = a_device("whole", uuid="U"), a_device("part", parentUUID="U")


def ids(*names: str) -> tuple[DeviceId, ...]:
    return tuple(DeviceId(GPU, "node-a", name) for name in names)


def test_a_parent_and_its_partitions_are_related_by_any_name_of_the_parent() -> None:
    found = physical(a_slice(devices=[WHOLE, PART]))
    assert found.conflicts(ids("whole")) == ids("part")
    by_name = physical(a_slice(devices=[a_device("gpu-0"), a_device("gpu-0-1", parent="gpu-0")]))
    assert by_name.conflicts(ids("gpu-0-1")) == ids("gpu-0")


def test_one_identity_in_two_pools_is_one_piece_of_hardware_and_in_one_pool_is_not() -> None:
    twins = physical(a_slice(devices=[WHOLE]), a_slice(devices=[WHOLE], pool="p", name="p"))
    assert [each.identity for each in twins.twins] == ["U"]
    same_pool = physical(a_slice(devices=[WHOLE, a_device("again", uuid="U")]))
    assert same_pool.twins == ()


def test_a_bus_address_is_of_one_node() -> None:
    first, second = a_device("a", pciBusID="0:1"), a_device("b", pciBusID="0:1")
    other = a_slice("node-b", [second], driver="nic.example.com")
    same = a_slice(devices=[second], driver="nic.example.com")
    assert physical(a_node("node-b"), a_slice(devices=[first]), other).twins == ()
    assert len(physical(a_slice(devices=[first]), same).twins) == 1


def test_integers_and_devices_of_one_driver_are_one_hardware() -> None:
    node = a_node("n", **{"example.com/gpu": "4"})
    pods = [a_pod("int", node="n", requests={"example.com/gpu": "2"}), *a_running("r", "gpu-0", node="n")]
    (sold,) = physical(node, a_slice("n", gpus(4)), *pods).sold_twice
    assert (sold.offered, sold.integers, sold.claimed, sold.free) == (4, 2, 1, 1)


def test_a_blocked_device_is_held_and_nothing_blocked_changes_nothing() -> None:
    nothing = AllocatedState.empty()
    assert block(nothing, [], "x") is nothing
    assert block(nothing, ids("a"), "x").holders(ids("a")[0]) == ("x",)
