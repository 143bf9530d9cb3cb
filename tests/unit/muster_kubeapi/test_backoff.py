"""Pauses grow, spread, and end with a success."""

from muster_kubeapi import Backoff


def test_pauses_stay_within_bounds_that_double_up_to_the_longest() -> None:
    for _ in range(50):
        backoff = Backoff(first=1.0, longest=5.0)
        for bound in (1.0, 2.0, 4.0, 5.0, 5.0):
            assert 0 <= backoff.next() <= bound


def test_pauses_are_spread() -> None:
    assert len({Backoff().next() for _ in range(20)}) > 10


def test_a_success_begins_anew() -> None:
    backoff = Backoff(first=1.0, longest=1000.0)
    for _ in range(9):
        backoff.next()
    backoff.reset()
    assert all(Backoff(first=1.0).next() <= 1.0 for _ in range(20))
    assert backoff.next() <= 1.0


def test_a_server_that_asks_for_more_gets_it() -> None:
    assert Backoff(first=0.1).next(at_least=7.0) == 7.0
