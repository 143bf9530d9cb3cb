"""Traps 34-53 of dra-semantics §8: constraints, admin access, taints."""

from muster_dra import Features
from unit.muster_dra.problem_building import (
    LISTS,
    V1_36,
    A,
    chosen,
    claim,
    device,
    every,
    exact,
    first,
    held,
    names,
    outcome,
    said,
    shared,
    slice_of,
    taint,
)

NUMA = f"{A}/numa"
ADMIN = {"adminAccess": True}


def with_numa(*values: object) -> dict[str, object]:
    return slice_of(*(device(f"d{index}", attributes={"numa": value}) for index, value in enumerate(values)))


def test_trap_34_a_match_on_an_attribute_nobody_publishes_is_a_no() -> None:
    assert said(outcome([with_numa(0)], claim(exact(), match=[f"{A}/none"]))) == "none"


def test_trap_35_a_bare_attribute_belongs_to_the_domain_of_its_driver() -> None:
    assert names(outcome([with_numa(0)], claim(exact(), match=[NUMA]))) == ["d0"]
    assert said(outcome([with_numa(0)], claim(exact(), match=["other.example.com/numa"]))) == "none"


def test_trap_36_a_constraint_on_one_request_does_not_bind_the_other() -> None:
    asked = claim(exact("r", count=2), exact("s"), match=[(NUMA, ["r"])])
    assert names(outcome([with_numa(0, 0, 1)], asked)) == ["d0", "d1", "d2"]
    assert said(outcome([with_numa(0, 0, 1)], claim(exact("r", count=2), exact("s"), match=[NUMA]))) == "none"


def test_trap_37_a_constraint_on_an_alternative_does_not_bind_another_one() -> None:
    request = first("r", exact("x", cls="b"), exact("y"))
    only_x = claim(request, exact("s", cel=f'device.attributes["{A}"].numa == 1'), match=[(NUMA, ["r/x", "s"])])
    assert chosen(outcome([with_numa(0, 1)], only_x)) == ["r/y=d0", "s=d1"]
    whole = claim(request, exact("s", cel=f'device.attributes["{A}"].numa == 1'), match=[(NUMA, ["r", "s"])])
    assert said(outcome([with_numa(0, 1)], whole)) == "none"


def test_trap_38_a_first_device_that_fits_one_constraint_only_is_given_up() -> None:
    devices = [
        device("d0", attributes={"numa": 0, "rack": 1}),
        device("d1", attributes={"numa": 1, "rack": 2}),
        device("d2", attributes={"numa": 1, "rack": 2}),
        device("d3", attributes={"numa": 0, "rack": 3}),
    ]
    assert names(outcome([slice_of(*devices)], claim(exact(count=2), match=[NUMA, f"{A}/rack"]))) == ["d1", "d2"]


def test_trap_39_one_shared_device_is_not_distinct_from_itself() -> None:
    slices = [slice_of(shared("d0", attributes={"numa": 0}))]
    assert said(outcome(slices, claim(exact("r"), exact("s")))) == "ok"
    assert said(outcome(slices, claim(exact("r"), exact("s"), distinct=[NUMA]))) == "none"


def test_trap_40_distinct_wants_the_attribute_even_for_one_device() -> None:
    assert said(outcome([slice_of(device("d0"))], claim(exact(), distinct=[NUMA]))) == "none"


def test_trap_41_distinct_remembers_every_device_and_1_36_only_the_last() -> None:
    asked = claim(exact(count=3), distinct=[NUMA])
    assert names(outcome([with_numa(1, 2, 1, 3)], asked)) == ["d0", "d1", "d3"]
    assert names(outcome([with_numa(1, 2, 1, 3)], asked, features=V1_36)) == ["d0", "d1", "d2"]


def test_trap_42_without_the_gate_a_list_matches_nothing_but_may_come_first() -> None:
    slices = [with_numa(["a"], ["a"])]
    assert said(outcome(slices, claim(exact(count=2), match=[NUMA]))) == "none"
    assert names(outcome(slices, claim(exact(), match=[NUMA]))) == ["d0"]
    selecting = claim(exact(cel="true"), match=[NUMA])
    assert said(outcome(slices, selecting, features=V1_36)) == "fatal", "1.36 cannot evaluate a list at all (D5)"
    assert names(outcome(slices, selecting)) == ["d0"]


