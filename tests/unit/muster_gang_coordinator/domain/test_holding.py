"""A request that goes away while its workload may ask again."""

from datetime import timedelta

from muster_gang_coordinator.domain.commands import CancelGang, RecordDrift, RequestGang, Timer
from muster_gang_coordinator.domain.events import (
    CompensationStarted,
    EndState,
    Event,
    GangRequested,
    HoldStarted,
    PlanningStarted,
    SurplusOrder,
    TemplateDriftRecorded,
)
from muster_gang_coordinator.domain.outgoing import CancelOrder, WakeAt
from muster_gang_coordinator.domain.policy import SagaPolicy
from muster_gang_coordinator.domain.react import react
from muster_gang_coordinator.domain.states import Arriving, Compensating, Held
from muster_types import NodeName, OrderId
from unit.muster_gang_coordinator.builders import GANG, H100, NOON, POLICY, Story, a_node, a_plan, a_spec

ORDER = OrderId(f"{GANG}-a1-1")
ARRIVED = tuple(NodeName(f"x{i}") for i in range(5))


def an_arriving_gang(policy: SagaPolicy = POLICY, **fields: object) -> Story:
    story = Story(policy).requested(pod_count=8, **{"workload_key": "w-1/check", **fields}).booked(a_plan((H100, 8)))
    story.filled("a1-1", *(f"x{i}" for i in range(8)))
    return story.arrived(*(a_node(name, ordinal=i) for i, name in enumerate(ARRIVED)))


def deleted(story: Story) -> list[Event]:
    return story.tell(CancelGang("ProvisioningRequest ml/train was deleted", story.now, "uid-1", successor=True))


def test_t28_what_has_arrived_is_held_and_the_rest_goes_back_at_once() -> None:
    story = an_arriving_gang()
    (started,) = deleted(story)
    assert isinstance(started, HoldStarted)
    assert started.orders == (SurplusOrder(ORDER, ARRIVED),)
    assert react(POLICY, started, story.known.saga) == [
        CancelOrder(ORDER, GANG, H100, ARRIVED),
        WakeAt(GANG, 0, Timer.HOLD, NOON + POLICY.successor_hold),
    ]
    assert deleted(story) == [], "told twice"


def test_t28_the_next_attempt_takes_over_what_is_held() -> None:
    story = an_arriving_gang()
    deleted(story)
    successor = a_spec(uid="uid-2", name="train-2", pod_count=8, workload_key="w-1/check")
    requested, planning = story.at(1).tell(RequestGang(GANG, successor, "request-2", story.at(1).now))
    assert isinstance(requested, GangRequested)
    assert isinstance(planning, PlanningStarted)
    assert tuple(node.node for node in planning.kept_nodes) == ARRIVED
    assert story.at(6).woken(Timer.HOLD) == [], "the hold is over, and was taken over"


def test_t28_the_nodes_are_deleted_when_the_hold_ends() -> None:
    story = an_arriving_gang()
    deleted(story)
    assert story.at(4).woken(Timer.HOLD) == []
    (started,) = story.at(5).woken(Timer.HOLD)
    assert isinstance(started, CompensationStarted)
    assert (started.end_state, started.order_ids, started.booking_held) == (EndState.CANCELLED, (ORDER,), True)


def test_a_late_node_of_a_held_order_goes_back() -> None:
    story = an_arriving_gang()
    deleted(story)
    story.arrived(a_node("x5", ordinal=5))
    assert type(story.history[-1]).__name__ == "OrphanFound"


def test_nothing_is_held_for_a_request_that_no_workload_owns() -> None:
    story = an_arriving_gang(workload_key="")
    deleted(story)
    assert isinstance(story.gang, Compensating)


def test_nothing_is_held_when_somebody_cancels() -> None:
    story = an_arriving_gang()
    story.tell(CancelGang("no more", story.now))
    assert isinstance(story.gang, Compensating)


def test_a_hold_can_be_cancelled() -> None:
    story = an_arriving_gang()
    deleted(story)
    story.tell(CancelGang("no more", story.now))
    assert isinstance(story.gang, Compensating)


def test_without_a_hold_time_everything_goes_back_at_once() -> None:
    story = an_arriving_gang(SagaPolicy(successor_hold=timedelta(0)))
    deleted(story)
    assert isinstance(story.gang, Compensating)


def test_t3_an_edited_template_is_noted_once_and_the_gang_goes_on_with_what_was_accepted() -> None:
    story = an_arriving_gang()
    (drift,) = story.tell(RecordDrift("PodTemplate", "worker", "hash-2", story.now))
    assert drift == TemplateDriftRecorded("PodTemplate", "worker", "hash-1", "hash-2", NOON)
    assert story.tell(RecordDrift("PodTemplate", "worker", "hash-2", story.now)) == []
    assert story.tell(RecordDrift("PodTemplate", "worker", "hash-1", story.now)) == [], "edited back"
    assert isinstance(story.gang, Arriving)
    assert isinstance(story.gang, Held | Arriving)
