from muster_audit.facts import Published, attribute_text, identity_of, names_hardware, parent_reference
from muster_dra import Features, parse_slice
from muster_plan import Snapshot
from muster_types import DeviceId, NodeName
from support.cluster_objects import GPU, Json, a_class, a_device, a_slice, gpus


def published(*objects: Json) -> Published:
    snapshot = Snapshot.build(objects, features=Features.v1_37())
    return Published.of(snapshot, snapshot)


def test_the_newest_generation_of_a_pool_is_what_is_published() -> None:
    old = a_slice(devices=gpus(2), name="old")
    new = a_slice(devices=gpus(1), name="new", generation=2)
    assert [id_.device for id_ in published(old, new).devices] == ["gpu-0"]


def test_devices_that_selectors_cannot_tell_apart_are_one_look() -> None:
    found = published(a_slice("a", gpus(2)), a_slice("b", gpus(1)), a_class())
    (look,) = found.looks
    assert len(look.ids) == 3
    (device_class,) = found.snapshot.tables.classes.values()
    assert len(list(found.of_class(device_class))) == 3
    assert found.drivers_of(device_class) == {GPU}


def test_a_class_whose_selector_fails_on_a_device_does_not_select_it() -> None:
    picky = a_class("picky", f'device.attributes["{GPU}"].fast == true')
    found = published(a_slice(devices=[a_device("a", fast=True), a_device("b")]), picky)
    (device_class,) = found.snapshot.tables.classes.values()
    assert [id_.device for id_ in found.of_class(device_class)] == ["a"]


def test_the_node_of_a_device_is_the_one_that_its_slice_names() -> None:
    found = published(a_slice(devices=gpus(1)), a_slice("x", gpus(1), pool="fabric", allNodes=True))
    assert found.node_of(DeviceId(GPU, "node-a", "gpu-0")) == "node-a"
    assert found.node_of(DeviceId(GPU, "fabric", "gpu-0")) == ""


def test_names_of_hardware_are_told_from_other_attributes() -> None:
    (device,) = parse_slice(
        a_slice(devices=[a_device("a", uuid="u", model="m", pciBusID="0:1", parentUUID="p")])
    ).devices
    assert identity_of(GPU, device, NodeName("n")) == [("identity", "u"), ("bus address on n", "0:1")]
    assert identity_of(GPU, device, NodeName("")) == [("identity", "u")]
    assert list(parent_reference(device)) == [("uuid", "p")]
    assert (names_hardware("x/UUID"), names_hardware("model")) == (True, False)


def test_values_are_written_as_people_write_them() -> None:
    listed = a_device("a", flags={"strings": ["x", "y"]}, on=True, count=3)
    (device,) = parse_slice(a_slice(devices=[listed])).devices
    texts = {name: attribute_text(value) for name, value in device.attributes.items()}
    assert texts == {"flags": "[x, y]", "on": "true", "count": "3"}
    assert attribute_text(None) == ""
