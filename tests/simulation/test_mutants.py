"""Hand-made bugs are found; the whole table is `python -m tests.simulation.mutants`."""

import pytest

from simulation.mutants.hunt import PATCHES, hunt, mutants

# A bug of each service that few seeds find, so that this takes seconds.
QUICK = ("acknowledged_before_handled", "arrival_without_its_devices", "provisioned_before_details")


def test_there_are_at_least_ten_and_each_says_what_it_does() -> None:
    assert len(mutants()) >= 10
    assert all(not mutant.what.startswith("---") for mutant in mutants())
    assert len(list(PATCHES.glob("*.patch"))) == len(mutants())


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_bug_is_found_within_a_few_seeds(name: str) -> None:
    mutant = next(each for each in mutants() if each.name == name)
    found = hunt(mutant, seeds=30, workers=1)
    assert found.seed is not None, f"{name} went unnoticed: {mutant.what}"
