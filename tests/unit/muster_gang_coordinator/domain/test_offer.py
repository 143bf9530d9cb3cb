"""Verification, the offer, and what becomes of it."""

from dataclasses import replace
from datetime import timedelta

from muster_gang_coordinator.domain.commands import CancelGang, RecordBreak, RecordNodeLoss, Timer
from muster_gang_coordinator.domain.events import (
    BookingReleaseRecorded,
    CompensationStarted,
    EndState,
    GangConsumed,
    GangReadied,
    MemberBindRecorded,
    NodeLossRecorded,
    PlanningStarted,
)
from muster_gang_coordinator.domain.plans import Pin, PinKind, Survival, UnplacedMember
from muster_gang_coordinator.domain.progress import progress
from muster_gang_coordinator.domain.states import Compensating, Consumed, Planning, Ready, Verifying
from muster_types import NodeName, PodSetName
from unit.muster_gang_coordinator.builders import (
    A100,
    GANG,
    H100,
    NOON,
    WRONG_NUMA,
    Story,
    a_node,
    a_plan,
    on,
    why,
)


def a_verified_gang(pods: int = 2) -> Story:
    story = (
        Story().requested(pod_count=pods).booked(a_plan((H100, 1), existing=("n1",), domain="example.com/rack=rack-7"))
    )
    return story.filled("a1-1", "x0").arrived(a_node("x0"))


def a_ready_gang(pods: int = 2) -> Story:
    return a_verified_gang(pods).confirmed("n1", "x0")


def test_a_confirmed_gang_is_offered_with_its_details_and_the_booking_clock_starts_with_the_offer() -> None:
    story = a_verified_gang().at(20).confirmed("n1", "x0")
    ready = story.history[-1]
    assert isinstance(ready, GangReadied)
    assert ready.booking_deadline == NOON + timedelta(minutes=30)
    assert dict(ready.details) == {
        "TopologyDomain": "rack-7",
        "TopologyDomain/example.com/rack": "rack-7",
        "muster.dev/gang": GANG,
        "muster.dev/nodes": "n1,x0",
        "muster.dev/reservation-taint": f"muster.dev/gang={GANG}:NoSchedule",
    }
    assert ready.placements == on("n1", "x0")


def test_a_plan_that_kube_scheduler_could_spoil_is_offered_with_its_pins_on_the_nodes_that_came() -> None:
    plan = a_plan((H100, 1), existing=("n1",))
    pins = tuple(Pin(PinKind.NODE, p.pod_set, p.index, p.target, "because") for p in plan.placements)
    story = Story().requested(pod_count=2).booked(replace(plan, pins=pins, survival=Survival.PINNED))
    story.filled("a1-1", "x0").arrived(a_node("x0")).confirmed("n1", "x0")
    ready = story.history[-1]
    assert isinstance(ready, GangReadied)
    assert dict(ready.details)["muster.dev/pins"] == "n1: workers 0; x0: workers 1"


def test_a_gang_is_whole_without_the_pods_beyond_the_minimum_that_got_no_place() -> None:
    plan = replace(a_plan(existing=("n1", "n2")), unplaced=(UnplacedMember(PodSetName("workers"), 2),))
    story = Story().requested(pod_count=3).booked(plan).confirmed("n1", "n2")
    assert [type(e) for e in story.bound("ml/p0", "ml/p1")][-1] is GangConsumed
    assert progress(story.known) == "consumed: all 2 pods are bound"


def test_valid_until_seconds_of_the_request_decide_how_long_the_offer_stands() -> None:
    story = Story().requested(booking_duration=timedelta(seconds=90)).booked(a_plan(existing=("n1",)))
    story.confirmed("n1")
    assert story.at(1).woken(Timer.BOOKING) == []
    assert [type(e) for e in story.at(1.5).woken(Timer.BOOKING)] == [CompensationStarted]


def test_a_confirmation_of_another_attempt_or_told_twice_changes_nothing() -> None:
    story = a_verified_gang().confirmed("n1", "x0", attempt=7)
    assert isinstance(story.gang, Verifying)
    before = len(story.confirmed("n1", "x0").history)
    assert len(story.confirmed("n1", "x0").history) == before


def test_t15_a_broken_verification_leads_to_the_next_plan_without_the_odd_group() -> None:
    story = Story().requested().booked(a_plan((H100, 1), (A100, 1)))
    story.filled("a1-1", "x0").filled("a1-2", "y0")
    story.arrived(a_node("x0"), mismatches=(WRONG_NUMA,)).arrived(a_node("y0", order="a1-2", group=A100))
    (planning,) = story.tell(RecordBreak(1, (why(),), NOON))
    assert isinstance(planning, PlanningStarted)
    assert planning.excluded_node_groups == (H100,)
    assert planning.kept_nodes == (a_node("x0"), a_node("y0", order="a1-2", group=A100))