def test_trap_43_matching_lists_keep_a_common_element() -> None:
    slices = [with_numa([1, 2], [1], [2], [2])]
    assert names(outcome(slices, claim(exact(count=3), match=[NUMA]), features=LISTS)) == ["d0", "d2", "d3"]


def test_trap_44_a_scalar_is_a_list_of_one_and_types_never_mix() -> None:
    assert said(outcome([with_numa("a", ["a", "b"])], claim(exact(count=2), match=[NUMA]), features=LISTS)) == "ok"
    assert said(outcome([with_numa(1, "1")], claim(exact(count=2), match=[NUMA]), features=LISTS)) == "none"
    assert said(outcome([with_numa(1, "1")], claim(exact(count=2), distinct=[NUMA]), features=LISTS)) == "ok"


def test_trap_45_constraints_compare_versions_as_text() -> None:
    versions = ({"version": "1.0.0"}, {"version": "1.0.0+b1"})
    slices = [slice_of(*(device(f"d{i}", attributes={"v": version}) for i, version in enumerate(versions)))]
    assert said(outcome(slices, claim(exact(count=2), match=[f"{A}/v"]))) == "none"
    equal = f'device.attributes["{A}"].v == semver("1.0.0")'
    assert said(outcome(slices, claim(exact(count=2, cel=equal)))) == "ok"


def test_trap_46_admin_access_takes_allocated_devices() -> None:
    slices, taken = [slice_of(device("d0"), device("d1"))], [held("d0")]
    assert names(outcome(slices, claim(exact(**ADMIN)), allocated=taken)) == ["d0"]
    assert names(outcome(slices, claim(every(**ADMIN)), allocated=taken)) == ["d0", "d1"]


def test_trap_47_one_claim_takes_a_device_once_even_as_admin() -> None:
    slices = [slice_of(device("d0"), device("d1"))]
    assert said(outcome(slices, claim(exact("r", **ADMIN), every("s", **ADMIN)))) == "none"


def test_trap_48_an_admin_pick_blocks_later_ordinary_requests_but_not_the_reverse() -> None:
    slices = [slice_of(device("d0"))]
    admin, plain = claim(exact(**ADMIN)), claim(exact(), name="c1")
    assert said(outcome(slices, admin, plain)) == "none"
    assert said(outcome(slices, plain, admin)) == "ok"


def test_trap_49_admin_access_needs_tolerations_like_anybody() -> None:
    slices = [slice_of(device("d0", taints=[taint("NoSchedule")]))]
    assert said(outcome(slices, claim(exact(**ADMIN)))) == "none"
    assert said(outcome(slices, claim(exact(tolerations=[{"operator": "Exists"}], **ADMIN)))) == "ok"


def test_trap_50_each_taint_needs_a_toleration() -> None:
    slices = [slice_of(device("d0", taints=[taint("NoSchedule"), taint("NoExecute")]))]
    one = [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}]
    assert said(outcome(slices, claim(exact(tolerations=one)))) == "none"
    assert said(outcome(slices, claim(exact(tolerations=[*one, {"key": "k", "operator": "Exists"}])))) == "ok"


def test_trap_51_no_effect_and_unknown_effects_are_ignored() -> None:
    for effect in ("None", "Someday", ""):
        assert said(outcome([slice_of(device("d0", taints=[taint(effect)]))], claim(exact()))) == "ok"


def test_trap_52_a_toleration_of_one_alternative_is_of_no_use_to_the_others() -> None:
    slices = [slice_of(device("d0", taints=[taint("NoSchedule")]))]
    asked = claim(first("r", exact("x"), exact("y", tolerations=[{"operator": "Exists"}])))
    assert chosen(outcome(slices, asked)) == ["r/y=d0"]


def test_trap_53_a_tainted_device_is_part_of_all() -> None:
    slices = [slice_of(device("d0"), device("d1", taints=[taint("NoSchedule")]))]
    assert said(outcome(slices, claim(every()))) == "none"
    assert said(outcome(slices, claim(every()), features=Features(device_taints=False))) == "ok"
