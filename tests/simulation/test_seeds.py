"""Three hundred seeds without a violation. Two classes, so that two workers share them."""

import pytest

from simulation.run import run_seed

pytestmark = pytest.mark.slow
_CHUNK = 10


def check(start: int) -> None:
    """A chunk of seeds; `python -m tests.simulation --seed N` tells the story of one that fails."""
    broken = {seed: result.violations for seed in range(start, start + _CHUNK) if (result := run_seed(seed)).violations}
    assert {seed: [str(each) for each in found] for seed, found in broken.items()} == {}


class TestTheFirstHalf:
    @pytest.mark.parametrize("start", range(0, 150, _CHUNK))
    def test_no_invariant_breaks_whatever_crashes_repeats_reorders_or_stalls(self, start: int) -> None:
        check(start)


class TestTheSecondHalf:
    @pytest.mark.parametrize("start", range(150, 300, _CHUNK))
    def test_no_invariant_breaks_whatever_crashes_repeats_reorders_or_stalls(self, start: int) -> None:
        check(start)
