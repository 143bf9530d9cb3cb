"""Traps 54-70 of dra-semantics §8: shared counters and consumable capacity."""

from muster_dra import Allocation, Features
from unit.muster_dra.problem_building import (
    V1_36,
    A,
    B,
    claim,
    counters,
    device,
    draws,
    every,
    exact,
    held,
    names,
    outcome,
    said,
    shared,
    slice_of,
    taint,
)

RANGE = {"default": "2", "validRange": {"min": "2", "max": "4", "step": "2"}}


def partitioned(*amounts: str, room: str = "8", **fields: object) -> list[dict[str, object]]:
    """One pool: a counter of `room`, devices d0, d1, ... that draw the amounts."""
    devices = [device(f"d{i}", consumesCounters=draws(m=amount)) for i, amount in enumerate(amounts)]
    return [
        slice_of(*devices, count=2, name="s0", **fields),
        slice_of(count=2, name="s1", sharedCounters=[counters(m=room)], **fields),
    ]


def consumed(answer: object) -> list[dict[str, str]]:
    assert isinstance(answer, Allocation)
    return [
        {name: amount.text for name, amount in result.consumed.items()}
        for made in answer.claims
        for result in made.results
    ]


def test_trap_54_requests_share_a_counter() -> None:
    asked = claim(exact("r"), exact("s"))
    assert names(outcome(partitioned("4", "6", "4"), asked)) == ["d0", "d2"]


def test_trap_55_a_first_device_that_draws_too_much_is_given_up() -> None:
    slices = partitioned("5", "4", "4")
    assert names(outcome(slices, claim(exact(count=2)))) == ["d1", "d2"]


def test_trap_56_what_is_allocated_on_another_node_is_gone_here_too() -> None:
    slices = [
        slice_of(device("d0", consumesCounters=draws(m="4")), count=3, name="s0"),
        slice_of(device("d1", consumesCounters=draws(m="4")), count=3, name="s1", node="n2"),
        slice_of(count=3, name="s2", sharedCounters=[counters(m="6")]),
    ]
    assert said(outcome(slices, claim(exact()))) == "ok"
    assert said(outcome(slices, claim(exact()), allocated=[held("d1")])) == "none"


def test_trap_57_a_rejected_candidate_gives_its_counters_back() -> None:
    slices = [
        slice_of(
            device("d0", consumesCounters=draws(m="4"), taints=[taint("NoSchedule")]),
            device("d1", consumesCounters=draws(m="4")),
            count=2,
            name="s0",
        ),
        slice_of(count=2, name="s1", sharedCounters=[counters(m="4")]),
    ]
    assert names(outcome(slices, claim(exact()))) == ["d1"]


def test_trap_58_pools_of_two_drivers_with_one_name_are_independent_and_not_in_1_36() -> None:
    def pool(driver: str, room: str) -> list[dict[str, object]]:
        return [
            slice_of(device("d", consumesCounters=draws(m="4")), driver=driver, count=2, name=f"{driver}-0"),
            slice_of(driver=driver, count=2, name=f"{driver}-1", sharedCounters=[counters(m=room)]),
        ]

    slices = [*pool(A, "4"), *pool(B, "4")]
    assert names(outcome(slices, claim(exact(count=2)))) == ["d", "d"]
    assert said(outcome(slices, claim(exact(count=2)), features=V1_36)) == "none"


def test_trap_59_without_the_gate_devices_that_draw_counters_are_unusable() -> None:
    off = Features(partitionable_devices=False)
    slices = [slice_of(device("d0", consumesCounters=draws(m="1")), device("d1"))]
    assert names(outcome(slices, claim(exact()), features=off)) == ["d1"]
    assert said(outcome(slices, claim(every()), features=off)) == "none"


def test_trap_60_devices_beside_counter_sets_do_not_exist() -> None:
    slices = [slice_of(device("d0"), sharedCounters=[counters(m="4")])]
    assert said(outcome(slices, claim(exact()))) == "none"


