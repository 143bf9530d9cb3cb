"""The table of docs/saga.md names a test for each failure mode, check and trap, and every test that it names exists."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| ([FCT]\d+) \| `([\w/]+\.py)` \| `(test_\w+)` \|$", re.M)
TRAPS = (*range(16, 20), *range(22, 31), *range(36, 39), *range(40, 45), *range(46, 50))
WANTED = {
    *(f"F{number}" for number in range(1, 28)),
    *(f"C{number}" for number in range(1, 10)),
    *(f"T{number}" for number in TRAPS),
}


def rows() -> list[tuple[str, str, str]]:
    return ROW.findall((ROOT / "docs" / "saga.md").read_text())


def test_every_failure_mode_check_and_trap_has_a_row() -> None:
    assert WANTED - {id for id, _, _ in rows()} == set()


def test_every_test_that_is_named_exists() -> None:
    missing = [
        f"{file}::{test}" for _, file, test in rows() if f"def {test}(" not in (ROOT / "tests" / file).read_text()
    ]
    assert missing == []
