"""Verification, the offer, and what becomes of it."""

from dataclasses import replace
from datetime import timedelta

from muster_gang_coordinator.domain.commands import (
    CancelGang,
    RecordArrival,
    RecordBreak,
    RecordConfirmation,
    RecordMemberBind,
    RecordMemberLoss,
    RecordNodeLoss,
    RecordNodeReady,
    RecordNodeUnready,
    RecordPoolChange,
    Timer,
)
from muster_gang_coordinator.domain.events import (
    BookingReleaseRecorded,
    CompensationStarted,
    EndState,
    GangConsumed,
    GangReadied,
    MemberBindRecorded,
    MemberNodeUnreadied,
    MemberPoolChanged,
    NodeLossRecorded,
    OfferRevised,
    PlanningStarted,
    SurplusReleased,
)
from muster_gang_coordinator.domain.outgoing import BookGang, ConfirmGang, WakeAt
from muster_gang_coordinator.domain.plans import NoPlanKind, Pin, PinKind, Survival, UnplacedMember
from muster_gang_coordinator.domain.progress import progress
from muster_gang_coordinator.domain.react import react
from muster_gang_coordinator.domain.sentences import sentence
from muster_gang_coordinator.domain.states import Compensating, Consumed, Planning, Ready, Verifying
from muster_types import NodeName, PodSetName
from unit.muster_gang_coordinator.builders import (
    A100,
    GANG,
    H100,
    NOON,
    POLICY,
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


def test_f18_a_confirmed_gang_is_offered_with_its_details_and_the_booking_clock_starts_with_the_offer() -> None:
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


def test_f20_a_plan_that_kube_scheduler_could_spoil_is_offered_with_its_pins_on_the_nodes_that_came() -> None:
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


def test_f22_a_node_lost_after_the_offer_is_repaired_and_the_others_stay() -> None:
    for node, kept in (("x0", ()), ("n1", (a_node("x0"),))):
        story = a_ready_gang()
        lost, planning = story.tell(RecordNodeLoss(NodeName(node), NOON))
        assert isinstance(lost, NodeLossRecorded)
        assert isinstance(planning, PlanningStarted)
        assert (planning.lost_nodes, planning.kept_nodes) == ((NodeName(node),), kept)
        assert react(POLICY, planning, story.known.saga) == [
            BookGang(GANG, 2, story.known.saga.spec, (), kept, (NodeName(node),))
        ]


def test_a_repaired_gang_is_offered_again_with_a_new_booking_clock() -> None:
    story = a_ready_gang()
    story.bound("ml/p0", node="n1")
    story.at(5).tell(RecordNodeLoss(NodeName("x0"), story.now))
    story.booked(a_plan((H100, 1), existing=("n1",)), attempt=2).filled("a2-1", "y0")
    story.at(9).arrived(a_node("y0", order="a2-1")).confirmed("n1", "y0", attempt=2)
    assert isinstance(story.gang, Ready)
    assert story.gang.booking_deadline == NOON + timedelta(minutes=19)
    assert story.at(10).woken(Timer.BOOKING, attempt=1) == [], "the clock of the first offer means nothing any more"
    assert isinstance(story.bound("ml/p1-new", node="y0")[-1], GangConsumed)


def test_pods_that_were_bound_on_a_lost_node_are_waited_for_anew() -> None:
    story = a_ready_gang()
    story.bound("ml/p0", node="x0")
    story.tell(RecordNodeLoss(NodeName("x0"), story.now))
    assert story.known.saga.bound == ()
    assert story.bound("ml/p0", node="x0") == [], "the fact comes late, and the node is gone"


def test_a_repair_that_finds_no_place_revokes_the_capacity() -> None:
    story = a_ready_gang()
    story.tell(RecordNodeLoss(NodeName("x0"), story.now))
    (started,) = story.refused(NoPlanKind.NOT_NOW, attempt=2)
    assert isinstance(started, CompensationStarted)
    assert started.end_state is EndState.REVOKED


def test_a_repair_that_meets_a_stockout_tries_the_next_group_and_still_moves_nobody_else() -> None:
    story = a_ready_gang()
    story.tell(RecordNodeLoss(NodeName("x0"), story.now))
    story.booked(a_plan((H100, 1), existing=("n1",)), attempt=2)
    planning = story.short("a2-1", missing=1)[-1]
    assert isinstance(planning, PlanningStarted)
    assert (planning.excluded_node_groups, planning.lost_nodes) == ((H100,), (NodeName("x0"),))


def test_a_node_that_is_not_ready_after_the_offer_has_a_grace_period() -> None:
    story = a_ready_gang()
    (unready,) = story.tell(RecordNodeUnready(NodeName("x0"), "kubelet stopped posting node status", story.now))
    assert react(POLICY, unready, story.known.saga) == [WakeAt(GANG, 0, Timer.UNREADY, NOON + timedelta(minutes=2))]
    story.at(1).tell(RecordNodeReady(NodeName("x0"), story.now))
    assert story.at(2).woken(Timer.UNREADY) == []
    assert isinstance(story.gang, Ready)


def test_a_node_that_stays_unready_after_the_offer_is_given_up_and_replaced() -> None:
    story = a_ready_gang()
    story.tell(RecordNodeUnready(NodeName("x0"), "kubelet stopped posting node status", story.now))
    assert story.at(1).woken(Timer.UNREADY)[0] == story.history[-1], "looked at too early, it is looked at again"
    lost, planning = story.at(2).woken(Timer.UNREADY)
    assert isinstance(lost, NodeLossRecorded)
    assert "not Ready" in lost.cause
    assert isinstance(planning, PlanningStarted)
    story.booked(a_plan((H100, 1), existing=("n1",)), attempt=2)
    (surplus,) = [e for e in story.history if isinstance(e, SurplusReleased)]
    assert surplus.orders[0].order_id == f"{GANG}-a1-1", "the node is there still, so it is given back"


def test_the_first_of_two_unready_nodes_wakes_the_gang() -> None:
    story = a_ready_gang()
    story.tell(RecordNodeUnready(NodeName("x0"), "gone quiet", story.now))
    (second,) = story.at(1).tell(RecordNodeUnready(NodeName("n1"), "gone quiet", story.at(1).now))
    assert isinstance(second, MemberNodeUnreadied)
    assert (second.deadline, second.wake_time) == (NOON + timedelta(minutes=3), NOON + timedelta(minutes=2))
    story.tell(RecordNodeReady(NodeName("x0"), story.now))
    (again,) = story.at(2).woken(Timer.UNREADY)
    assert isinstance(again, MemberNodeUnreadied)
    assert (again.node, again.wake_time) == (NodeName("n1"), NOON + timedelta(minutes=3))


def test_a_gang_is_not_offered_while_a_node_of_it_is_not_ready() -> None:
    story = a_verified_gang()
    story.tell(RecordNodeUnready(NodeName("x0"), "gone quiet", story.now))
    story.confirmed("n1", "x0")
    assert isinstance(story.gang, Planning)


def test_f17_a_pool_that_changes_after_the_offer_is_checked_and_what_holds_stays_offered() -> None:
    story = a_ready_gang()
    (changed,) = story.tell(a_pool_change("x0", sequence=7))
    assert react(POLICY, changed, story.known.saga) == [ConfirmGang(GANG, 1, (), 1)]
    assert story.tell(a_pool_change("x0", sequence=7)) == [], "told twice"
    assert story.tell(RecordConfirmation(1, on("n1", "x0"), story.now, check=1)) == []
    assert isinstance(story.gang, Ready)


def test_f17_slices_that_no_longer_serve_after_the_offer_cost_their_node_alone() -> None:
    story = a_ready_gang()
    story.tell(a_pool_change("x0", sequence=7))
    lost, planning = story.tell(RecordBreak(1, (why(),), story.now, check=1))
    assert isinstance(lost, NodeLossRecorded)
    assert (lost.node, lost.cause) == (NodeName("x0"), why().sentence)
    assert isinstance(planning, PlanningStarted)
    assert planning.lost_nodes == (NodeName("x0"),)


def test_an_answer_to_an_older_check_decides_nothing() -> None:
    story = a_ready_gang()
    story.tell(a_pool_change("x0", sequence=7))
    story.tell(a_pool_change("x0", sequence=8))
    assert story.tell(RecordBreak(1, (why(),), story.now, check=1)) == []
    assert isinstance(story.gang, Ready)


def test_a_pool_that_changed_before_the_last_arrival_was_part_of_the_verification() -> None:
    story = Story().requested(pod_count=2).booked(a_plan((H100, 1), existing=("n1",))).filled("a1-1", "x0")
    story.tell(RecordArrival(a_node("x0"), (), story.now, sequence=9))
    assert story.tell(a_pool_change("x0", sequence=8)) == []
    assert [type(e) for e in story.tell(a_pool_change("x0", sequence=10))] == [MemberPoolChanged]


def test_a_pool_of_another_node_does_not_matter() -> None:
    assert a_ready_gang().tell(a_pool_change("n9", sequence=7)) == []


def test_other_devices_on_the_same_nodes_revise_the_offer() -> None:
    story = a_ready_gang()
    story.tell(a_pool_change("x0", sequence=7))
    (revised,) = story.tell(RecordConfirmation(1, on("x0", "n1"), story.now, check=1))
    assert revised == OfferRevised(1, 1, on("x0", "n1"))
    assert isinstance(story.gang, Ready)
    assert story.gang.placements == on("x0", "n1")


def test_f21_a_member_that_is_evicted_is_waited_for_again() -> None:
    story = a_ready_gang()
    story.bound("ml/p0")
    story.tell(RecordMemberLoss("ml/p0", story.now))
    assert story.tell(RecordMemberLoss("ml/p0", story.now)) == [], "told twice"
    story.bound("ml/p1")
    assert isinstance(story.gang, Ready)
    story.bound("ml/p2")
    assert isinstance(story.gang, Consumed)


def a_pool_change(node: str, *, sequence: int) -> RecordPoolChange:
    return RecordPoolChange("gpu.example.com", node, NodeName(node), "complete, 7 devices", sequence, NOON)


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


def test_t25_f16_nodes_in_two_domains_are_no_fault_of_their_group_the_first_time() -> None:
    nodes = [f"x{i}" for i in range(8)]
    story = Story().requested(pod_count=8).booked(a_plan((H100, 8))).filled("a1-1", *nodes)
    story.arrived(*(a_node(name, ordinal=i) for i, name in enumerate(nodes)))
    scattered = why("DOMAIN", "one domain of clique is required, the nodes are spread: x0 in c1, x4 in c2")
    (planning,) = story.tell(RecordBreak(1, (scattered,), story.now))
    assert isinstance(planning, PlanningStarted)
    assert (planning.excluded_node_groups, len(planning.kept_nodes)) == ((), 8)
    story.booked(a_plan((H100, 4), existing=tuple(nodes[:4])), attempt=2)
    (surplus,) = [e for e in story.history if isinstance(e, SurplusReleased)]
    assert surplus.orders[0].kept_nodes == tuple(map(NodeName, nodes[:4])), "the four of the other clique go back"
    more = [f"y{i}" for i in range(4)]
    story.filled("a2-1", *more).arrived(*(a_node(name, order="a2-1", ordinal=i) for i, name in enumerate(more)))
    (again,) = story.tell(RecordBreak(2, (scattered,), story.now))
    assert isinstance(again, PlanningStarted)
    assert again.excluded_node_groups == (H100,), "the second time it is"


def test_t25_when_the_difference_cannot_be_ordered_everything_goes_back() -> None:
    story = Story().requested(pod_count=2).booked(a_plan((H100, 2))).filled("a1-1", "x0", "x1")
    story.arrived(a_node("x0"), a_node("x1", ordinal=1))
    story.tell(RecordBreak(1, (why("DOMAIN", "spread"),), story.now))
    (started,) = story.refused(NoPlanKind.NOT_NOW, attempt=2)
    assert isinstance(started, CompensationStarted)
    assert started.end_state is EndState.FAILED


def test_t38_a_pod_without_the_scheduling_group_of_its_template_is_told_in_the_history() -> None:
    story = a_ready_gang()
    (bound,) = story.tell(RecordMemberBind("ml/p0", NodeName("n1"), story.now, ungrouped=True))
    assert "does not enforce the gang" in sentence(bound)
