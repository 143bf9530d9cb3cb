"""The test kit must fail when a decider decides otherwise; else no domain test means anything."""

import pytest

from muster_decider import Decider, DomainError
from muster_decider.testing import given


class Overdrawn(DomainError):
    reason = "OVERDRAWN"


class Broke(DomainError):
    reason = "BROKE"


def decide(command: int, state: int) -> list[int]:
    if state + command < 0:
        raise Overdrawn
    return [command] if command else []


BALANCE: Decider[int, int, int] = Decider(0, decide, lambda state, event: state + event)


def test_history_is_folded_before_a_command_is_decided() -> None:
    assert given(BALANCE, 3, 4).when(-7).then(-7).state == 0


def test_a_different_decision_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="decided"):
        given(BALANCE, 3).when(1).then(2)


def test_a_refusal_is_seen_and_its_absence_fails_the_test() -> None:
    given(BALANCE).when_refused(-1, Overdrawn)
    with pytest.raises(AssertionError, match="not refused"):
        given(BALANCE, 1).when_refused(-1, Overdrawn)


def test_another_refusal_is_not_taken_for_the_expected_one() -> None:
    with pytest.raises(Overdrawn):
        given(BALANCE).when_refused(-1, Broke)


def test_a_fold_may_start_from_a_snapshot() -> None:
    assert BALANCE.fold([1, 2], state=10) == 13