def test_a_broken_verification_without_a_known_mismatch_leaves_out_every_new_group() -> None:
    story = a_verified_gang()
    (planning,) = story.tell(RecordBreak(1, (why(),), NOON))
    assert isinstance(planning, PlanningStarted)
    assert planning.excluded_node_groups == (H100,)


def test_a_broken_plan_on_existing_nodes_is_made_again_a_bounded_number_of_times() -> None:
    story = Story().requested()
    for attempt in range(1, 7):
        story.booked(a_plan(existing=("n1",)), attempt=attempt)
        story.tell(RecordBreak(attempt, (why(),), NOON))
    assert isinstance(story.gang, Compensating)
    assert story.gang.reasons[0].code == "ATTEMPTS_SPENT"


def test_a_node_lost_during_verification_is_replaced_and_the_late_verdict_is_stale() -> None:
    story = a_verified_gang()
    lost, planning = story.tell(RecordNodeLoss(NodeName("x0"), NOON))
    assert isinstance(lost, NodeLossRecorded)
    assert isinstance(planning, PlanningStarted)
    story.confirmed("n1", "x0")
    assert isinstance(story.gang, Planning)


def test_the_gang_is_consumed_when_its_last_member_is_bound_and_not_before() -> None:
    story = a_ready_gang(pods=2)
    assert story.bound("ml/p0") == [MemberBindRecorded("ml/p0", NodeName("n1"))]
    assert story.bound("ml/p0") == [], "the same pod again"
    assert [type(e) for e in story.bound("ml/p1")] == [MemberBindRecorded, GangConsumed]
    assert isinstance(story.gang, Consumed)


def test_members_bound_before_the_offer_count() -> None:
    story = a_verified_gang(pods=1)
    story.bound("ml/p0")
    story.confirmed("n1", "x0")
    assert [type(e) for e in story.history[-2:]] == [GangReadied, GangConsumed]


def test_a_consumed_gang_notes_the_release_of_its_booking_once() -> None:
    story = a_ready_gang(pods=1)
    story.bound("ml/p0")
    assert story.released() == [BookingReleaseRecorded()]
    assert story.released() == []


def test_f19_pods_that_never_come_let_the_offer_expire() -> None:
    (started,) = a_ready_gang().at(11).woken(Timer.BOOKING)
    assert isinstance(started, CompensationStarted)
    assert started.end_state is EndState.EXPIRED


def test_t29_an_offer_that_ends_while_members_run_is_revoked_not_expired() -> None:
    story = a_ready_gang(pods=2)
    story.bound("ml/p0")
    (started,) = story.at(11).woken(Timer.BOOKING)
    assert isinstance(started, CompensationStarted)
    assert started.end_state is EndState.REVOKED
    assert "only 1 of 2 pods were bound" in started.reasons[0].sentence


def test_the_booking_timer_fires_early_or_late_without_harm() -> None:
    story = a_ready_gang(pods=1)
    assert story.at(5).woken(Timer.BOOKING) == []
    story.bound("ml/p0")
    assert story.at(60).woken(Timer.BOOKING) == []
    assert isinstance(story.gang, Consumed)


def test_f22_a_node_lost_after_the_offer_revokes_the_capacity() -> None:
    for node in ("x0", "n1"):
        story = a_ready_gang()
        lost, started = story.tell(RecordNodeLoss(NodeName(node), NOON))
        assert isinstance(lost, NodeLossRecorded)
        assert isinstance(started, CompensationStarted)
        assert started.end_state is EndState.REVOKED


def test_a_node_without_members_that_is_lost_after_the_offer_does_not_matter() -> None:
    story = a_ready_gang()
    assert story.tell(RecordNodeLoss(NodeName("n9"), NOON)) == []
    assert isinstance(story.gang, Ready)


def test_t30_a_gang_of_which_members_run_is_never_failed() -> None:
    story = a_verified_gang()
    story.bound("ml/p0")
    (started,) = story.at(7 * 24 * 60).woken(Timer.REQUEST)
    assert isinstance(started, CompensationStarted)
    assert started.end_state is EndState.REVOKED


def test_an_offered_gang_can_be_cancelled() -> None:
    (started,) = a_ready_gang().tell(CancelGang("no more", NOON))
    assert isinstance(started, CompensationStarted)
    assert started.end_state is EndState.CANCELLED


def test_a_node_lost_after_consumption_is_noted_and_changes_nothing() -> None:
    story = a_ready_gang(pods=1)
    story.bound("ml/p0")
    assert story.tell(RecordNodeLoss(NodeName("x0"), NOON)) == [
        NodeLossRecorded(NodeName("x0"), story.known.saga.orders[0].id, NOON)
    ]
    assert isinstance(story.gang, Consumed)