def test_trap_61_without_policy_and_request_a_share_takes_everything() -> None:
    slices = [slice_of(shared("d0", "2"))]
    assert consumed(outcome(slices, claim(exact()))) == [{"c": "2"}]
    assert said(outcome(slices, claim(exact()), claim(exact(), name="c1"))) == "none"


def test_trap_62_amounts_are_rounded_up_to_the_steps_of_the_range() -> None:
    slices = [slice_of(shared("d0", "10", RANGE))]
    assert consumed(outcome(slices, claim(exact(needs={"c": "3"})))) == [{"c": "4"}]
    assert consumed(outcome(slices, claim(exact(needs={"c": "1"})))) == [{"c": "2"}]
    assert said(outcome(slices, claim(exact(needs={"c": "6"})))) == "none"


def test_trap_63_amounts_are_rounded_up_to_a_valid_value() -> None:
    one_or_three = [slice_of(shared("d0", "10", {"default": "1", "validValues": ["1", "3"]}))]
    assert consumed(outcome(one_or_three, claim(exact(needs={"c": "2"})))) == [{"c": "3"}]
    nothing = [slice_of(shared("d0", "10", {"default": "0", "validValues": ["0"]}))]
    assert said(outcome(nothing, claim(exact(needs={"c": "1"})))) == "none"


def test_trap_64_a_default_of_zero_shares_without_limit_and_is_recorded() -> None:
    slices = [slice_of(shared("d0", "1", {"default": "0"}))]
    asked = [claim(exact(), name=f"c{index}") for index in range(5)]
    assert consumed(outcome(slices, *asked)) == [{"c": "0"}] * 5


def test_trap_65_a_capacity_that_the_device_lacks_excludes_it() -> None:
    slices = [slice_of(shared("d0", "1"))]
    assert said(outcome(slices, claim(exact(needs={"other": "1"})))) == "none"
    assert said(outcome(slices, claim(every(needs={"other": "1"})))) == "none"


def test_trap_66_for_an_exclusive_device_the_amount_is_only_a_filter() -> None:
    slices = [slice_of(device("d0", capacity={"c": "1"}))]
    found = outcome(slices, claim(exact(needs={"c": "1"})))
    assert consumed(found) == [{}]
    assert isinstance(found, Allocation)
    assert not found.claims[0].results[0].share
    assert said(outcome(slices, claim(exact(needs={"c": "2"})))) == "none"


def test_trap_67_one_request_never_takes_a_shared_device_twice() -> None:
    slices = [slice_of(shared("d0", "2"))]
    assert said(outcome(slices, claim(exact(count=2, needs={"c": "1"})))) == "none"
    assert names(outcome(slices, claim(exact("r", needs={"c": "1"}), exact("s", needs={"c": "1"})))) == ["d0", "d0"]


def test_trap_68_a_full_shared_device_is_part_of_all_since_1_37() -> None:
    slices = [slice_of(shared("d0", "2"), shared("d1", "2"))]
    taken = [held("d0", shareID="x", consumedCapacity={"c": "2"})]
    assert said(outcome(slices, claim(every()), allocated=taken)) == "none"
    assert names(outcome(slices, claim(every()), allocated=taken, features=V1_36)) == ["d1"]


def test_trap_69_a_shared_device_that_is_held_whole_is_not_shared_out() -> None:
    slices = [slice_of(shared("d0", "2"))]
    assert said(outcome(slices, claim(exact(needs={"c": "1"})), allocated=[held("d0")])) == "none"


def test_trap_70_a_second_share_does_not_pay_the_counters_again() -> None:
    slices = [
        slice_of(shared("d0", "4", consumesCounters=draws(m="4")), count=2, name="s0"),
        slice_of(count=2, name="s1", sharedCounters=[counters(m="4")]),
    ]
    asked = claim(exact("r", needs={"c": "1"}), exact("s", needs={"c": "1"}))
    assert names(outcome(slices, asked)) == ["d0", "d0"]
    taken = [held("d0", shareID="x", consumedCapacity={"c": "1"})]
    assert names(outcome(slices, asked, allocated=taken)) == ["d0", "d0"]
