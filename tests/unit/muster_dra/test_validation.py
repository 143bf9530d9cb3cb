"""What the API server would refuse of a slice that can be read."""

from typing import Any

import pytest

from muster_dra import check_slice, parse_slice
from unit.muster_dra.problem_building import counters, device, draws, shared, slice_of, taint

TERM = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}


def broken(json: dict[str, Any]) -> list[str]:
    return [violation.field for violation in check_slice(parse_slice(json))]


def test_a_good_slice_breaks_no_rule() -> None:
    assert broken(slice_of(device("d0", attributes={"numa": 0}, capacity={"memory": "1"}))) == []


@pytest.mark.parametrize(
    ("json", "field"),
    [
        (slice_of(device("d0"), count=0), "pool.resourceSliceCount"),
        (slice_of(device("d0"), driver="Not_A_Domain"), "driver"),
        (slice_of(device("d0"), node=None), ""),
        (slice_of(device("d0"), allNodes=True), ""),
        (slice_of(device("d0"), node=None, nodeSelector={"nodeSelectorTerms": [TERM, TERM]}), "nodeSelector"),
        (slice_of(device("d0"), sharedCounters=[counters(a="1")]), "sharedCounters"),
        (slice_of(*(device(f"d{i}") for i in range(129))), "devices"),
        (slice_of(*(device(f"d{i}", taints=[taint("None")]) for i in range(65))), "devices"),
        (slice_of(device("d0"), device("d0")), "devices[1].name"),
        (slice_of(device("Bad_Name")), "devices[0].name"),
        (slice_of(device("d0", nodeName="n1")), "devices[0]"),
        (slice_of(device("d0"), node=None, perDeviceNodeSelection=True), "devices[0]"),
        (slice_of(device("d0", attributes={f"a{i}": 1 for i in range(33)})), "devices[0]"),
        (slice_of(device("d0", attributes={"a": "x" * 65})), "devices[0].attributes[a]"),
        (slice_of(device("d0", attributes={"a": {"version": "v1"}})), "devices[0].attributes[a]"),
        (slice_of(device("d0", attributes={"a": {}})), "devices[0].attributes[a]"),
        (slice_of(device("d0", attributes={"no good": 1})), "devices[0].attributes"),
        (
            slice_of(device("d0", consumesCounters=[*draws("a"), *draws("b"), *draws("c")])),
            "devices[0].consumesCounters",
        ),
        (
            slice_of(device("d0", capacity={"c": {"value": "1", "requestPolicy": {"default": "1"}}})),
            "devices[0].capacity[c].requestPolicy",
        ),
        (
            slice_of(shared("d0", "4", {"default": "2", "validValues": ["1", "3"]})),
            "devices[0].capacity[c].requestPolicy.default",
        ),
        (
            slice_of(shared("d0", "4", {"default": "1", "validRange": {"min": "1", "max": "8"}})),
            "devices[0].capacity[c].requestPolicy.validRange.max",
        ),
    ],
)
def test_a_broken_rule_is_named_by_its_field(json: dict[str, Any], field: str) -> None:
    assert field in broken(json)
