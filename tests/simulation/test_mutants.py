"""Hand-made bugs are found; the whole table is `make mutants`."""

import ast

import pytest

from simulation.mutants.hunt import PATCHES, Mutant, check_applies, hunt, mutants, mutated

# A bug that the first seed finds, so that this takes seconds.
QUICK = "arrival_without_its_devices"


def by_name(name: str) -> Mutant:
    return next(each for each in mutants() if each.name == name)


def test_there_are_at_least_ten_and_each_says_what_it_does() -> None:
    assert len(mutants()) >= 10
    assert all(not mutant.what.startswith("---") for mutant in mutants())
    assert len(list(PATCHES.glob("*.patch"))) == len(mutants())


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.name)
def test_a_bug_still_goes_into_the_code_of_today(mutant: Mutant) -> None:
    check_applies(mutant)


@pytest.mark.slow
def test_a_bug_is_found_within_a_few_seeds() -> None:
    found = hunt(by_name(QUICK), seeds=10, workers=1)
    assert found.seed is not None, f"{QUICK} went unnoticed: {found.mutant.what}"


def test_a_mutated_copy_is_code_and_the_original_is_left_alone() -> None:
    file = "services/inventory/muster_inventory/domain/arrival.py"
    before = (PATCHES.parents[2] / file).read_text()
    with mutated(by_name(QUICK)) as tree:
        after = (tree / file).read_text()
        ast.parse(after)
    assert after != before
    assert (PATCHES.parents[2] / file).read_text() == before
