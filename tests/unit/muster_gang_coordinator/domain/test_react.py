"""Which commands follow from which event."""

from datetime import timedelta

from muster_gang_coordinator.domain.commands import CancelGang, RecordBreak, Timer
from muster_gang_coordinator.domain.outgoing import (
    BookGang,
    CancelOrder,
    ConfirmGang,
    ForgetWake,
    LiftHolds,
    Outgoing,
    PlaceOrder,
    ReleaseGang,
    WakeAt,
)
from muster_gang_coordinator.domain.plans import NoPlanKind
from muster_gang_coordinator.domain.react import react
from muster_types import NodeName, ObjectKey, OrderId
from unit.muster_gang_coordinator.builders import A100, GANG, H100, NOON, POLICY, Story, a_node, a_plan, a_spec, why

ORDER = OrderId(f"{GANG}-a1-1")


def sent(story: Story, since: int = 0) -> list[Outgoing]:
    """What the events from `since` on ask of others."""
    return [item for event in story.history[since:] for item in react(POLICY, event, story.known.saga)]


def test_a_request_asks_for_a_booking_and_for_a_wake_up_at_its_end() -> None:
    assert sent(Story().requested()) == [
        WakeAt(GANG, 0, Timer.REQUEST, NOON + timedelta(days=7)),
        BookGang(GANG, 1, a_spec(), (), ()),
    ]


def test_a_request_with_missing_objects_asks_to_be_woken() -> None:
    spec = a_spec(missing=(ObjectKey("PodTemplate", "ml", "worker"),))
    assert sent(Story().requested(missing=spec.missing))[0] == WakeAt(
        GANG, 0, Timer.TEMPLATES, NOON + timedelta(seconds=60)
    )


def test_orders_are_placed_with_their_deadlines() -> None:
    story = Story().requested()
    since = len(story.history)
    story.booked(a_plan((H100, 2)))
    assert sent(story, since) == [
        PlaceOrder(ORDER, GANG, H100, 2, 0),
        WakeAt(GANG, 1, Timer.NODE, NOON + timedelta(minutes=15)),
        WakeAt(GANG, 1, Timer.DEVICE, NOON + timedelta(minutes=30)),
    ]


def test_waiting_asks_for_a_late_retry() -> None:
    story = Story().requested()
    since = len(story.history)
    story.refused(NoPlanKind.NOT_NOW)
    assert sent(story, since) == [WakeAt(GANG, 1, Timer.RETRY, NOON + timedelta(minutes=5))]


def test_the_last_arrival_asks_for_verification_of_the_ordered_nodes() -> None:
    story = Story().requested().booked(a_plan((H100, 1), existing=("n1",)))
    since = len(story.history)
    story.arrived(a_node("x0"))
    assert sent(story, since) == [ConfirmGang(GANG, 1, (a_node("x0"),))]


def test_the_next_attempt_asks_with_excluded_groups_and_kept_nodes() -> None:
    story = Story().requested().booked(a_plan((H100, 1)))
    story.arrived(a_node("x0"))
    since = len(story.history)
    story.tell(RecordBreak(1, (why(),), NOON))
    assert sent(story, since) == [BookGang(GANG, 2, a_spec(), (H100,), (a_node("x0"),))]


def test_surplus_goes_back_except_what_is_kept() -> None:
    story = Story().requested().booked(a_plan((H100, 2)))
    story.short("a1-1", "x0", missing=1)
    story.arrived(a_node("x0"))
    since = len(story.history)
    story.booked(a_plan((A100, 1), existing=("x0",)), attempt=2)
    assert CancelOrder(ORDER, GANG, H100, (NodeName("x0"),)) in sent(story, since)


def test_a_consumed_gang_releases_its_booking_and_lifts_the_reservation_of_its_nodes() -> None:
    story = Story().requested(pod_count=1).booked(a_plan((H100, 1), existing=("n1",)))
    story.filled("a1-1", "x0").arrived(a_node("x0")).confirmed("n1", "x0")
    since = len(story.history)
    story.bound("ml/p0")
    assert sent(story, since) == [
        ReleaseGang(GANG, "consumed"),
        LiftHolds(GANG, (NodeName("x0"),)),
        ForgetWake(GANG, Timer.REQUEST),
    ]


def test_compensation_cancels_every_live_order_and_releases_the_booking() -> None:
    story = Story().requested().booked(a_plan((H100, 1), (A100, 1)))
    since = len(story.history)
    story.tell(CancelGang("no more", NOON))
    assert sent(story, since) == [
        CancelOrder(ORDER, GANG, H100, ()),
        CancelOrder(OrderId(f"{GANG}-a1-2"), GANG, A100, ()),
        ReleaseGang(GANG, "cancelled"),
    ]


def test_an_orphan_is_told_to_go_back() -> None:
    story = Story().requested().booked(a_plan((H100, 1)))
    story.tell(CancelGang("no more", NOON))
    story.cancelled("a1-1")
    since = len(story.history)
    story.filled("a1-1", "x0")
    assert sent(story, since) == [CancelOrder(ORDER, GANG, H100, ())]


def test_facts_alone_ask_nothing_of_anybody() -> None:
    story = Story().requested().booked(a_plan((H100, 2)))
    since = len(story.history)
    story.filled("a1-1", "x0", "x1").arrived(a_node("x0"))
    assert sent(story, since) == []


def test_an_ended_gang_needs_no_wake_up_at_the_end_of_its_request() -> None:
    story = Story().requested()
    since = len(story.history)
    story.refused(NoPlanKind.NEVER)
    assert sent(story, since) == [ForgetWake(GANG, Timer.REQUEST)]
