import orjson
import pytest

from muster_dra.objects.slices import ResourceSlice
from muster_inventory.domain.node import Purpose, Ready, Unready
from muster_inventory.domain.seen import GroupSeen, NodeSeen, Unreadable
from muster_inventory.wire.objects import read_object
from muster_types import GangId, ObjectKey, OrderId

NODE = ObjectKey("Node", "", "n")
LABELS = {
    "muster.dev/gang": "g",
    "muster.dev/order": "g-a1-0",
    "muster.dev/node-group": "h100",
    "muster.dev/ordinal": "2",
}


def a_node(**more: object) -> bytes:
    return orjson.dumps({"kind": "Node", "metadata": {"name": "n", "labels": more.pop("labels", {})}, **more})


def read_node(json: bytes) -> NodeSeen:
    seen = read_object(NODE, json)
    assert isinstance(seen, NodeSeen)
    return seen


def test_the_labels_of_an_ordered_node_say_what_it_is_for() -> None:
    seen = read_node(a_node(labels=LABELS))
    assert seen.purpose == Purpose(OrderId("g-a1-0"), GangId("g"), 2)
    assert seen.group_label == "h100"


def test_a_node_without_an_order_has_no_purpose() -> None:
    assert read_node(a_node(labels={"muster.dev/gang": "g"})).purpose is None


def test_a_wrong_ordinal_is_told_by_its_label() -> None:
    seen = read_object(NODE, a_node(labels={**LABELS, "muster.dev/ordinal": "two"}))
    assert seen == Unreadable("metadata.labels.muster.dev/ordinal", "want the ordinal as digits, got 'two'")


@pytest.mark.parametrize(
    ("more", "readiness"),
    [
        ({}, Ready()),
        ({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, Ready()),
        ({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, Unready("Ready is Unknown")),
        (
            {"status": {"conditions": [{"type": "Ready", "status": "False", "message": "no network"}]}},
            Unready("Ready is False: no network"),
        ),
        ({"spec": {"unschedulable": True}}, Unready("the node is cordoned (spec.unschedulable)")),
    ],
)
def test_what_keeps_pods_from_a_node_is_told(more: dict[str, object], readiness: object) -> None:
    assert read_node(a_node(**more)).readiness == readiness


def test_a_group_says_how_many_pools_and_devices_a_new_node_is_to_show() -> None:
    slices = [
        {"driver": "gpu", "pool": {"name": "a"}, "devices": [{"name": "0"}, {"name": "1"}]},
        {"driver": "gpu", "pool": {"name": "a"}, "devices": [{"name": "2"}]},
        {"driver": "gpu", "pool": {"name": "b"}, "devices": []},
        {"driver": "nic", "pool": {"name": "a"}, "devices": [{"name": "0"}]},
    ]
    group = {"metadata": {"name": "h"}, "spec": {"maxSize": 2, "template": {"resourceSlices": slices}}}
    seen = read_object(ObjectKey("NodeGroup", "", "h"), orjson.dumps(group))
    assert isinstance(seen, GroupSeen)
    assert seen.promised_pools == {"gpu": 2, "nic": 1}
    assert seen.promised_devices == 4


def test_what_does_not_matter_of_a_group_is_not_declared() -> None:
    def declared(**meta: str) -> bytes:
        group = {"metadata": {"name": "h", **meta}, "spec": {"maxSize": 2}, "status": {"seen": meta}}
        seen = read_object(ObjectKey("NodeGroup", "", "h"), orjson.dumps(group))
        assert isinstance(seen, GroupSeen)
        return seen.declaration.json

    assert declared(resourceVersion="1") == declared(resourceVersion="2", uid="x")


def test_a_slice_is_read_by_the_engine() -> None:
    body = {
        "metadata": {"name": "s"},
        "spec": {"driver": "gpu", "nodeName": "n", "pool": {"name": "n", "resourceSliceCount": 1}},
    }
    seen = read_object(ObjectKey("ResourceSlice", "", "s"), orjson.dumps(body))
    assert isinstance(seen, ResourceSlice)


@pytest.mark.parametrize("json", [b"", b"{", b"[]", b'{"metadata": []}', b'{"metadata": {}}'])
def test_what_is_no_object_is_a_value_with_its_reason(json: bytes) -> None:
    seen = read_object(ObjectKey("ResourceSlice", "", "s"), json)
    assert isinstance(seen, Unreadable)
    assert seen.reason


def test_kinds_that_the_inventory_does_not_keep_are_passed_over_unread() -> None:
    assert read_object(ObjectKey("Pod", "team", "p"), b"{") is None
