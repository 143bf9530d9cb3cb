"""Nodes on their way: arrivals, shortfalls, losses, deadlines."""

from dataclasses import replace

from muster_gang_coordinator.domain.commands import RecordBooking, RecordNodeLoss, Timer
from muster_gang_coordinator.domain.events import (
    CompensationStarted,
    EndState,
    NodeArrivalRecorded,
    NodeLossRecorded,
    NodesOrdered,
    OrderFillRecorded,
    PlanningStarted,
    ShortfallRecorded,
    SurplusOrder,
    SurplusReleased,
    VerificationStarted,
)
from muster_gang_coordinator.domain.plans import NoPlanKind, ShapeMismatch, ShortfallClass
from muster_gang_coordinator.domain.policy import SagaPolicy
from muster_gang_coordinator.domain.states import Arriving, Compensating, Ordered, Planning, Verifying
from muster_gang_coordinator.domain.trust import TemplateTrust, Unconfirmed
from muster_types import NodeName, OrderId
from unit.muster_gang_coordinator.builders import (
    A100,
    GANG,
    H100,
    NOON,
    WRONG_NUMA,
    Story,
    a_node,
    a_plan,
)

OTHER_PRODUCT = ShapeMismatch(
    "C3",
    "gpu.example.com gpu-0: gpu.example.com/productName=H100",
    "A100",
    "gpu.example.com gpu-0: productName is A100, the template says H100",
)


def test_the_gang_is_verified_when_the_last_node_is_there() -> None:
    story = Story().requested().booked(a_plan((H100, 2), existing=("n1",))).filled("a1-1", "x0", "x1")
    assert isinstance(story.gang, Arriving)
    story.arrived(a_node("x0"))
    assert isinstance(story.gang, Arriving)
    story.arrived(a_node("x1", ordinal=1))
    assert story.history[-1] == VerificationStarted(1, (a_node("x0"), a_node("x1", ordinal=1)), NOON)


def test_nodes_may_arrive_before_the_provider_says_that_they_are_launched() -> None:
    story = Story().requested().booked(a_plan((H100, 2)))
    story.arrived(a_node("x1", ordinal=1), a_node("x0"))
    assert isinstance(story.gang, Verifying)
    assert [type(e) for e in story.history[-1:]] == [VerificationStarted]
    story.filled("a1-1", "x0", "x1")
    assert isinstance(story.history[-1], OrderFillRecorded)
    assert isinstance(story.gang, Verifying)


def test_facts_that_come_twice_are_noted_once() -> None:
    story = Story().requested().booked(a_plan((H100, 2))).filled("a1-1", "x0", "x1").arrived(a_node("x0"))
    before = list(story.history)
    story.filled("a1-1", "x0", "x1").arrived(a_node("x0"))
    assert story.short("a1-1", "x0", missing=1) == []
    assert story.history == before


def test_an_arrival_for_an_order_that_the_gang_never_placed_is_ignored() -> None:
    story = Story().requested().booked(a_plan((H100, 2)))
    before = list(story.history)
    story.arrived(a_node("x0", order="a7-1"))
    assert story.history == before


def test_f6_a_stockout_leads_to_the_next_plan_without_the_group_and_with_what_arrived() -> None:
    story = Story().requested().booked(a_plan((H100, 3)))
    story.short("a1-1", "x0", missing=2)
    assert isinstance(story.gang, Arriving), "the node that was launched is waited for"
    story.arrived(a_node("x0"))
    planning = story.history[-1]
    assert isinstance(planning, PlanningStarted)
    assert (planning.attempt, planning.excluded_node_groups, planning.kept_nodes) == (2, (H100,), (a_node("x0"),))
    assert planning.cause == "node group h100-r7 gave 1 of 3 nodes"


def test_a_stockout_without_any_node_is_planned_again_at_once() -> None:
    story = Story().requested().booked(a_plan((H100, 3)))
    events = story.short("a1-1", missing=3)
    assert [type(e) for e in events] == [ShortfallRecorded, PlanningStarted]


