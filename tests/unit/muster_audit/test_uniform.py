from muster_audit.uniform import mixed_class
from support.audits import scene_of, word_of
from support.cluster_objects import GPU, Json, a_class, a_device, a_node, a_pod, a_slice

CLASS = a_class("c", f'device.driver == "{GPU}"', extended="x.com/g")


def mixed(*devices: Json) -> str:
    found = mixed_class("c", scene_of(a_node(), CLASS, a_slice(devices=devices))[0])
    return "" if found is None else found.sentence()


def test_devices_that_differ_in_amount_or_kind_are_mixed() -> None:
    large, small = a_device("l", capacity={"memory": "192Gi"}), a_device("s", capacity={"memory": "24Gi"})
    assert mixed(large, small) == "24Gi memory, 192Gi memory"
    assert mixed(a_device("a", type="gpu"), a_device("b", type="mig")) == "gpu, mig"


def test_devices_that_differ_in_serial_numbers_are_alike() -> None:
    assert mixed(a_device("a", uuid="1", type="gpu"), a_device("b", uuid="2", type="gpu")) == ""


def test_an_unknown_class_is_not_mixed() -> None:
    assert mixed_class("nowhere", scene_of(a_node())[0]) is None


def test_an_integer_that_may_become_any_of_them_is_unsafe() -> None:
    devices = [a_device("l", capacity={"memory": "192Gi"}), a_device("s", capacity={"memory": "24Gi"})]
    pod = a_pod("p", requests={"x.com/g": "1"})
    assert word_of("p", a_node(), CLASS, a_slice(devices=devices), pod) == "unsafe"
