from support.audits import row_of
from support.cluster_objects import (
    GPU,
    Json,
    a_claim,
    a_class,
    a_device,
    a_node,
    a_pod,
    a_request,
    a_running,
    a_slice,
    a_waiting,
    gpus,
)

SOLD = [a_node(**{"example.com/gpu": "4"}), a_class(), a_slice(devices=gpus(4))]


def kind(name: str) -> Json:
    return a_request("g", GPU, f'device.attributes["{GPU}"].kind == "{name}"')


def test_a_parent_beside_its_partitions_is_unsafe_and_a_partition_is_not() -> None:
    devices = [a_device("whole", kind="w", uuid="U"), a_device("part", kind="p", parentUUID="U")]
    fleet = [a_node(), a_class(), a_slice(devices=devices)]
    row = row_of("p", *fleet, *a_waiting("p", kind("w")))
    assert (row.verdict, row.why.startswith("whole is the parent (uuid = parentUUID) of 1 partition")) == (
        "unsafe",
        True,
    )
    assert row_of("p", *fleet, *a_waiting("p", kind("p"))).verdict == "feasible"


def test_a_device_whose_twin_is_held_is_unsafe() -> None:
    twins = [a_slice(devices=[a_device("a", uuid="U")]), a_slice(devices=[a_device("b", uuid="U")], pool="p", name="p")]
    row = row_of("p", a_node(), a_class(), *twins, *a_running("r", "a"), *a_waiting("p"))
    assert (row.verdict, row.why) == ("unsafe", "b and a share uuid U; a is held by claim team-a/r (pod r)")


def test_devices_whose_integers_are_handed_out_are_unsafe_up_to_what_is_left_and_short_beyond() -> None:
    legacy = a_pod("legacy", node="node-a", requests={"example.com/gpu": "2"})
    two, three = (a_waiting("p", a_request(count=count)) for count in (2, 3))
    assert row_of("p", *SOLD, legacy, *two).verdict == "unsafe"
    assert row_of("p", *SOLD, legacy, *three).reason == "shortage"
    assert row_of("p", *SOLD, *three).verdict == "feasible"


def test_an_integer_of_a_node_whose_devices_are_claimed_is_unsafe() -> None:
    row = row_of("p", *SOLD, *a_running("r", "gpu-0"), a_pod("p", requests={"example.com/gpu": "1"}))
    assert (row.verdict, "which ones example.com/gpu would hand out is unknown" in row.why) == ("unsafe", True)
    many = row_of("p", *SOLD, *a_running("r", "gpu-0"), a_pod("p", requests={"example.com/gpu": "4"}))
    assert many.verdict == "infeasible"


def test_counters_of_a_pool_with_a_device_that_nobody_knows_any_more_are_unsafe() -> None:
    draw = [{"counterSet": "s", "counters": {"m": {"value": "1"}}}]
    slices = [
        a_slice(name="c", count=2, sharedCounters=[{"name": "s", "counters": {"m": {"value": "2"}}}]),
        a_slice(name="d", count=2, devices=[a_device("x", consumesCounters=draw)]),
    ]
    held = [a_claim("old", held=["gone"], by="r"), a_pod("r", "old", node="node-a")]
    row = row_of("p", a_node(), a_class(), *slices, *held, *a_waiting("p"))
    assert (row.verdict, "what it draws from the counters of pool node-a is unknown" in row.why) == ("unsafe", True)
