"""The recorded plans: feasibility, least cost, fewest nodes, never; and every placement judged anew.

The corpus is found through MUSTER_CORPUS or beside the repository; without it these tests are skipped. Run this file as
a programme for the figures: `python -m conformance.plan.test_corpus` with `tests` on the path.
"""

import gzip
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from conformance.plan.judge import check_plan
from muster_plan import solve_plan_problem

CORPUS = Path(os.environ.get("MUSTER_CORPUS", Path(__file__).parents[4] / "shared" / "corpus"))
NAMES = ("plan", "plan-rich")
COMPARED = ("feasible", "cost", "newNodes", "never", "evenEmpty")


def rows(name: str) -> Iterator[dict[str, Any]]:
    path = CORPUS / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"the recorded answers of shared/corpus are not at hand: {path} is not there; set MUSTER_CORPUS")
    with gzip.open(path, "rt") as lines:
        yield from map(json.loads, lines)


def disagreements(row: dict[str, Any]) -> list[str]:
    """What differs from the record, and what the judge finds wrong with the placements."""
    answer = solve_plan_problem(row)
    expected = row["expected"]
    found = [
        f"{key}: {answer.get(key)}, recorded {expected[key]}"
        for key in COMPARED
        if key in expected and answer.get(key) != expected[key]
    ]
    if answer["feasible"]:
        found += check_plan(row, answer)
    return found


@lru_cache
def judged(name: str) -> dict[str, tuple[str, list[str]]]:
    return {row["id"]: (row.get("family", name), disagreements(row)) for row in rows(name)}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_row_is_answered_as_recorded(name: str) -> None:
    wrong = {id: faults for id, (_, faults) in judged(name).items() if faults}
    assert not wrong, json.dumps(wrong, indent=1)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")


def main() -> int:
    """Prints the figures per corpus and family; exit status 1 if a row is wrong."""
    failed = 0
    for name in NAMES:
        if not (CORPUS / f"{name}.jsonl.gz").exists():
            say(f"{name}: not there ({CORPUS}); set MUSTER_CORPUS")
            continue
        start = time.perf_counter()
        found = judged(name)
        seconds = time.perf_counter() - start
        good: Counter[str] = Counter()
        total: Counter[str] = Counter()
        for id, (family, faults) in found.items():
            total[family] += 1
            good[family] += not faults
            for fault in faults:
                say(f"  {id} ({family}): {fault}")
        failed += sum(total.values()) - sum(good.values())
        say(f"{name}: {sum(good.values())}/{sum(total.values())} rows as recorded and judged, {seconds:.1f} s")
        for family in sorted(total):
            if len(total) > 1:
                say(f"  {family:15} {good[family]}/{total[family]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
