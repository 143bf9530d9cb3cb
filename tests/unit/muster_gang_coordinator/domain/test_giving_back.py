"""Compensation, its end, and what comes after it."""

import pytest

from muster_gang_coordinator.domain.commands import (
    CancelGang,
    RecordArrival,
    RecordBooking,
    RecordConfirmation,
    RecordFill,
    RecordNodeLoss,
)
from muster_gang_coordinator.domain.events import (
    BookingReleaseRecorded,
    CompensationStarted,
    EndState,
    GangEnded,
    NodeArrivalRecorded,
    NodeLossRecorded,
    OrderCancelRecorded,
    OrderFillRecorded,
    OrphanFound,
)
from muster_gang_coordinator.domain.orders import OrderState
from muster_gang_coordinator.domain.plans import NoPlanKind
from muster_gang_coordinator.domain.states import Compensating, Consumed, Ended
from muster_types import NodeName, ObjectKey, OrderId
from unit.muster_gang_coordinator.builders import A100, GANG, H100, NOON, Story, a_node, a_plan, on

ORDER = OrderId(f"{GANG}-a1-1")
X0 = NodeName("x0")
STOP = CancelGang("no more", NOON)


def received() -> Story:
    return Story().requested(missing=(ObjectKey("PodTemplate", "ml", "worker"),))


def planning() -> Story:
    return Story().requested()


def waiting() -> Story:
    story = Story().requested()
    story.refused(NoPlanKind.NOT_NOW)
    return story


def ordered() -> Story:
    return Story().requested().booked(a_plan((H100, 2)))


def arriving() -> Story:
    return ordered().filled("a1-1", "x0", "x1").arrived(a_node("x0"))


def verifying() -> Story:
    return arriving().arrived(a_node("x1", ordinal=1))


def ready() -> Story:
    return verifying().confirmed("x0", "x1")


def cancelled_and_clean() -> Story:
    story = arriving()
    story.tell(STOP)
    story.cancelled("a1-1", "x0", "x1")
    story.released()
    return story


@pytest.mark.parametrize("begin", [received, waiting])
def test_a_gang_that_holds_nothing_is_cancelled_at_once(begin: type) -> None:
    (ended,) = begin().tell(STOP)
    assert isinstance(ended, GangEnded)
    assert ended.end_state is EndState.CANCELLED


@pytest.mark.parametrize("begin", [ordered, arriving, verifying, ready])
def test_a_gang_that_holds_something_gives_it_back_before_it_ends(begin: type) -> None:
    story = begin()
    (started,) = story.tell(STOP)
    assert isinstance(started, CompensationStarted)
    assert (started.end_state, started.order_ids, started.booking_held) == (EndState.CANCELLED, (ORDER,), True)
    assert story.tell(STOP) == [], "cancelled twice"
    assert [type(e) for e in story.cancelled("a1-1")] == [OrderCancelRecorded]
    assert isinstance(story.gang, Compensating)
    assert [type(e) for e in story.released()] == [BookingReleaseRecorded, GangEnded]
    assert isinstance(story.gang, Ended)


def test_the_order_of_the_receipts_does_not_matter() -> None:
    story = arriving()
    story.tell(STOP)
    assert [type(e) for e in story.released()] == [BookingReleaseRecorded]
    assert story.released() == []
    assert [type(e) for e in story.cancelled("a1-1", "x0", "x1")] == [OrderCancelRecorded, GangEnded]
    assert story.cancelled("a1-1", "x0", "x1") == []


def test_a_cancel_while_a_plan_is_in_flight_releases_what_it_may_book() -> None:
    story = planning()
    (started,) = story.tell(STOP)
    assert isinstance(started, CompensationStarted)
    assert (started.order_ids, started.booking_held) == ((), True)
    assert story.tell(RecordBooking(1, a_plan((H100, 2)), NOON)) == [], "the release that was asked for covers it"
    assert [type(e) for e in story.released()] == [BookingReleaseRecorded, GangEnded]
    assert story.tell(RecordBooking(1, a_plan((H100, 2)), NOON)) == []


