"""The independent reference itself: it gives the answers that upstream was recorded with."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from conformance.dra.corpus import COMPARED, missing, rows
from support.dra_reference import answer
from support.dra_reference.quantities import nano

TRAPS, RANDOM = "allocator-traps", "allocator-random"


def compared(claims: Sequence[Mapping[str, Any]]) -> list[Any]:
    """What is recorded of a yes, amounts in nano-units."""
    return [
        (claim["nodeSelector"], [{key: _value(result[key]) for key in COMPARED if key in result} for result in results])
        for claim in claims
        for results in [claim["results"] or []]
    ]


def _value(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: nano(amount) if isinstance(amount, str) else amount for name, amount in value.items()}


@pytest.mark.parametrize(("name", "every"), [(TRAPS, 1), (RANDOM, 25)])
def test_it_answers_recorded_problems_as_recorded(name: str, every: int) -> None:
    reason = missing(name)
    if reason is not None:
        pytest.skip(f"the recorded answers of shared/corpus are not at hand: {reason}")
    decided = 0
    for number, row in enumerate(rows(name)):
        if number % every:
            continue
        for node, expected in zip(row["nodes"], row["expected"], strict=True):
            found = answer(row, node, filled=False, lists=True, step_limit=2_000)
            if found.status == "unknown":
                continue
            decided += 1
            assert found.status == expected["status"], row["id"]
            if found.status == "ok":
                assert compared(found.claims) == compared(expected["claims"]), row["id"]
    assert decided > 150


def test_quantities_are_exact_and_rounded_away_from_zero() -> None:
    assert nano("1Gi") == nano("1024Mi") == 2**30 * 10**9
    assert nano("1500m") == nano("1.5") == nano(1.5) == 1_500_000_000
    assert nano("0.1n") == 1
    assert nano("-0.1n") == -1
    assert nano("2e3") == nano("2k")
    assert nano("Gi") == 0
    with pytest.raises(ValueError, match="no quantity"):
        nano("1KB")
