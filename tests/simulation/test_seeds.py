"""Three hundred seeds without a violation but the known open ones. Two classes, so that two workers share them."""

import pytest

from simulation.run import run_seed

pytestmark = pytest.mark.slow
_CHUNK = 10
OPEN = frozenset({70})
"""Seeds whose violation is not mended yet (docs/simulation.md). One that no longer fails has to leave this list."""


def check(start: int) -> None:
    """A chunk of seeds; `python -m tests.simulation --seed N` tells the story of one that fails."""
    seeds = range(start, start + _CHUNK)
    broken = {seed: result.violations for seed in seeds if (result := run_seed(seed)).violations}
    told = {seed: [str(each) for each in found] for seed, found in broken.items() if seed not in OPEN}
    assert told == {}
    assert broken.keys() == OPEN & set(seeds), "a seed of the list no longer fails"


class TestTheFirstHalf:
    @pytest.mark.parametrize("start", range(0, 150, _CHUNK))
    def test_no_invariant_breaks_whatever_crashes_repeats_reorders_or_stalls(self, start: int) -> None:
        check(start)


class TestTheSecondHalf:
    @pytest.mark.parametrize("start", range(150, 300, _CHUNK))
    def test_no_invariant_breaks_whatever_crashes_repeats_reorders_or_stalls(self, start: int) -> None:
        check(start)