def test_a_cancel_of_another_request_does_not_touch_a_gang_that_was_adopted() -> None:
    story = ordered()
    assert story.tell(CancelGang("ProvisioningRequest ml/train was deleted", NOON, uid="uid-0")) == []
    assert [type(e) for e in story.tell(CancelGang("deleted", NOON, uid="uid-1"))] == [CompensationStarted]


def test_every_live_order_of_every_attempt_goes_back() -> None:
    story = Story().requested().booked(a_plan((H100, 3)))
    story.short("a1-1", "x0", missing=2)
    story.arrived(a_node("x0"))
    story.booked(a_plan((A100, 2), existing=("x0",)), attempt=2)
    story.cancelled("a1-1", kept=("x0",))
    (started,) = story.tell(STOP)
    assert isinstance(started, CompensationStarted)
    assert started.order_ids == (ORDER, OrderId(f"{GANG}-a2-1"))
    assert story.cancelled("a1-1", kept=("x0",)) == [], "the receipt of the earlier, partial cancel comes again"
    story.cancelled("a2-1")
    story.released()
    assert isinstance(story.gang, Compensating), "x0 is still there"
    story.cancelled("a1-1", "x0")
    assert isinstance(story.gang, Ended)


def test_an_order_that_went_back_whole_is_not_cancelled_again() -> None:
    story = Story().requested().booked(a_plan((H100, 3)))
    story.short("a1-1", missing=3)
    story.booked(a_plan((A100, 2)), attempt=2)
    story.cancelled("a1-1")
    (started,) = story.tell(STOP)
    assert isinstance(started, CompensationStarted)
    assert started.order_ids == (OrderId(f"{GANG}-a2-1"),)


def test_facts_that_come_while_nodes_go_back_change_nothing() -> None:
    story = arriving()
    story.tell(STOP)
    assert story.tell(RecordFill(ORDER, (NodeName("x0"), NodeName("x1")), NOON)) == []
    assert story.tell(RecordArrival(a_node("x0"), (), NOON)) == []
    assert story.tell(RecordNodeLoss(NodeName("x0"), NOON)) == []
    assert story.tell(RecordConfirmation(1, on("x0", "x1"), NOON)) == []
    assert story.bound("ml/p0") == []


def test_f27_a_node_that_arrives_after_its_order_went_back_is_an_orphan_and_goes_back_too() -> None:
    story = ordered()
    story.tell(STOP)
    story.cancelled("a1-1")
    story.released()
    assert isinstance(story.gang, Ended)
    late = story.tell(RecordArrival(a_node("x0"), (), NOON))
    assert late == [NodeArrivalRecorded(a_node("x0"), (), NOON), OrphanFound(ORDER, booking=False, node=X0)]
    assert story.tell(RecordArrival(a_node("x0"), (), NOON)) == [], "told twice"
    assert [type(e) for e in story.cancelled("a1-1", "x0")] == [OrderCancelRecorded]
    assert story.known.saga.orders[0].state is OrderState.CANCELLED
    assert isinstance(story.gang, Ended)


def test_an_orphan_found_during_compensation_is_waited_for() -> None:
    story = ordered()
    story.tell(STOP)
    story.cancelled("a1-1")
    late = story.tell(RecordFill(ORDER, (X0,), NOON))
    assert late == [OrderFillRecorded(ORDER, (X0,), NOON), OrphanFound(ORDER, booking=False, node=X0)]
    story.released()
    assert isinstance(story.gang, Compensating)
    story.cancelled("a1-1", "x0")
    assert isinstance(story.gang, Ended)


def test_an_orphan_that_somebody_else_removes_is_settled_too() -> None:
    story = ordered()
    story.tell(STOP)
    story.cancelled("a1-1")
    story.tell(RecordArrival(a_node("x0"), (), NOON))
    story.released()
    events = story.tell(RecordNodeLoss(NodeName("x0"), NOON))
    assert [type(e) for e in events] == [NodeLossRecorded, GangEnded]


