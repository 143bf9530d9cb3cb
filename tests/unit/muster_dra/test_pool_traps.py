"""Traps 1-18 of dra-semantics §8: which pools a node sees, and in which order."""

from unit.muster_dra.problem_building import (
    A,
    B,
    claim,
    counters,
    device,
    draws,
    every,
    exact,
    first,
    names,
    outcome,
    said,
    slice_of,
)

D0, D1 = device("d0"), device("d1")


def test_trap_01_a_missing_slice_makes_the_visible_devices_unusable() -> None:
    assert said(outcome([slice_of(D0, count=2)], claim(exact()))) == "none"


def test_trap_02_a_slice_too_many_is_incomplete_as_well() -> None:
    slices = [slice_of(D0, name="s0"), slice_of(D1, name="s1")]
    assert said(outcome(slices, claim(exact()))) == "none"


def test_trap_03_all_devices_of_an_incomplete_pool_is_fatal() -> None:
    slices = [slice_of(D0, name="s0"), slice_of(D1, name="s1")]
    assert said(outcome(slices, claim(every()))) == "fatal"


def test_trap_04_an_incomplete_pool_of_another_driver_is_fatal_for_all_too() -> None:
    slices = [slice_of(D0), slice_of(D1, driver=B, count=2, name="s1")]
    assert said(outcome(slices, claim(every(cls="a")))) == "fatal"
    assert names(outcome(slices, claim(exact(cls="a")))) == ["d0"]


def test_trap_05_an_all_of_low_priority_is_fatal_although_the_first_alternative_fits() -> None:
    slices = [slice_of(D0), slice_of(D1, driver=B, count=2, name="s1")]
    asked = claim(first("r", exact("x", cls="a"), every("y", cls="a")))
    assert said(outcome(slices, asked)) == "fatal"


def test_trap_06_an_invalid_pool_does_not_hinder_another() -> None:
    twice = [slice_of(D0, name="s0", count=2), slice_of(D0, name="s1", count=2)]
    other = slice_of(device("o"), pool="q", name="s2")
    assert names(outcome([*twice, other], claim(exact()))) == ["q/o"]


def test_trap_07_with_an_invalid_pool_a_no_is_a_node_error() -> None:
    twice = [slice_of(D0, name="s0", count=2), slice_of(D0, name="s1", count=2)]
    assert said(outcome(twice, claim(exact()))) == "node error"


def test_trap_08_one_device_name_on_two_nodes_is_no_contradiction() -> None:
    slices = [slice_of(D0, name="s0", count=2), slice_of(D0, name="s1", node="n2", count=2)]
    for node in ("n1", "n2"):
        assert names(outcome(slices, claim(exact()), node=node)) == ["d0"]


def test_trap_09_a_newer_generation_elsewhere_drops_a_pool_that_is_only_partly_here() -> None:
    slices = [
        slice_of(D0, name="s0", count=2, generation=1),
        slice_of(D1, name="s1", node="n2", count=2, generation=2),
    ]
    assert said(outcome(slices, claim(exact()))) == "none"
    assert said(outcome(slices, claim(every()))) == "none", "a dropped pool is not even incomplete"


def test_trap_10_an_old_generation_that_is_whole_here_stays_usable() -> None:
    old = [slice_of(D0, name="s0", count=2), slice_of(D1, name="s1", count=2)]
    new = [
        slice_of(device("e0"), name="s2", node="n2", count=2, generation=2),
        slice_of(device("e1"), name="s3", node="n2", count=2, generation=2),
    ]
    assert names(outcome([*old, *new], claim(exact(count=2)))) == ["d0", "d1"]


def test_trap_11_a_new_generation_is_not_usable_before_it_is_whole() -> None:
    slices = [
        slice_of(D0, name="s0", count=2, generation=2),
        slice_of(D1, name="s1", node="n2", count=1, generation=1),
    ]
    assert said(outcome(slices, claim(exact()))) == "none"


def test_trap_12_all_devices_of_a_pool_over_two_nodes_are_those_of_this_node() -> None:
    slices = [slice_of(D0, name="s0", count=2), slice_of(D1, name="s1", node="n2", count=2)]
    assert names(outcome(slices, claim(every()))) == ["d0"]


def test_trap_13_an_unknown_counter_on_another_node_makes_the_pool_invalid_here() -> None:
    slices = [
        slice_of(D0, name="s0", count=2),
        slice_of(device("d1", consumesCounters=draws(m="1")), name="s1", node="n2", count=2),
    ]
    assert said(outcome(slices, claim(exact()))) == "node error"


def test_trap_14_a_counter_set_of_another_pool_does_not_help() -> None:
    slices = [
        slice_of(device("d0", consumesCounters=draws(m="1")), name="s0"),
        slice_of(pool="q", name="s1", sharedCounters=[counters(m="4")]),
    ]
    assert said(outcome(slices, claim(exact()))) == "node error"


def test_trap_15_a_slice_without_node_fields_only_counts_for_completeness() -> None:
    slices = [slice_of(D0, name="s0", count=2), slice_of(D1, name="s1", node=None, count=2)]
    assert names(outcome(slices, claim(exact()))) == ["d0"]
    assert said(outcome(slices, claim(exact(count=2)))) == "none"


def test_trap_16_pools_and_slices_are_taken_by_name_not_by_input() -> None:
    pools = [slice_of(device(f"{name}0"), pool=name, name=f"s-{name}") for name in "bac"]
    assert names(outcome(pools, claim(exact(count=3)))) == ["a/a0", "b/b0", "c/c0"]
    slices = [slice_of(D1, name="s1", count=2), slice_of(D0, name="s0", count=2)]
    assert names(outcome(slices, claim(exact(count=2)))) == ["d0", "d1"]


def test_trap_17_a_pool_with_a_binding_condition_comes_after_those_without() -> None:
    slices = [
        slice_of(device("a0", bindingConditions=["x"]), pool="a", name="s0"),
        slice_of(device("b0"), pool="b", name="s1"),
    ]
    assert names(outcome(slices, claim(exact()))) == ["b/b0"]


def test_trap_18_a_binding_condition_never_reorders_slices_of_one_pool() -> None:
    slices = [
        slice_of(device("d0", bindingConditions=["x"]), name="s0", count=2),
        slice_of(D1, name="s1", count=2),
    ]
    assert names(outcome(slices, claim(exact()))) == ["d0"]


def test_a_pool_is_of_one_driver() -> None:
    slices = [slice_of(D0, driver=B, name="s0"), slice_of(D0, driver=A, name="s1")]
    assert names(outcome(slices, claim(exact(count=2)))) == ["d0", "d0"]
