"""Where upstream does not do what its API documents: both meanings side by side (docs/dra.md)."""

from muster_dra import Features, Meaning
from unit.muster_dra.problem_building import (
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
    shared,
    slice_of,
)

STRICT = Features(meaning=Meaning.DOCUMENTED)
ADMIN = {"adminAccess": True}


def pool(*devices: dict[str, object], room: str = "4") -> list[dict[str, object]]:
    return [
        slice_of(*devices, count=2, name="s0"),
        slice_of(count=2, name="s1", sharedCounters=[counters(m=room)]),
    ]


def test_admin_access_draws_counters_upstream_only() -> None:
    slices, taken = pool(device("d0", consumesCounters=draws(m="4"))), [held("d0")]
    assert names(outcome(slices, claim(exact(**ADMIN)), allocated=taken)) == ["none"]
    assert names(outcome(slices, claim(exact(**ADMIN)), allocated=taken, features=STRICT)) == ["d0"]


def test_a_share_without_recorded_amount_pays_counters_again_upstream_only() -> None:
    slices = pool(shared("d0", "4", {"default": "1"}, consumesCounters=draws(m="4")))
    taken = [held("d0", shareID="x")]
    assert names(outcome(slices, claim(exact()), allocated=taken)) == ["none"]
    assert names(outcome(slices, claim(exact()), allocated=taken, features=STRICT)) == ["d0"]


def test_a_negative_counter_makes_room_upstream_only() -> None:
    slices = pool(device("d0", consumesCounters=draws(m="-4")), device("d1", consumesCounters=draws(m="8")))
    assert names(outcome(slices, claim(exact(count=2)))) == ["d0", "d1"]
    assert names(outcome(slices, claim(exact(count=2)), features=STRICT)) == ["none"]


def test_a_negative_request_makes_room_upstream_only() -> None:
    slices = [slice_of(shared("d0", "4"))]
    asked = claim(exact("r", needs={"c": "-4"}), exact("s", needs={"c": "8"}))
    assert names(outcome(slices, asked)) == ["d0", "d0"]
    assert names(outcome(slices, asked, features=STRICT)) == ["none"]


def test_capacity_names_are_compared_literally_upstream_only() -> None:
    slices = [slice_of(shared("d0", "4"))]
    asked = claim(exact(needs={f"{A}/c": "1"}))
    assert names(outcome(slices, asked)) == ["none"]
    assert names(outcome(slices, asked, features=STRICT)) == ["d0"]


def test_all_under_a_constraint_gives_way_to_the_next_alternative_as_documented() -> None:
    slices = [slice_of(device("d0", attributes={"numa": 0}), device("d1", attributes={"numa": 1}))]
    asked = claim(first("r", every("x"), exact("y")), match=[(f"{A}/numa", ["r"])])
    assert names(outcome(slices, asked)) == ["fatal"]
    assert names(outcome(slices, asked, features=STRICT)) == ["d0"]
