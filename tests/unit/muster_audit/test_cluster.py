from muster_audit import Cluster, Dump, Refused
from muster_types import DeviceId, ObjectKey
from support.cluster_objects import GPU, a_claim, a_class, a_group, a_node, a_slice, a_waiting, gpus


def test_a_cluster_knows_its_ghosts_inconsistent_pools_and_refusals() -> None:
    refused = Refused(ObjectKey("ResourceSlice", "", "bad"), "spec.pool", "is missing")
    objects = (
        a_node(),
        a_class(),
        a_slice(devices=gpus(1), name="a"),
        a_slice(devices=[], name="b", count=2),
        a_claim("old", held=["gpu-9"], by="x", node="node-b"),
    )
    cluster = Cluster.from_dumps([Dump(objects, (refused,))])
    assert list(cluster.ghosts) == [DeviceId(GPU, "node-b", "gpu-9")]
    assert [pool.name for pool in cluster.inconsistent] == ["node-a"]
    assert [each.key.name for each in cluster.refusals()] == ["bad"]


def test_objects_that_cannot_be_read_are_refusals_too() -> None:
    broken = a_slice(devices=gpus(1))
    broken["spec"] = {"driver": GPU}
    assert [each.key.kind for each in Cluster.from_dumps([Dump((a_node(), broken))]).refusals()] == ["ResourceSlice"]


def test_an_object_can_be_had_as_given() -> None:
    cluster = Cluster.from_dumps([Dump((a_node(), *a_waiting("p")))])
    assert cluster.raw("Pod", "team-a", "p")["kind"] == "Pod"
    assert cluster.raw("Pod", "team-a", "q") == {}


def test_devices_are_stripped_for_answers_and_kept_for_words() -> None:
    cluster = Cluster.from_dumps([Dump((a_node(), a_class(), a_slice(devices=gpus(1, serial="abc"))))])
    key = ObjectKey("ResourceSlice", "", f"node-a-{GPU}")
    assert "serial" in cluster.full.tables.slices[key].devices[0].attributes
    assert "serial" not in cluster.snapshot.tables.slices[key].devices[0].attributes


def test_a_group_that_nobody_described_is_learned_from_its_nodes() -> None:
    node = a_node(labels={"group": "g"})
    cluster = Cluster.from_dumps([Dump((node, a_class(), a_slice(devices=gpus(2)), a_group("g")))])
    assert cluster.learned["g"].node == "node-a"
