"""Traps 19-33 of dra-semantics §8: order, backtracking, counts, alternatives, all."""

from unit.muster_dra.problem_building import (
    A,
    B,
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
    slice_of,
)

SMALL, LARGE = device("small", capacity={"memory": "4Gi"}), device("large", capacity={"memory": "8Gi"})
NEEDS_LARGE = f'device.capacity["{A}"].memory.compareTo(quantity("8Gi")) >= 0'
D0, D1 = device("d0"), device("d1")


def many(count: int) -> list[dict[str, object]]:
    return [device(f"d{index}") for index in range(count)]


def test_trap_19_the_first_choice_is_given_up_for_a_later_request_and_a_later_claim() -> None:
    slices = [slice_of(LARGE, SMALL)]
    one = claim(exact("s"), exact("l", cel=NEEDS_LARGE))
    assert chosen(outcome(slices, one)) == ["s=small", "l=large"]
    two = (claim(exact("s")), claim(exact("l", cel=NEEDS_LARGE), name="c1"))
    assert chosen(outcome(slices, *two)) == ["s=small", "l=large"]


def test_trap_20_two_claims_for_one_device_get_nothing() -> None:
    assert said(outcome([slice_of(D0)], claim(exact()), claim(exact(), name="c1"))) == "none"


def test_trap_21_a_request_may_span_pools() -> None:
    slices = [slice_of(D0, name="s0"), slice_of(device("e0"), pool="q", name="s1")]
    assert names(outcome(slices, claim(exact(count=2)))) == ["d0", "q/e0"]


def test_trap_22_more_than_32_devices_of_a_claim_are_fatal_and_32_are_not() -> None:
    assert said(outcome([slice_of(*many(40))], claim(exact(count=33)))) == "fatal"
    assert said(outcome([slice_of(*many(40))], claim(exact("r", count=32), exact("s")))) == "fatal"
    assert len(names(outcome([slice_of(*many(32))], claim(exact(count=32))))) == 32
    assert said(outcome([], claim(exact(count=32)))) == "none"


def test_trap_23_an_alternative_beyond_the_limit_is_passed_over() -> None:
    asked = claim(first("r", exact("x", count=500), exact("y")))
    assert chosen(outcome([slice_of(*many(3))], asked)) == ["r/y=d0"]


def test_trap_24_the_limit_of_32_counts_results_of_all_requests() -> None:
    asked = claim(*(first(name, exact("x", count=32), exact("y", count=16)) for name in ("r", "s")))
    found = chosen(outcome([slice_of(*many(64))], asked))
    assert [one.partition("=")[0] for one in found] == ["r/y"] * 16 + ["s/y"] * 16


def test_trap_25_all_devices_that_would_exceed_the_limit_give_way_to_the_next_alternative() -> None:
    slices = [slice_of(*many(31), name="s0"), slice_of(device("e0"), device("e1"), driver=B, name="s1")]
    asked = claim(first("r", every("x", cls="a"), exact("y", cls="a", count=2)), exact("s", cls="b", count=2))
    assert chosen(outcome(slices, asked)) == ["r/y=d0", "r/y=d1", "s=e0", "s=e1"]


def test_trap_26_a_later_request_takes_the_better_alternative_away() -> None:
    small = f'device.capacity["{A}"].memory.compareTo(quantity("8Gi")) < 0'
    asked = claim(first("r", exact("x", cel=NEEDS_LARGE), exact("y", cel=small)), exact("s", cel=NEEDS_LARGE))
    assert chosen(outcome([slice_of(LARGE, SMALL)], asked)) == ["r/y=small", "s=large"]


def test_trap_27_all_of_nothing_is_a_no_and_leaves_the_next_alternative() -> None:
    assert said(outcome([slice_of(D0)], claim(every(cls="b")))) == "none"
    assert chosen(outcome([slice_of(D0)], claim(first("r", every("x", cls="b"), exact("y"))))) == ["r/y=d0"]


def test_trap_28_one_allocated_device_is_enough_to_refuse_all() -> None:
    slices, taken = [slice_of(D0, D1)], [held("d1")]
    assert said(outcome(slices, claim(every()), allocated=taken)) == "none"
    asked = claim(first("r", every("x"), exact("y")))
    assert chosen(outcome(slices, asked, allocated=taken)) == ["r/y=d0"]


def test_trap_29_a_device_chosen_before_is_missing_from_all() -> None:
    slices = [slice_of(D0, D1)]
    assert said(outcome(slices, claim(exact("r"), every("s")))) == "none"
    asked = claim(exact("r"), first("s", every("x"), exact("y")))
    assert chosen(outcome(slices, asked)) == ["r=d0", "s/y=d1"]


def test_trap_30_all_spans_every_pool_and_driver_of_the_node() -> None:
    slices = [
        slice_of(D0, name="s0"),
        slice_of(D1, pool="q", name="s1"),
        slice_of(device("e0"), driver=B, name="s2"),
    ]
    assert names(outcome(slices, claim(every()))) == ["d0", "q/d1", "e0"]


def test_trap_31_a_constraint_that_refuses_one_of_all_is_fatal() -> None:
    slices = [slice_of(device("d0", attributes={"numa": 0}), device("d1", attributes={"numa": 1}))]
    assert said(outcome(slices, claim(every(), match=[f"{A}/numa"]))) == "fatal"


def test_trap_32_a_missing_class_is_fatal() -> None:
    assert said(outcome([slice_of(D0)], claim(exact(cls="none-such")))) == "fatal"


def test_trap_33_nothing_asked_is_a_yes_with_nothing() -> None:
    assert chosen(outcome([slice_of(D0)], claim())) == []
    assert said(outcome([slice_of(D0)], claim())) == "ok"
    assert said(outcome([slice_of(D0)])) == "ok"
