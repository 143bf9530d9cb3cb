from pathlib import Path

from muster_kube import ClusterDirectory
from muster_provisioner.adapters.node_marker import DirectoryMarker, marked
from muster_provisioner.ports import NodeMark
from muster_types import GangId, NodeGroupName, NodeName, ObjectKey, OrderId

MARK = NodeMark(OrderId("train-a1-1"), GangId("train"), NodeGroupName("h100"), 2)
OWN = {"key": "accelerator", "effect": "NoSchedule"}


def a_node(**labels: str) -> dict[str, object]:
    return {"kind": "Node", "metadata": {"name": "n1", "labels": labels}, "spec": {"taints": [OWN]}}


def test_a_node_gets_labels_and_the_reservation() -> None:
    assert marked(a_node(zone="a"), MARK) == {
        "metadata": {
            "labels": {
                "zone": "a",
                "muster.dev/gang": "train",
                "muster.dev/order": "train-a1-1",
                "muster.dev/node-group": "h100",
                "muster.dev/ordinal": "2",
            },
            "annotations": {"muster.dev/marked-for": "train-a1-1"},
        },
        "spec": {"taints": [OWN, {"key": "muster.dev/gang", "value": "train", "effect": "NoSchedule"}]},
    }


def test_a_node_that_was_marked_before_is_left_alone_so_that_a_lifted_reservation_stays_lifted() -> None:
    change = marked(a_node(), MARK)
    assert change is not None
    lifted = {"metadata": {**change["metadata"], "labels": {}}, "spec": {}}  # type: ignore[dict-item]
    assert marked(lifted, MARK) is None


async def test_a_directory_keeps_what_else_stands_on_the_node(tmp_path: Path) -> None:
    directory = ClusterDirectory((), tmp_path)
    directory.put({"apiVersion": "v1", **a_node(zone="a"), "status": {"allocatable": {"cpu": "8"}}})
    marker, key = DirectoryMarker(directory), ObjectKey("Node", "", "n1")
    await marker.mark(NodeName("n1"), MARK)
    first = directory.get(key)
    await marker.mark(NodeName("n1"), NodeMark(OrderId("b"), GangId("other"), NodeGroupName("h100"), 0))
    assert directory.get(key) == first
    assert first is not None
    assert first["status"] == {"allocatable": {"cpu": "8"}}
    assert first["metadata"]["labels"]["muster.dev/ordinal"] == "2"  # type: ignore[index]


async def test_a_node_that_is_gone_is_passed_over(tmp_path: Path) -> None:
    directory = ClusterDirectory((), tmp_path)
    await DirectoryMarker(directory).mark(NodeName("n1"), MARK)
    assert directory.list().objects == {}
