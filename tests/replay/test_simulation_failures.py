"""Every failure that the simulation found, with the faults that it took: none of them comes back."""

from pathlib import Path

import pytest

from simulation.cases import read_case

CASES = sorted((Path(__file__).parent / "simulation").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_failure_that_was_found_does_not_come_back(path: Path) -> None:
    case = read_case(path)
    assert case.cause, "say what was wrong"
    assert [str(violation) for violation in case.run().violations] == []
