"""The order of retries."""

from dataclasses import replace
from datetime import timedelta
from itertools import permutations

from muster_gang_coordinator.domain.commands import RequestGang, RetryGang, Timer, WakeGang
from muster_gang_coordinator.domain.events import GangRequested, GangWaits, PlanningStarted
from muster_gang_coordinator.domain.fairness import floor_of, rank_waiting, whose_turn
from muster_gang_coordinator.domain.plans import NoPlanKind
from muster_gang_coordinator.domain.states import Waiting
from muster_types import GangId
from unit.muster_gang_coordinator.builders import GANG, NOON, Story, a_spec, why

PATIENCE = timedelta(minutes=5)


def a_waiting(name: str, *, priority: int = 0, age: int = 0, code: str = "BOOKED") -> Waiting:
    story = Story().requested()
    story.refused(NoPlanKind.NOT_NOW)
    assert isinstance(story.gang, Waiting)
    time = NOON - timedelta(minutes=age)
    saga = replace(story.gang.saga, gang_id=GangId(name), request_time=time, spec=a_spec(priority=priority))
    return replace(story.gang, saga=saga, reasons=(why(code),))


def test_priority_comes_first_then_age_then_the_id_in_any_order_of_input() -> None:
    gangs = [a_waiting("b"), a_waiting("a"), a_waiting("old", age=5), a_waiting("urgent", priority=10)]
    for given in permutations(gangs):
        assert rank_waiting(given) == ("urgent", "old", "a", "b")


def test_a_gang_that_bookings_have_kept_waiting_for_long_is_planned_ahead_of_all_behind_it() -> None:
    gangs = [a_waiting("big", age=6), a_waiting("small", age=1), a_waiting("urgent", priority=10)]
    for given in permutations(gangs):
        assert whose_turn(given, NOON, PATIENCE) == ("urgent", "big")
    assert whose_turn(gangs[1:], NOON, PATIENCE) == ("urgent", "small"), "when it has its place the others go on"


def test_a_gang_that_waits_for_something_else_than_bookings_holds_nobody_up() -> None:
    gangs = [a_waiting("wrong-template", age=60, code="TEMPLATE_WRONG"), a_waiting("small")]
    assert floor_of(gangs, NOON, PATIENCE) is None
    assert whose_turn(gangs, NOON, PATIENCE) == ("wrong-template", "small")


def test_of_two_patient_gangs_the_first_in_the_order_has_the_floor() -> None:
    gangs = [a_waiting("first", age=9), a_waiting("second", age=7)]
    assert whose_turn(gangs, NOON, PATIENCE) == ("first",)


def test_a_request_behind_the_floor_waits_and_says_for_whom() -> None:
    story = Story()
    requested, waits = story.tell(RequestGang(GANG, a_spec(), "request-1", NOON, ahead=GangId("big")))
    assert isinstance(requested, GangRequested)
    assert isinstance(waits, GangWaits)
    assert waits.reasons[0].sentence == "gang big has waited for long and is planned first"
    (again,) = story.tell(WakeGang(0, Timer.RETRY, NOON, ahead=GangId("big")))
    assert isinstance(again, GangWaits)
    assert len(again.reasons) == 1
    (planning,) = story.tell(RetryGang("gang big has had its turn", NOON))
    assert isinstance(planning, PlanningStarted)
    assert planning.attempt == 1