def test_what_the_next_plan_does_not_use_goes_back() -> None:
    story = Story().requested().booked(a_plan((H100, 3)))
    story.short("a1-1", "x0", "x1", missing=1)
    story.arrived(a_node("x0"), a_node("x1", ordinal=1))
    story.booked(a_plan((A100, 2), existing=("x1",)), attempt=2)
    surplus, ordered = story.history[-2:]
    assert surplus == SurplusReleased((SurplusOrder(OrderId(f"{GANG}-a1-1"), (NodeName("x1"),)),))
    assert isinstance(ordered, NodesOrdered)
    assert ordered.orders[0].order_id == f"{GANG}-a2-1"


def test_a_whole_order_that_the_next_plan_uses_whole_stays_as_it_is() -> None:
    story = Story().requested().booked(a_plan((H100, 1), (A100, 2)))
    story.filled("a1-1", "x0").arrived(a_node("x0"))
    story.short("a1-2", missing=2)
    story.booked(a_plan((H100, 1), existing=("x0",)), attempt=2)
    (surplus,) = [e for e in story.history if isinstance(e, SurplusReleased)]
    assert surplus.orders == (SurplusOrder(OrderId(f"{GANG}-a1-2"), ()),)


def test_t18_when_no_other_plan_is_found_everything_goes_back() -> None:
    story = Story().requested().booked(a_plan((H100, 8)))
    nodes = [f"x{i}" for i in range(6)]
    story.short("a1-1", *nodes, missing=2)
    story.arrived(*(a_node(name, ordinal=i) for i, name in enumerate(nodes)))
    (started,) = story.refused(NoPlanKind.NOT_NOW, attempt=2)
    assert isinstance(started, CompensationStarted)
    assert started.end_state is EndState.FAILED
    assert (started.order_ids, started.booking_held) == ((OrderId(f"{GANG}-a1-1"),), True)


def test_f7_a_second_group_that_is_refused_waits_for_the_first_one_to_arrive() -> None:
    story = Story().requested().booked(a_plan((H100, 1), (A100, 1)))
    story.short("a1-2", missing=1, reason=ShortfallClass.QUOTA)
    assert isinstance(story.gang, Arriving)
    story.filled("a1-1", "x0").arrived(a_node("x0"))
    planning = story.history[-1]
    assert isinstance(planning, PlanningStarted)
    assert planning.excluded_node_groups == (A100,)
    assert planning.kept_nodes == (a_node("x0"),)


def test_two_groups_that_both_ran_short_are_both_left_out() -> None:
    story = Story().requested().booked(a_plan((H100, 1), (A100, 1)))
    story.short("a1-2", missing=1)
    story.short("a1-1", missing=1)
    planning = story.history[-1]
    assert isinstance(planning, PlanningStarted)
    assert planning.excluded_node_groups == (A100, H100)


def test_the_gang_gives_up_after_enough_setbacks() -> None:
    story = Story(SagaPolicy(max_setbacks=1)).requested().booked(a_plan((H100, 1)))
    story.short("a1-1", missing=1)
    story.booked(a_plan((A100, 1)), attempt=2)
    events = story.short("a2-1", missing=1)
    started = events[-1]
    assert isinstance(started, CompensationStarted)
    assert started.reasons[0].code == "ATTEMPTS_SPENT"


def test_f10_an_order_that_nobody_answered_by_the_node_deadline_is_short() -> None:
    story = Story().requested().booked(a_plan((H100, 2)))
    assert story.at(14).woken(Timer.NODE) == []
    short, planning = story.at(15).woken(Timer.NODE)
    assert isinstance(short, ShortfallRecorded)
    assert (short.shortfall_class, short.missing, short.nodes) == (ShortfallClass.TIMEOUT, 2, ())
    assert isinstance(planning, PlanningStarted)
    assert planning.excluded_node_groups == (H100,)


