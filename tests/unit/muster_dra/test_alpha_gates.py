"""The gates that 1.37 has off: derived attributes, compatibility groups, optional node operations (§3.11)."""

from typing import Any

import pytest

from muster_dra import (
    AllocatedState,
    Allocation,
    Catalog,
    Defaults,
    Features,
    NoFit,
    allocate,
    parse_claim,
    parse_class,
    parse_node,
    parse_slice,
)
from unit.muster_dra.problem_building import (
    CLASSES,
    A,
    claim,
    counters,
    device,
    draws,
    every,
    exact,
    first,
    held,
    names,
    outcome,
    said,
    slice_of,
)

Json = dict[str, Any]
DERIVED = Features(derived_attributes=True)
GROUPS = Features(compatibility_groups=True)
OPTIONAL = Features(optional_node_operations=True)
PAIR = f"{A}/pair"
BUSES = slice_of(*(device(f"d{bus}", attributes={"bus": bus}) for bus in range(1, 6)))


def deriving(request: Json, expression: str, name: str = PAIR) -> Json:
    request.get("exactly", request)["derivedAttributes"] = [{"name": name, "expression": expression}]
    return request


def bus(text: str) -> str:
    return text.replace("bus", f"device.attributes['{A}'].bus")


@pytest.mark.parametrize(
    ("expression", "chosen"),
    [
        ("bus / 2", ["d2", "d3"]),
        ("bus % 2 == 0", ["d1", "d3"]),
        ("bus > 3 ? 'far' : 'near'", ["d1", "d2"]),
        ("semver(bus < 3 ? '1.0.0' : '2.0.0-rc.1')", ["d1", "d2"]),
    ],
)
def test_a_match_follows_the_derived_value(expression: str, chosen: list[str]) -> None:
    asked = claim(deriving(exact(count=2), bus(expression)), match=[PAIR])
    assert names(outcome([BUSES], asked, features=DERIVED)) == chosen


def test_a_derived_attribute_stands_before_the_published_one() -> None:
    slice_ = slice_of(*(device(f"d{number}", attributes={"pair": number, "bus": 7}) for number in range(2)))
    same = claim(deriving(exact(count=2), bus("bus")), match=[PAIR])
    assert names(outcome([slice_], same, features=DERIVED)) == ["d0", "d1"]
    assert said(outcome([slice_], same)) == "none", "with the gate off nothing is derived"


def test_distinct_values_are_asked_of_the_derived_attribute() -> None:
    asked = claim(deriving(exact(count=3), bus("bus / 2")), distinct=[PAIR])
    assert names(outcome([BUSES], asked, features=DERIVED)) == ["d1", "d2", "d4"]


def test_a_derived_list_is_a_list_to_the_constraint() -> None:
    lists = Features(derived_attributes=True, list_type_attributes=True)
    asked = claim(deriving(exact(count=2), bus("[bus + 0, bus + 2]")), match=[PAIR])
    assert names(outcome([BUSES], asked, features=lists)) == ["d1", "d3"]
    assert said(outcome([BUSES], asked, features=DERIVED)) == "none", "a list is no scalar where the list gate is off"


def test_each_alternative_derives_its_own() -> None:
    near = deriving(exact("near", count=4), bus("bus / 2"))
    far = deriving(exact("far", count=3), bus("bus > 2"))
    asked = claim(first("r", near, far), match=[PAIR])
    assert names(outcome([BUSES], asked, features=DERIVED)) == ["d3", "d4", "d5"]


@pytest.mark.parametrize("expression", ["bus /", "{bus: 1}", "bus / 0", f"device.attributes['{A}'].none"])
def test_an_expression_that_gives_no_attribute_is_fatal_even_without_a_constraint(expression: str) -> None:
    asked = claim(deriving(exact(), bus(expression)))
    assert said(outcome([BUSES], asked, features=DERIVED)) == "fatal"


def test_nothing_is_derived_of_a_device_that_the_selectors_refuse() -> None:
    asked = claim(deriving(exact(cel=bus("bus == 3")), bus("1 / (bus - 2)")))
    assert names(outcome([BUSES], asked, features=DERIVED)) == ["d3"]
    all_of_them = claim(deriving(every(cel=bus("bus != 2")), bus("1 / (bus - 2)")))
    assert names(outcome([BUSES], all_of_them, features=DERIVED)) == ["d1", "d3", "d4", "d5"]


def test_a_no_with_derived_attributes_says_why_without_claiming_what_was_not_looked_at() -> None:
    refused = outcome([BUSES], claim(deriving(exact(count=3), bus("bus / 2")), match=[PAIR]), features=DERIVED)
    assert isinstance(refused, NoFit)
    assert [reason.code.value for reason in refused.reasons] == ["no-combination"]
    refused = outcome([BUSES], claim(deriving(exact(count=6), bus("bus"))), features=DERIVED)
    assert isinstance(refused, NoFit)
    assert [reason.code.value for reason in refused.reasons] == ["too-few-match"]


def grouped(*groups: list[str]) -> list[Json]:
    """A pool whose devices draw one of four units each from one counter set, each with its compatibility groups."""
    devices = [
        device(f"d{number}", consumesCounters=[draws(u="1")[0] | ({"compatibilityGroups": each} if each else {})])
        for number, each in enumerate(groups)
    ]
    return [
        slice_of(*devices, count=2),
        slice_of(name="s1", count=2, sharedCounters=[counters(u="4")]),
    ]


def test_devices_that_draw_from_one_counter_set_share_a_compatibility_group() -> None:
    pool = grouped(["x"], ["y"], ["x", "y"], ["y", "z"])
    assert names(outcome(pool, claim(exact(count=2)), features=GROUPS)) == ["d0", "d2"]
    assert names(outcome(pool, claim(exact(count=3)), features=GROUPS)) == ["d1", "d2", "d3"]


def test_no_groups_go_only_with_no_groups() -> None:
    pool = grouped([], ["x"], [])
    assert names(outcome(pool, claim(exact(count=2)), features=GROUPS)) == ["d0", "d2"]
    assert names(outcome(pool, claim(exact()), allocated=[held("d1")], features=GROUPS)) == ["none"]


def test_allocated_devices_bind_those_that_come_after() -> None:
    pool = grouped(["x"], ["y"], ["x", "y"])
    assert names(outcome(pool, claim(exact()), allocated=[held("d0")], features=GROUPS)) == ["d2"]


def test_with_the_gate_off_devices_with_groups_are_not_allocated() -> None:
    assert names(outcome(grouped(["x"], []), claim(exact()))) == ["d1"]
    assert names(outcome(grouped(["x"], []), claim(exact()), allocated=[held("d0")])) == ["none"]


def test_devices_that_skip_node_operations_need_the_gate_and_a_node_that_declares_it() -> None:
    slices = [parse_slice(slice_of(device("d0"), skipNodeOperations=["NodePrepareResources"]))]
    asked = (parse_claim(claim(exact()), Defaults.AS_WRITTEN),)
    answers: list[bool] = []
    for features, declared in ((Features(), True), (OPTIONAL, False), (OPTIONAL, True)):
        status = {"declaredFeatures": ["DRAOptionalNodeOperations"]} if declared else {}
        node = parse_node({"metadata": {"name": "n1"}, "status": status})
        catalog = Catalog.build(slices, [parse_class(each) for each in CLASSES], features=features)
        made = allocate(node, asked, catalog, AllocatedState.from_claims([]))
        answers.append(isinstance(made, Allocation))
        if isinstance(made, Allocation):
            assert made.claims[0].results[0].skip_node_operations == ("NodePrepareResources",)
    assert answers == [False, False, True]
