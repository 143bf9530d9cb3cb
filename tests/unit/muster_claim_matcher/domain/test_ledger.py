import re

import pytest

from muster_claim_matcher.domain.demand import Supply
from muster_claim_matcher.domain.ledger import (
    LEDGER,
    BookGang,
    ConfirmGang,
    GangBooked,
    GangBroken,
    GangConfirmed,
    GangNotBooked,
    GangReleased,
    PlanConflicts,
    ReleaseGang,
    Unfit,
    is_answered,
    is_verifiable,
)
from muster_claim_matcher.domain.plans import BookedPlan, Member, Reason, Refusal
from muster_decider import CorruptHistory
from muster_decider.testing import given
from muster_types import GangId
from unit.muster_claim_matcher.builders import NOON, a_claim, a_device, a_member, a_plan, a_refusal, on, on_new

A, B = GangId("a-111111"), GangId("b-222222")
ALL = Supply()
GPU0, GPU1 = a_device("gpu-0"), a_device("gpu-1")
PLAN0 = a_plan(a_member(on("node-1"), a_claim(GPU0)))
PLAN1 = a_plan(a_member(on("node-1"), a_claim(GPU1)))
BOTH = a_plan(a_member(on("node-1"), a_claim(GPU0, GPU1)))
ORDERING = a_plan(a_member(on_new("h100", 0), a_claim(a_device("gpu-0", "template"))), orders=[("h100", 1)])
NO = a_refusal()
UNFIT = Unfit((Reason("SHAPE", "gpu-7 is missing on node-9"),))


def book(gang: GangId, attempt: int, outcome: BookedPlan | Refusal) -> BookGang:
    return BookGang(gang, attempt, outcome, ALL, 42, NOON)


def booked(gang: GangId, attempt: int, plan: BookedPlan) -> GangBooked:
    return GangBooked(gang, attempt, plan, 42, NOON)


def confirm(gang: GangId, attempt: int, outcome: tuple[Member, ...] | Unfit) -> ConfirmGang:
    return ConfirmGang(gang, attempt, outcome, ALL, 50)


def test_a_plan_is_booked_in_one_event() -> None:
    given(LEDGER).when(book(A, 1, PLAN0)).then(booked(A, 1, PLAN0))


def test_no_plan_is_recorded_with_its_reasons() -> None:
    given(LEDGER).when(book(A, 1, NO)).then(GangNotBooked(A, 1, NO, 42))


def test_the_same_attempt_is_answered_once() -> None:
    given(LEDGER, booked(A, 1, PLAN0)).when(book(A, 1, PLAN1)).then_nothing()
    given(LEDGER, booked(A, 1, PLAN0)).when(book(A, 1, NO)).then_nothing()
    given(LEDGER, GangNotBooked(A, 1, NO, 42)).when(book(A, 1, PLAN0)).then_nothing()


def test_a_later_attempt_takes_the_place_of_the_earlier_in_one_event() -> None:
    decided = given(LEDGER, booked(A, 1, PLAN0)).when(book(A, 2, BOTH))
    decided.then(booked(A, 2, BOTH))
    assert decided.state.bookings()[A].demand.whole == {GPU0, GPU1}


def test_an_attempt_that_comes_late_is_ignored() -> None:
    given(LEDGER, booked(A, 2, PLAN0)).when(book(A, 1, PLAN1)).then_nothing()


def test_a_failed_attempt_keeps_what_the_earlier_one_holds() -> None:
    decided = given(LEDGER, booked(A, 1, PLAN0)).when(book(A, 2, NO))
    decided.then(GangNotBooked(A, 2, NO, 42))
    assert decided.state.bookings()[A].attempt == 1


def test_a_device_that_another_gang_holds_is_refused_with_its_holder() -> None:
    given(LEDGER, booked(A, 1, PLAN0)).when_refused(book(B, 1, BOTH), PlanConflicts)
    told = "device gpu.example.com/node-1/gpu-0 would be promised twice, held by gang a-111111"
    with pytest.raises(PlanConflicts, match=re.escape(told)):
        LEDGER.decide(book(B, 1, BOTH), LEDGER.fold([booked(A, 1, PLAN0)]))