def test_f11_a_node_that_is_not_ready_by_the_node_deadline_is_not_waited_for() -> None:
    story = Story().requested().booked(a_plan((H100, 2))).filled("a1-1", "x0", "x1")
    short, *rest = story.at(15).woken(Timer.NODE, ready=(("a1-1", "x0"),))
    assert isinstance(short, ShortfallRecorded)
    assert (short.nodes, short.missing) == ((NodeName("x0"),), 1)
    assert rest == [], "x0 is Ready: its pools are waited for until the device deadline"
    story.arrived(a_node("x0"))
    assert isinstance(story.gang, Planning)


def test_t19_f13_ready_nodes_whose_slices_are_late_have_until_the_device_deadline() -> None:
    story = Story().requested().booked(a_plan((H100, 2))).filled("a1-1", "x0", "x1").arrived(a_node("x0"))
    assert story.at(16).woken(Timer.NODE, ready=(("a1-1", "x0"), ("a1-1", "x1"))) == []
    short, planning = story.at(30).woken(Timer.DEVICE)
    assert isinstance(short, ShortfallRecorded)
    assert short.nodes == (NodeName("x0"),)
    assert isinstance(planning, PlanningStarted)
    assert planning.kept_nodes == (a_node("x0"),)


def test_t26_slices_ten_minutes_after_the_node_are_in_time() -> None:
    story = Story().requested().booked(a_plan((H100, 1))).filled("a1-1", "x0")
    assert story.at(15).woken(Timer.NODE, ready=(("a1-1", "x0"),)) == []
    story.at(24).arrived(a_node("x0"))
    assert isinstance(story.gang, Verifying)
    assert story.at(30).woken(Timer.DEVICE) == []


def test_deadlines_of_an_earlier_attempt_mean_nothing() -> None:
    story = Story().requested().booked(a_plan((H100, 1)))
    story.short("a1-1", missing=1)
    story.at(5).booked(a_plan((A100, 1)), attempt=2)
    assert story.at(15).woken(Timer.NODE, attempt=1) == []
    assert isinstance(story.gang, Ordered)


def test_f22_a_node_lost_before_the_offer_is_ordered_again_from_the_same_group_once() -> None:
    story = Story().requested().booked(a_plan((H100, 2))).filled("a1-1", "x0", "x1").arrived(a_node("x0"))
    lost, planning = story.tell(RecordNodeLoss(NodeName("x1"), NOON))
    assert lost == NodeLossRecorded(NodeName("x1"), OrderId(f"{GANG}-a1-1"), NOON)
    assert isinstance(planning, PlanningStarted)
    assert (planning.excluded_node_groups, planning.kept_nodes) == ((), (a_node("x0"),))
    story.booked(a_plan((H100, 1), existing=("x0",)), attempt=2)
    story.filled("a2-1", "y0")
    second = story.tell(RecordNodeLoss(NodeName("y0"), NOON))[-1]
    assert isinstance(second, PlanningStarted)
    assert second.excluded_node_groups == (H100,), "the group has lost a node before"


def test_a_loss_that_is_told_twice_is_noted_once() -> None:
    story = Story().requested().booked(a_plan((H100, 2), (A100, 1))).filled("a1-1", "x0", "x1")
    assert len(story.tell(RecordNodeLoss(NodeName("x1"), NOON))) == 1
    assert story.tell(RecordNodeLoss(NodeName("x1"), NOON)) == []


def test_an_existing_node_of_the_plan_that_is_lost_leads_to_another_plan() -> None:
    story = Story().requested().booked(a_plan((H100, 1), existing=("n1",)))
    assert story.tell(RecordNodeLoss(NodeName("n9"), NOON)) == [], "no member is there"
    lost = story.tell(RecordNodeLoss(NodeName("n1"), NOON))
    assert lost == [NodeLossRecorded(NodeName("n1"), OrderId(""), NOON)], "the order on its way is waited for"
    story.filled("a1-1", "x0").arrived(a_node("x0"))
    planning = story.history[-1]
    assert isinstance(planning, PlanningStarted)
    assert (planning.excluded_node_groups, planning.kept_nodes) == ((), (a_node("x0"),))


