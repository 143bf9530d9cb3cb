"""Bounds from counts: what they must not claim."""

from muster_dra import (
    AllocatedState,
    Catalog,
    Node,
    NoFit,
    SearchBudget,
    allocate,
    parse_claim,
    parse_class,
    parse_slice,
)
from muster_types import NodeName
from unit.muster_dra.problem_building import (
    CLASSES,
    chosen,
    claim,
    counters,
    device,
    draws,
    exact,
    held,
    outcome,
    shared,
    slice_of,
)


def test_a_shared_device_that_gives_counters_back_makes_room_no_sum_of_draws_may_deny() -> None:
    """d0 gives 5 back (#141216), so d1 fits; to count a shared device as drawing nothing is no lower bound here."""
    slices = [
        slice_of(
            shared("d0", "4", consumesCounters=draws(x="-5")),
            device("d1", consumesCounters=draws(x="5")),
            count=2,
            name="s0",
        ),
        slice_of(count=2, name="s1", sharedCounters=[counters(x="2")]),
    ]
    assert chosen(outcome(slices, claim(exact(count=2)))) == ["r=d0", "r=d1"]


def test_a_pool_that_is_overdrawn_takes_nothing_from_another_pool() -> None:
    """Pool p has 5 less than nothing, pool q has 3: what q still has is enough for its device."""
    slices = [
        slice_of(device("d0", consumesCounters=draws(x="7")), count=2, name="s0"),
        slice_of(count=2, name="s1", sharedCounters=[counters(x="2")]),
        slice_of(device("e0", consumesCounters=draws(x="2")), pool="q", count=2, name="t0"),
        slice_of(pool="q", count=2, name="t1", sharedCounters=[counters(x="3")]),
    ]
    assert chosen(outcome(slices, claim(exact()), allocated=[held("d0")])) == ["r=q/e0"]


def test_requests_that_look_at_the_same_devices_cannot_all_have_the_cheapest() -> None:
    """The 31 cheapest of the 60 draw 70 of 50; each request alone would have found room."""
    slices = [
        slice_of(
            *(device(f"d{index:02}", consumesCounters=draws(x=str(1 + index % 7))) for index in range(60)),
            count=2,
            name="s0",
        ),
        slice_of(count=2, name="s1", sharedCounters=[counters(x="50")]),
    ]
    asked = (parse_claim(claim(exact("r", count=16), exact("s", count=15))),)
    known = Catalog.build(map(parse_slice, slices), map(parse_class, CLASSES))
    found = allocate(Node(NodeName("n1")), asked, known, AllocatedState.empty(), budget=SearchBudget(0))
    assert isinstance(found, NoFit)
