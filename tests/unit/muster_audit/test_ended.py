from muster_audit.ended import unguarded
from muster_dra import Device, parse_slice
from support.audits import row_of
from support.cluster_objects import GPU, a_class, a_device, a_node, a_request, a_slice, a_waiting, gpus

FAST = f'device.attributes["{GPU}"].fast == true'


def devices() -> list[tuple[object, Device]]:
    slice_ = parse_slice(a_slice(devices=[a_device("a", fast=True), a_device("b")]))
    return [(slice_.pool.device(each.name), each) for each in slice_.devices]


def test_a_presence_test_is_proposed_for_what_some_device_lacks() -> None:
    assert unguarded(FAST, devices()) == [f'"fast" in device.attributes["{GPU}"]']  # pyright: ignore[reportArgumentType] -- ids
    guarded = f'"fast" in device.attributes["{GPU}"] && {FAST}'
    assert unguarded(guarded, devices()) == []  # pyright: ignore[reportArgumentType] -- ids


def test_a_selector_that_fails_ends_the_attempt_and_gets_its_guard() -> None:
    row = row_of("p", a_node(), a_class(), a_slice(devices=gpus(1)), *a_waiting("p", a_request("g", GPU, FAST)))
    assert (row.verdict, row.scale_up) == ("selector-error", "never")
    assert row.remedy == f'guard it with a presence test: "fast" in device.attributes["{GPU}"] && ...'


def test_too_many_devices_and_a_missing_class_end_it_too() -> None:
    many = row_of("p", a_node(), a_class(), a_slice(devices=gpus(40)), *a_waiting("p", a_request(count=33)))
    assert (many.reason, "at most 32" in many.remedy) == ("api-limit", True)
    none = row_of("p", a_node(), a_slice(devices=gpus(1)), *a_waiting("p"))
    assert (none.reason, none.remedy) == ("class-missing", "create the DeviceClass, or name one that exists")
