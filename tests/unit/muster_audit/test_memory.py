from muster_audit import Dump
from muster_audit.frames import frames_of
from muster_audit.memory import Memory, is_ready, remember
from muster_types import DeviceId, NodeName
from support.cluster_objects import GPU, Json, a_node, a_slice, gpus


def memory(*dumps: list[Json]) -> Memory:
    return remember(frames_of([Dump(tuple(each)) for each in dumps]))


DEVICE = DeviceId(GPU, "node-a", "gpu-0")


def test_a_slice_that_went_away_is_remembered_until_it_is_back() -> None:
    gone = memory([a_slice(devices=gpus(1)), a_node()], [a_node()])
    assert [(each.node, each.devices, each.when) for each in gone.vanished] == [("node-a", ("gpu-0",), "dump 2")]
    assert gone.vanished_on(NodeName("node-a"))
    assert gone.vanished_on(NodeName("node-b")) == ()
    back = memory([a_slice(devices=gpus(1)), a_node()], [a_node()], [a_slice(devices=gpus(1)), a_node()])
    assert back.vanished == ()


def test_values_that_changed_are_remembered_with_the_generation() -> None:
    found = memory([a_slice(devices=gpus(1, on=True))], [a_slice(devices=gpus(1, on=False), generation=2), a_node()])
    (change,) = found.changes[DEVICE]
    assert change.before is not None
    assert change.after is not None
    assert (change.name, change.before.value, change.after.value, change.generation) == ("on", True, False, 2)


def test_the_last_publication_of_a_device_is_kept() -> None:
    found = memory([a_slice(devices=gpus(2)), a_node()], [a_slice(devices=gpus(1), generation=2), a_node()])
    assert DeviceId(GPU, "node-a", "gpu-1") in found.devices


def test_outages_are_remembered() -> None:
    assert memory([a_node(ready=False)], [a_node()]).unready == {"node-a"}
    assert memory([a_node()], [a_node()]).unready == frozenset()
    assert is_ready({"kind": "Node"})