def test_an_arrival_that_was_only_delivered_late_is_no_orphan() -> None:
    story = cancelled_and_clean()
    assert story.tell(RecordArrival(a_node("x1", ordinal=1), (), NOON)) == []
    assert story.tell(RecordFill(ORDER, (NodeName("x0"), NodeName("x1")), NOON)) == []


def test_what_the_provider_gives_back_later_by_itself_is_noted() -> None:
    story = cancelled_and_clean()
    assert story.cancelled("a1-1", "x0", "x1", "x2") == [OrderCancelRecorded(ORDER, (NodeName("x2"),))]
    assert story.tell(RecordArrival(a_node("x2"), (), NOON)) == []


def test_a_booking_that_the_ledger_makes_for_an_ended_gang_is_an_orphan() -> None:
    story = waiting()
    story.tell(STOP)
    assert story.tell(RecordBooking(2, a_plan((H100, 2)), NOON)) == [OrphanFound(OrderId(""), booking=True)]
    assert story.tell(RecordBooking(2, a_plan((H100, 2)), NOON)) == []
    assert story.released() == [BookingReleaseRecorded()]


def test_f26_a_node_that_arrives_while_its_order_goes_back_must_be_among_what_went() -> None:
    story = ordered()
    story.tell(STOP)
    assert story.tell(RecordArrival(a_node("x0"), (), NOON)) == [NodeArrivalRecorded(a_node("x0"), (), NOON)]
    assert story.cancelled("a1-1") == [OrderCancelRecorded(ORDER, ()), OrphanFound(ORDER, booking=False, node=X0)]
    assert story.cancelled("a1-1") == [], "the receipt again"
    story.released()
    assert isinstance(story.gang, Compensating)
    story.cancelled("a1-1", "x0")
    assert isinstance(story.gang, Ended)


def test_a_loss_that_is_told_before_the_arrival_still_counts() -> None:
    story = ordered()
    assert len(story.tell(RecordNodeLoss(NodeName("x0"), NOON, ORDER))) == 1
    assert story.tell(RecordArrival(a_node("x0"), (), NOON)) == []


def test_surplus_of_a_consumed_gang_that_arrives_late_goes_back_and_the_rest_stays() -> None:
    story = Story().requested(pod_count=1).booked(a_plan((H100, 2)))
    story.short("a1-1", "x0", missing=1)
    story.arrived(a_node("x0"))
    story.booked(a_plan(existing=("x0",)), attempt=2).confirmed("x0", attempt=2)
    story.bound("ml/p0")
    assert isinstance(story.gang, Consumed)
    late = a_node("x1", ordinal=1)
    assert story.tell(RecordArrival(late, (), NOON)) == [
        NodeArrivalRecorded(late, (), NOON),
        OrphanFound(ORDER, booking=False, node=late.node),
    ]
    assert story.tell(RecordArrival(late, (), NOON)) == []
    assert story.cancelled("a1-1", "x1", kept=("x0",)) == [OrderCancelRecorded(ORDER, (late.node,), (X0,))]
    assert [a.node for a in story.known.saga.present] == ["x0"]


def test_of_several_orphans_that_come_at_once_the_first_by_name_is_told() -> None:
    story = ordered()
    story.tell(STOP)
    story.cancelled("a1-1")
    late = story.tell(RecordFill(ORDER, (NodeName("x1"), X0), NOON))
    assert late[1:] == [OrphanFound(ORDER, booking=False, node=X0)]


def test_an_ended_gang_keeps_no_objects_in_memory() -> None:
    failed = Story().requested(objects_json=(b"{}",))
    assert failed.known.saga.spec.objects_json
    failed.refused(NoPlanKind.NEVER)
    consumed = Story().requested(pod_count=1, objects_json=(b"{}",)).booked(a_plan(existing=("n1",))).confirmed("n1")
    consumed.bound("ml/p0")
    for story in (failed, consumed):
        spec = story.known.saga.spec
        assert (spec.request_json, spec.objects_json) == (b"", ())
        assert spec.content_hash == "hash-1", "a repeat is still known"
