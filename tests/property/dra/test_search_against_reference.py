"""The fast search and both references give one answer; more problems with `python -m property.dra.fuzz`."""

import json
from collections import Counter

import pytest

from property.dra.comparing import INDEPENDENT_STEPS, compared
from property.dra.gates import features
from property.dra.problems import untidy_problem
from support.dra_reference import answer

CHUNK = 25


@pytest.mark.parametrize("chunk", range(20))
def test_500_generated_problems_have_one_answer(chunk: int) -> None:
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        row = untidy_problem(seed)
        for one in compared(row, features(seed)):
            assert one.agree, f"seed {seed}, node {one.node}: {one.fast}, {one.against} {one.slow}: {json.dumps(row)}"


def test_the_generator_reaches_every_outcome_and_mostly_what_can_be_answered() -> None:
    rows = map(untidy_problem, range(300))
    seen = Counter(
        answer(row, node, filled=row["filled"], step_limit=INDEPENDENT_STEPS).status
        for row in rows
        for node in row["nodes"]
    )
    assert set(seen) >= {"ok", "none", "nodeError", "error"}
    assert seen["ok"] >= 0.3 * seen.total()
    assert seen["unknown"] <= 0.05 * seen.total()
