"""Traps 71-79 of dra-semantics §8: node selectors of results, binding, errors of expressions."""

from muster_dra import Allocation, Features, Outcome
from unit.muster_dra.problem_building import (
    CLASSES,
    A,
    claim,
    device,
    every,
    exact,
    first,
    held,
    names,
    outcome,
    said,
    slice_of,
)

LABELS = {"zone": "z1", "rack": "r1"}
NUMA_IS_0 = f'device.attributes["{A}"].numa == 0'
WITH, WITHOUT = device("with", attributes={"numa": 0}), device("without")


def selector(key: str, value: str) -> dict[str, object]:
    return {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]}


def bound_to(answer: Outcome) -> object:
    assert isinstance(answer, Allocation)
    found = answer.claims[0].node_selector
    return None if found is None else found.to_json()


ONLY_N1 = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}


def test_trap_71_one_local_device_pins_the_claim_to_the_node() -> None:
    slices = [
        slice_of(device("net"), node=None, nodeSelector=selector("zone", "z1"), pool="a", name="s0"),
        slice_of(device("local"), pool="b", name="s1"),
    ]
    assert bound_to(outcome(slices, claim(exact(count=2)), labels=LABELS)) == ONLY_N1


def test_trap_72_binds_to_node_pins_whatever_the_slice_allows() -> None:
    slices = [slice_of(device("d0", bindsToNode=True), node=None, allNodes=True)]
    assert bound_to(outcome(slices, claim(exact()))) == ONLY_N1
    assert bound_to(outcome([slice_of(device("d0"), node=None, allNodes=True)], claim(exact()))) is None


def test_trap_73_requirements_of_network_devices_are_united() -> None:
    name_is_n1 = ONLY_N1
    slices = [
        slice_of(device("d0"), node=None, nodeSelector=selector("zone", "z1"), pool="a", name="s0"),
        slice_of(device("d1"), node=None, nodeSelector=selector("rack", "r1"), pool="b", name="s1"),
        slice_of(device("d2"), node=None, nodeSelector=name_is_n1, pool="c", name="s2"),
        slice_of(device("d3"), node=None, allNodes=True, pool="d", name="s3"),
        slice_of(device("d4"), node=None, nodeSelector=selector("zone", "z1"), pool="e", name="s4"),
    ]
    assert bound_to(outcome(slices, claim(exact(count=5)), labels=LABELS)) == {
        "nodeSelectorTerms": [
            {
                "matchExpressions": [
                    {"key": "zone", "operator": "In", "values": ["z1"]},
                    {"key": "rack", "operator": "In", "values": ["r1"]},
                ],
                "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}],
            }
        ]
    }


def test_trap_74_binding_conditions_need_their_gate_and_are_copied() -> None:
    slices = [slice_of(device("d0", bindingConditions=["ready"], bindingFailureConditions=["broken"]))]
    assert said(outcome(slices, claim(exact()), features=Features(binding_conditions=False))) == "none"
    found = outcome(slices, claim(exact()))
    assert isinstance(found, Allocation)
    result = found.claims[0].results[0]
    assert (result.binding_conditions, result.binding_failure_conditions) == (("ready",), ("broken",))


def test_trap_75_an_expression_that_does_not_compile_is_fatal_once_a_device_is_tried() -> None:
    assert said(outcome([slice_of(WITH)], claim(exact(cel="noSuchVar")))) == "fatal"
    assert said(outcome([], claim(exact(cel="noSuchVar")))) == "none"
    broken = {"metadata": {"name": "broken"}, "spec": {"selectors": [{"cel": {"expression": "noSuchVar"}}]}}
    assert said(outcome([slice_of(WITH)], claim(exact(cls="broken")), classes=[*CLASSES, broken])) == "fatal"


def test_trap_76_an_error_behind_the_solution_is_not_met() -> None:
    slices = [slice_of(WITH, WITHOUT)]
    assert names(outcome(slices, claim(exact(cel=NUMA_IS_0)))) == ["with"]
    assert said(outcome(slices, claim(exact(count=2, cel=NUMA_IS_0)))) == "fatal"
    assert said(outcome(slices, claim(every(cel=NUMA_IS_0)))) == "fatal"


def test_trap_77_a_device_in_use_is_not_evaluated_unless_all_are_wanted() -> None:
    slices, taken = [slice_of(WITHOUT, WITH)], [held("without")]
    assert names(outcome(slices, claim(exact(cel=NUMA_IS_0)), allocated=taken)) == ["with"]
    assert said(outcome(slices, claim(exact(cel=NUMA_IS_0)))) == "fatal"
    assert said(outcome(slices, claim(every(cel=NUMA_IS_0)), allocated=taken)) == "fatal"


def test_trap_78_an_error_in_an_all_of_low_priority_is_met_before_the_search() -> None:
    asked = claim(first("r", exact("x"), every("y", cel=NUMA_IS_0)))
    assert said(outcome([slice_of(WITH, WITHOUT)], asked)) == "fatal"


def test_trap_79_a_selector_that_is_true_does_not_protect_the_next_one() -> None:
    slices = [slice_of(WITHOUT)]
    assert said(outcome(slices, claim(exact(cel=[f'device.driver == "{A}"', NUMA_IS_0])))) == "fatal"
    assert said(outcome(slices, claim(exact(cel=['device.driver == "other"', NUMA_IS_0])))) == "none"