def test_a_kept_node_lost_while_planning_is_noticed_when_the_plan_uses_it() -> None:
    story = Story().requested().booked(a_plan((H100, 2)))
    story.short("a1-1", "x0", missing=1)
    story.arrived(a_node("x0"))
    story.tell(RecordNodeLoss(NodeName("x0"), NOON))
    story.booked(a_plan((A100, 1), existing=("x0",)), attempt=2)
    planning = story.history[-1]
    assert isinstance(planning, PlanningStarted)
    assert (planning.attempt, planning.kept_nodes) == (3, ())


def test_t23_c9_an_arrival_in_another_shape_is_noted_with_its_evidence_and_verified() -> None:
    story = Story().requested().booked(a_plan((H100, 1))).filled("a1-1", "x0")
    story.arrived(a_node("x0"), mismatches=(WRONG_NUMA,))
    noted = story.history[-2]
    assert isinstance(noted, NodeArrivalRecorded)
    assert noted.mismatches == (WRONG_NUMA,)
    assert isinstance(story.gang, Verifying), "C9 decides, not C1 to C8"


def test_a_wrong_trial_node_stops_further_orders_on_its_template() -> None:
    story = Story().requested()
    story.tell(RecordBooking(1, a_plan((H100, 16)), NOON, TemplateTrust((Unconfirmed(H100),))))
    story.filled("a1-1", "x0").arrived(a_node("x0"), mismatches=(WRONG_NUMA,))
    planning = story.history[-1]
    assert isinstance(planning, PlanningStarted)
    assert planning.excluded_node_groups == (H100,)
    assert "another shape than its template promised" in planning.cause
    assert sum(o.count for o in story.known.saga.orders) == 1, "it costs at most one node"


def test_late_nodes_of_a_short_order_are_noted_while_the_next_plan_is_made_and_go_back_with_it() -> None:
    story = Story().requested().booked(a_plan((H100, 2)))
    story.at(15).woken(Timer.NODE)
    story.arrived(a_node("x0"))
    assert isinstance(story.history[-1], NodeArrivalRecorded)
    story.booked(a_plan((A100, 2)), attempt=2)
    (surplus,) = [e for e in story.history if isinstance(e, SurplusReleased)]
    assert surplus.orders == (SurplusOrder(OrderId(f"{GANG}-a1-1"), ()),)


def test_a_gang_without_setback_and_without_plan_on_the_second_attempt_still_compensates_what_it_holds() -> None:
    story = Story().requested().booked(a_plan((H100, 1)))
    story.short("a1-1", missing=1)
    story.refused(NoPlanKind.NEVER, attempt=2)
    assert isinstance(story.gang, Compensating)


def test_t24_f15_a_node_of_another_product_is_rejected_whatever_its_counts() -> None:
    story = Story().requested().booked(a_plan((H100, 2))).filled("a1-1", "x0", "x1").arrived(a_node("x0"))
    story.arrived(a_node("x1", ordinal=1), mismatches=(OTHER_PRODUCT,))
    lost, planning = story.history[-2:]
    assert isinstance(lost, NodeLossRecorded)
    assert (lost.node, lost.cause) == (NodeName("x1"), OTHER_PRODUCT.sentence)
    assert isinstance(planning, PlanningStarted)
    assert (planning.excluded_node_groups, planning.kept_nodes) == ((H100,), (a_node("x0"),))
    story.booked(a_plan((A100, 1), existing=("x0",)), attempt=2)
    (surplus,) = [e for e in story.history if isinstance(e, SurplusReleased)]
    assert surplus.orders == (SurplusOrder(OrderId(f"{GANG}-a1-1"), (NodeName("x0"),)),), "x1 goes back"


def test_another_driver_version_is_left_to_allocation() -> None:
    version = replace(OTHER_PRODUCT, expected="gpu.example.com gpu-0: gpu.example.com/driverVersion=580.1.0")
    story = Story().requested().booked(a_plan((H100, 1))).filled("a1-1", "x0")
    story.arrived(a_node("x0"), mismatches=(version,))
    assert isinstance(story.gang, Verifying)
