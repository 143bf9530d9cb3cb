"""Failures that were found, kept: the scenario, the faults that it takes, and what was wrong."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from simulation.run import Result, run_whole
from simulation.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Case:
    """`law` is the invariant that was broken, `cause` what was wrong in the code, `fix` what was changed."""

    law: str
    cause: str
    fix: str
    scenario: Scenario
    faults: tuple[str, ...]

    def run(self) -> Result:
        """The same scenario with the same faults."""
        return run_whole(self.scenario, frozenset(self.faults))


_CASE = TypeAdapter(Case)


def read_case(path: Path) -> Case:
    """A case from its file."""
    return _CASE.validate_json(path.read_bytes())


def write_case(path: Path, case: Case) -> None:
    """Keep a case."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_CASE.dump_json(case, indent=1) + b"\n")
