"""The fast search and the reference give one answer; more problems with `python -m property.dra.fuzz`."""

import json

import pytest

from property.dra.fuzz import agree, guided, outcomes, word
from property.dra.problems import features, problem

CHUNK = 25


@pytest.mark.parametrize("chunk", range(20))
def test_500_generated_problems_have_one_answer(chunk: int) -> None:
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        row, gates = problem(seed), features(seed)
        for (fast, slow), ahead in zip(outcomes(row, gates), guided(row, gates), strict=True):
            assert agree(fast, slow), f"seed {seed}: {word(fast)}, reference {word(slow)}: {json.dumps(row)}"
            assert ahead is None or agree(ahead, slow), f"seed {seed}, asking ahead: {json.dumps(row)}"


def test_the_generator_reaches_every_outcome() -> None:
    seen = {word(slow).partition(":")[0] for seed in range(300) for _, slow in outcomes(problem(seed), features(seed))}
    assert seen >= {"ok", "none", "node error", "fatal"}
