"""What is free, what fits, what is stranded."""

from muster_fragmentation import Shape, observed_shapes, survey
from muster_plan import Snapshot
from unit.muster_fragmentation.fleets import DRIVER, a_group, a_node, a_slice, a_template, a_view, held


def shape(snapshot: Snapshot, name: str) -> Shape:
    return next(each for each in observed_shapes(snapshot) if each.name == name)


def test_free_devices_are_counted_by_group_domain_and_class() -> None:
    view = a_view(
        a_group("h", pool="h"),
        a_node("n1", pool="h", rack="a"),
        a_node("n2", pool="h", rack="b"),
        a_node("n3", gpus=4),
        held("c", "n1", 0, 1, 2),
    )
    whole = survey(view, ()).classes
    assert [(row.group, row.device_class, row.free, row.devices, row.largest, row.whole_nodes) for row in whole] == [
        ("", "gpu", 4, 4, 4, 1),
        ("h", "gpu", 13, 16, 8, 1),
    ]
    racks = survey(view, (), domain_label="rack").classes
    assert [(row.group, row.domain, row.free) for row in racks] == [("", "", 4), ("h", "a", 5), ("h", "b", 8)]


def test_what_fits_is_told_beside_what_would_fit_if_the_free_devices_lay_together() -> None:
    view = a_view(a_node("n1"), a_node("n2"), a_template("eight", 8), held("a", "n1", 0), held("b", "n2", 0))
    (row,) = (row for row in survey(view, [shape(view, "ml/eight")]).shapes if row.shape == "ml/eight")
    assert (row.copies, row.ideal) == (0, 1)


def test_gangs_count_members_of_one_domain_only() -> None:
    nodes = [a_node(f"n{number}", gpus=2, rack="a" if number < 3 else "b") for number in range(6)]
    view = a_view(*nodes, a_template("two", 2))
    rows = survey(view, [shape(view, "ml/two")], domain_label="rack", gang=2).shapes
    assert [(row.domain, row.copies, row.gangs) for row in rows] == [("a", 3, 1), ("b", 3, 1)]


def test_a_device_is_stranded_when_no_shape_can_take_it_where_it_is() -> None:
    view = a_view(a_node("n1"), a_template("quad", 4, match=True), held("c", "n1", 0))
    (quad,) = (each for each in observed_shapes(view) if each.name == "ml/quad")
    found = survey(view, [quad]).stranded
    assert [each.device.device for each in found] == ["gpu-1", "gpu-2", "gpu-3"]
    assert {each.shape for each in found} == {"ml/quad"}
    assert all("numa" in each.why for each in found)
    assert survey(view, observed_shapes(view)).stranded == (), "the claim of one GPU can take them"


def test_alternatives_count_and_a_device_that_only_the_second_takes_is_no_waste() -> None:
    request = {
        "name": "r",
        "firstAvailable": [
            {"name": "four", "deviceClassName": "gpu", "count": 4},
            {"name": "one", "deviceClassName": "gpu", "count": 1},
        ],
    }
    template = a_template("either", 1)
    template["spec"]["spec"] = {"devices": {"requests": [request]}}
    view = a_view(a_node("n1"), template, held("c", "n1", 0, 1, 2, 3, 4, 5))
    assert survey(view, [shape(view, "ml/either")]).stranded == ()


def test_a_device_that_nobody_asks_for_says_so() -> None:
    other = a_slice("n1", [{"name": "nic-0"}])
    other["metadata"]["name"] = "n1-nics"
    other["spec"]["driver"] = "nic.example.com"
    view = a_view(a_node("n1"), other, a_template("one", 1))
    (found,) = survey(view, observed_shapes(view)).stranded
    assert (found.device.device, found.shape, found.why) == ("nic-0", "", "no shape asks for a device of this kind")


def test_stranded_devices_cost_their_share_of_their_nodes() -> None:
    view = a_view(
        a_group("h", 80, pool="h"), a_node("n1", pool="h"), a_template("quad", 4, match=True), held("c", "n1", 0)
    )
    quad = shape(view, "ml/quad")
    assert survey(view, [quad]).cost == {"h": 30.0}


def test_counters_that_no_partition_can_use_up_are_told() -> None:
    def partition(name: str, memory: str) -> dict[str, object]:
        counters = {"memory": {"value": memory}}
        return {"name": name, "consumesCounters": [{"counterSet": "board", "counters": counters}]}

    partitions = [partition("half", "40Gi"), partition("large-0", "30Gi"), partition("large-1", "30Gi")]
    board = a_slice("n1", partitions)
    shared = a_slice("n1", [])
    shared["metadata"]["name"] = "n1-board"
    del shared["spec"]["devices"]
    shared["spec"]["sharedCounters"] = [{"name": "board", "counters": {"memory": {"value": "80Gi"}}}]
    for each in (board, shared):
        each["spec"]["pool"]["resourceSliceCount"] = 2
    claim = held("c", "n1", 0)
    claim["status"]["allocation"]["devices"]["results"][0]["device"] = "half"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    (waste,) = survey(a_view(node, board, shared, claim), ()).counters
    assert (waste.pool, waste.counter_set, waste.counter) == (f"{DRIVER}/n1", "board", "memory")
    assert [nano / 10**9 / 2**30 for nano in (waste.total, waste.left, waste.wasted)] == [80, 40, 10]


def test_equal_specs_are_one_shape_and_the_most_frequent_comes_first() -> None:
    view = a_view(a_node("n1"), a_template("one", 1), a_template("uno", 1), a_template("two", 2), held("c", "n1", 0))
    found = [(each.name, each.devices, each.seen) for each in observed_shapes(view)]
    assert found == [("ml/one", 1, 3), ("ml/two", 2, 1)]