def test_two_gangs_that_race_for_one_device_get_a_right_answer_each_trap_t48() -> None:
    first = given(LEDGER).when(book(A, 1, BOTH))
    second = given(LEDGER, *first.events)
    second.when_refused(book(B, 1, PLAN0), PlanConflicts)
    second.when(book(B, 1, NO)).then(GangNotBooked(B, 1, NO, 42))


def test_a_released_device_can_be_promised_again() -> None:
    given(LEDGER, booked(A, 1, PLAN0), GangReleased(A, "cancelled")).when(book(B, 1, PLAN0)).then(booked(B, 1, PLAN0))


def test_nodes_that_are_still_to_come_meet_nobody() -> None:
    given(LEDGER, booked(A, 1, ORDERING)).when(book(B, 1, ORDERING)).then(booked(B, 1, ORDERING))


def test_a_confirmation_puts_the_members_where_they_really_are() -> None:
    real = (a_member(on("h100-x-0"), a_claim(a_device("gpu-0", "h100-x-0"))),)
    decided = given(LEDGER, booked(A, 1, ORDERING)).when(confirm(A, 1, real))
    decided.then(GangConfirmed(A, 1, real, 50))
    booking = decided.state.bookings()[A]
    assert booking.confirmed
    assert booking.demand.whole == {a_device("gpu-0", "h100-x-0")}


def test_a_confirmation_on_devices_of_another_gang_is_refused() -> None:
    given(LEDGER, booked(A, 1, ORDERING), booked(B, 1, PLAN0)).when_refused(confirm(A, 1, PLAN0.members), PlanConflicts)


def test_a_broken_gang_keeps_its_booking_until_it_plans_again_or_is_released() -> None:
    decided = given(LEDGER, booked(A, 1, ORDERING)).when(confirm(A, 1, UNFIT))
    decided.then(GangBroken(A, 1, UNFIT.reasons))
    assert A in decided.state.bookings()


def test_a_verification_is_answered_once_and_only_for_the_attempt_that_stands() -> None:
    given(LEDGER, booked(A, 1, ORDERING), GangBroken(A, 1, UNFIT.reasons)).when(
        confirm(A, 1, PLAN0.members)
    ).then_nothing()
    given(LEDGER, booked(A, 2, ORDERING)).when(confirm(A, 1, PLAN0.members)).then_nothing()
    given(LEDGER).when(confirm(A, 1, PLAN0.members)).then_nothing()


def test_a_release_is_recorded_once() -> None:
    release = ReleaseGang(A, "expired")
    given(LEDGER, booked(A, 1, PLAN0)).when(release).then(GangReleased(A, "expired"))
    given(LEDGER, booked(A, 1, PLAN0), GangReleased(A, "expired")).when(release).then_nothing()


def test_a_release_that_overtakes_the_booking_is_answered_and_the_booking_ignored() -> None:
    decided = given(LEDGER).when(ReleaseGang(A, "cancelled"))
    decided.then(GangReleased(A, "cancelled"))
    given(LEDGER, *decided.events).when(book(A, 1, PLAN0)).then_nothing()


def test_planning_is_pointless_for_what_was_answered_overtaken_or_released() -> None:
    ledger = LEDGER.fold([booked(A, 2, PLAN0), GangReleased(B, "cancelled")])
    assert [is_answered(ledger, A, attempt) for attempt in (1, 2, 3)] == [True, True, False]
    assert is_answered(ledger, B, 7)


def test_verifying_is_pointless_without_the_booking_of_that_attempt() -> None:
    ledger = LEDGER.fold([booked(A, 2, PLAN0)])
    assert [is_verifiable(ledger, A, attempt) for attempt in (1, 2, 3)] == [False, True, False]
    assert not is_verifiable(LEDGER.fold([booked(A, 2, PLAN0), GangBroken(A, 2, ())]), A, 2)


def test_nothing_can_follow_a_release() -> None:
    with pytest.raises(CorruptHistory):
        LEDGER.fold([GangReleased(A, "failed"), booked(A, 1, PLAN0)])
