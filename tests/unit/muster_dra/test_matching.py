"""Matching of demands to exclusive devices, against trying every assignment."""

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster_dra.matching import can_be_met
from muster_dra.plan_content import bits_of


def by_trying(demands: Sequence[tuple[int, int]], used: int = 0) -> bool:
    if not demands:
        return True
    devices, needed = demands[0]
    return any(
        by_trying(demands[1:], used | sum(1 << device for device in choice))
        for choice in combinations(bits_of(devices & ~used), needed)
    )


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 127), st.integers(0, 3)), max_size=5))
def test_it_says_what_trying_everything_says(demands: list[tuple[int, int]]) -> None:
    assert can_be_met(demands) is by_trying(demands)


@pytest.mark.parametrize(
    ("demands", "met"),
    [
        ([], True),
        ([(0, 0)], True),
        ([(0b11, 2), (0b01, 1)], False),
        ([(0b011, 1), (0b001, 1), (0b110, 1)], True),  # both earlier ones have to move
    ],
)
def test_small_cases(demands: list[tuple[int, int]], met: bool) -> None:
    assert can_be_met(demands) is met
