"""The recorded cases: where they are, what they expect, and what an audit says of them after each step."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from muster_audit import Report, audit, audit_steps
from muster_audit.frames import Dump
from muster_cli.offline.audit import read_audit_input

_ROOT = Path(__file__).resolve().parents[2]
_FIRST = "step 0"


@dataclass(frozen=True, slots=True)
class Case:
    """One file. `expected` are the entries of its leading comment, as written there."""

    id: str
    path: Path
    expected: tuple[Mapping[str, object], ...]
    facts: tuple[str, ...]

    def dump(self) -> Dump:
        """Its objects, as the command line reads them."""
        return read_audit_input([str(self.path)], []).dumps[0]

    def reports(self) -> dict[int, Report]:
        """What the audit says after each step; of a file without steps it is step 0."""
        found = audit_steps([self.dump()])
        return {int(label.removeprefix("step ")) if label else 0: report for label, report in found}

    def reordered(self, seeds: Sequence[int]) -> list[Report]:
        """The audits of the same objects in other orders."""
        import random

        found: list[Report] = []
        for seed in seeds:
            dump = self.dump()
            objects = list(dump.objects)
            random.Random(seed).shuffle(objects)
            found.append(audit([Dump(tuple(objects), dump.refused)]))
        return found


def field_path() -> Path:
    """The folder of the cases: MUSTER_FIELD, else shared/field beside the project."""
    return Path(os.environ.get("MUSTER_FIELD", "") or _ROOT.parent / "shared" / "field")


def missing() -> str:
    """Why there are no cases, "" if there are."""
    path = field_path()
    return (
        ""
        if any(path.glob("FR-*.yaml"))
        else f"no FR-*.yaml in {path}; set MUSTER_FIELD to the folder of the field cases"
    )


def cases(pattern: str = "FR-*.yaml") -> list[Case]:
    """All cases, by file name; none where the folder is absent."""
    return [_case(path) for path in sorted(field_path().glob(pattern))]


def _case(path: Path) -> Case:
    head: list[str] = []
    with path.open() as lines:
        for line in lines:
            if not line.startswith("#"):
                break
            head.append(line.removeprefix("#").removeprefix(" "))
    header = yaml.safe_load("".join(head))
    return Case(
        str(header["id"]),
        path,
        tuple(header.get("expected", ())),
        tuple(str(each) for each in header.get("facts", ())),
    )
