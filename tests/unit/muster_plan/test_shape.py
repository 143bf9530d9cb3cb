from typing import Any

import pytest

from muster_dra import parse_slice
from muster_plan import compare_shape, domain_mismatches, parse_cluster_node, parse_node_group
from muster_plan.shape import ShapeMismatch
from muster_types import NodeName
from unit.muster_plan.builders import GPU, RACK, ROOT, gpu, gpus, group, node


def compared(
    promised: dict[str, Any], arrived: list[dict[str, Any]], domain_label: str = ""
) -> tuple[ShapeMismatch, ...]:
    body, *slices = arrived
    template = parse_node_group(promised).template
    return compare_shape(
        template, parse_cluster_node(body), [parse_slice(each) for each in slices], domain_label=domain_label
    )


def arrival(devices: list[dict[str, Any]], **more: Any) -> list[dict[str, Any]]:
    labels = {"muster.dev/pool": "h100", **more.pop("labels", {})}
    return node("new-a", devices=devices, labels=labels, **more)


def test_an_arrival_as_promised_has_no_mismatch_and_more_than_promised_is_none() -> None:
    assert not compared(group("h100", devices=gpus(4)), arrival(gpus(4)))
    assert not compared(group("h100", devices=gpus(4)), arrival(gpus(8)))


def test_names_and_order_of_devices_are_no_promise() -> None:
    renamed = [{**each, "name": f"dev-{9 - index}"} for index, each in enumerate(gpus(4))]
    assert not compared(group("h100", devices=gpus(4)), arrival(renamed))


def test_a_device_that_publishes_more_than_was_promised_keeps_the_promise_under_any_name() -> None:
    rich = [gpu(index, serial=f"s-{index}") for index in range(4)]
    renamed = [{**each, "name": f"dev-{index}"} for index, each in enumerate(rich)]
    for arrived in (rich, renamed, [*rich[:2], *gpus(4)[2:]]):
        assert not compared(group("h100", devices=gpus(4)), arrival(arrived))
    (short,) = compared(group("h100", devices=gpus(4)), arrival(renamed[:3]))
    assert short.sentence == "3 of 4 promised devices of gpu.example.com arrived (3 are there in all)"


@pytest.mark.parametrize(
    ("arrived", "check", "sentence"),
    [
        (gpus(3), "C2", "3 of 4 promised devices of gpu.example.com arrived (3 are there in all)"),
        (
            [*gpus(3), gpu(3, model="a100")],
            "C3",
            "gpu.example.com gpu-3: gpu.example.com/model is a100, the template says h100",
        ),
        (
            [*gpus(3), gpu(3, numa=1)],
            "C3",
            "gpu.example.com gpu-3: gpu.example.com/numa is 1, the template says 0",
        ),
        (
            [*gpus(3), gpu(3, memory="40Gi")],
            "C6",
            "gpu.example.com gpu-3: capacity memory is 40Gi, the template says 80Gi",
        ),
        (
            [*gpus(3), gpu(3, taints=[{"key": "sick", "effect": "NoSchedule"}])],
            "C7",
            "gpu.example.com gpu-3 is tainted sick:NoSchedule",
        ),
    ],
)
def test_c2_c3_c6_c7_each_broken_promise_is_told_with_its_evidence(
    arrived: list[dict[str, Any]], check: str, sentence: str
) -> None:
    found = compared(group("h100", devices=gpus(4)), arrival(arrived))
    assert [(each.check, each.sentence) for each in found] == [(check, sentence)]


def test_c1_a_driver_that_publishes_nothing_is_missing() -> None:
    found = compared(group("h100", devices=gpus(1)), arrival([]))
    assert found[0].check == "C1"
    assert found[0].sentence == "0 of 1 pools of gpu.example.com arrived"


def test_c1_an_incomplete_pool_is_told_by_its_slices() -> None:
    body, half = arrival(gpus(4))
    half["spec"]["pool"]["resourceSliceCount"] = 2
    assert "1 of 2 slices" in compared(group("h100", devices=gpus(4)), [body, half])[0].sentence


def test_c4_a_unique_attribute_that_repeats_is_a_mismatch() -> None:
    devices = [gpu(index, attributes={"uuid": {"string": f"GPU-{index}"}}) for index in range(2)]
    promised = group("h100", devices=devices, template={"uniqueAttributes": [f"{GPU}/uuid"]})
    assert not compared(promised, arrival(devices))
    same = [gpu(index, attributes={"uuid": {"string": "GPU-0"}}) for index in range(2)]
    assert [each.check for each in compared(promised, arrival(same))] == ["C4"]


def test_c5_bound_devices_have_to_share_a_value_of_their_own() -> None:
    plain = [{"name": f"gpu-{i}", "attributes": {"model": {"string": "h100"}}} for i in range(2)]
    promised = group(
        "h100", devices=plain, template={"attributeBindings": [{"attribute": ROOT, "devices": ["gpu-0", "gpu-1"]}]}
    )
    shared = [{**each, "attributes": {**each["attributes"], ROOT: {"string": "pci7"}}} for each in plain]
    assert not compared(promised, arrival(shared))
    apart = [shared[0], {**shared[1], "attributes": {**shared[1]["attributes"], ROOT: {"string": "pci8"}}}]
    (found,) = compared(promised, arrival(apart))
    assert (found.check, found.actual) == ("C5", "gpu-0=pci7, gpu-1=pci8")


def test_c6_resources_below_the_promise_are_a_mismatch() -> None:
    (found,) = compared(group("h100", cpu="64"), arrival([], cpu="32"))
    assert (found.check, found.sentence) == ("C6", "cpu is 32, the template says 64")


def test_c7_the_reservation_taint_is_ours_and_no_mismatch() -> None:
    held = [{"key": "muster.dev/gang", "value": "g", "effect": "NoSchedule"}]
    assert not compared(group("h100"), arrival([], taints=held))
    sick = [{"key": "sick", "effect": "NoExecute"}]
    assert [each.check for each in compared(group("h100"), arrival([], taints=sick))] == ["C7"]


def test_c8_labels_have_to_arrive_but_for_the_value_of_a_unit_domain() -> None:
    promised = group("h100", labels={RACK: "r7"})
    assert [each.sentence for each in compared(promised, arrival([], labels={RACK: "r8"}))] == [
        f"label {RACK} is r8, the template says r7"
    ]
    assert not compared(promised, arrival([], labels={RACK: "r8"}), domain_label=RACK)
    assert compared(promised, arrival([]), domain_label=RACK)


def test_c8_over_a_set_all_nodes_share_one_value() -> None:
    nodes = {
        NodeName(name): parse_cluster_node(node(name, labels={RACK: rack})[0])
        for name, rack in (("a", "r1"), ("b", "r1"), ("c", "r2"))
    }
    assert not domain_mismatches({name: nodes[name] for name in (NodeName("a"), NodeName("b"))}, RACK)
    assert domain_mismatches(nodes, RACK)[0].actual == "a=r1, b=r1, c=r2"


def test_a_template_that_cannot_be_read_says_so() -> None:
    promised = group("h100", template={"resourceSlices": [{"driver": GPU, "pool": {}}]})
    assert "pool.name" in compared(promised, arrival([]))[0].sentence
