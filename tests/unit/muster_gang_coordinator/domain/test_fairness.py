"""The order of retries."""

from dataclasses import replace
from datetime import timedelta
from itertools import permutations

from muster_gang_coordinator.domain.fairness import rank_waiting
from muster_gang_coordinator.domain.plans import NoPlanKind
from muster_gang_coordinator.domain.states import Waiting
from muster_types import GangId
from unit.muster_gang_coordinator.builders import NOON, Story, a_spec


def a_waiting(name: str, *, priority: int = 0, age: int = 0) -> Waiting:
    story = Story().requested()
    story.refused(NoPlanKind.NOT_NOW)
    assert isinstance(story.gang, Waiting)
    time = NOON - timedelta(minutes=age)
    saga = replace(story.gang.saga, gang_id=GangId(name), request_time=time, spec=a_spec(priority=priority))
    return replace(story.gang, saga=saga)


def test_priority_comes_first_then_age_then_the_id_in_any_order_of_input() -> None:
    gangs = [a_waiting("b"), a_waiting("a"), a_waiting("old", age=5), a_waiting("urgent", priority=10)]
    for given in permutations(gangs):
        assert rank_waiting(given) == ("urgent", "old", "a", "b")
