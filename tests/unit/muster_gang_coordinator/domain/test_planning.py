"""From the request to the orders."""

import pytest

from muster_decider.testing import given
from muster_gang_coordinator.domain.commands import (
    CancelGang,
    RecordBooking,
    RecordNoPlan,
    RequestGang,
    RetryGang,
    Timer,
    WakeGang,
)
from muster_gang_coordinator.domain.events import (
    EndState,
    GangEnded,
    GangPlanBooked,
    GangRequested,
    GangWaits,
    NodeOrder,
    NodesOrdered,
    PlanningStarted,
    VerificationStarted,
)
from muster_gang_coordinator.domain.gang import gang_decider
from muster_gang_coordinator.domain.plans import NoPlanKind, Reason
from muster_gang_coordinator.domain.policy import SagaPolicy, TrialOrders
from muster_gang_coordinator.domain.refusals import GangAlreadyRequested, UnknownGang, no_plan
from muster_gang_coordinator.domain.states import Ended, Ordered, Planning, Received, Verifying, Waiting
from muster_gang_coordinator.domain.trust import Mistrusted, TemplateTrust, Unconfirmed
from muster_types import NodeName, ObjectKey, OrderId
from unit.muster_gang_coordinator.builders import (
    A100,
    GANG,
    H100,
    NOON,
    POLICY,
    Story,
    a_node,
    a_plan,
    a_spec,
    why,
)

DECIDER = gang_decider(POLICY)
REQUESTED = GangRequested(GANG, a_spec(), "request-1", NOON)
FIRST = PlanningStarted(1, (), (), "the request", NOON)
TEMPLATE = ObjectKey("PodTemplate", "ml", "worker")


def test_a_complete_request_is_planned_at_once() -> None:
    given(DECIDER).when(RequestGang(GANG, a_spec(), "request-1", NOON)).then(REQUESTED, FIRST)


def test_the_same_request_again_changes_nothing() -> None:
    given(DECIDER, REQUESTED, FIRST).when(RequestGang(GANG, a_spec(), "request-1", NOON)).then_nothing()


def test_the_same_request_with_other_content_is_refused() -> None:
    command = RequestGang(GANG, a_spec(content_hash="other"), "request-1", NOON)
    given(DECIDER, REQUESTED, FIRST).when_refused(command, GangAlreadyRequested)


def test_an_unknown_gang_cannot_be_cancelled() -> None:
    given(DECIDER).when_refused(CancelGang("no more", NOON), UnknownGang)


def test_facts_about_a_gang_that_nobody_asked_for_change_nothing() -> None:
    given(DECIDER).when(RecordBooking(1, a_plan((H100, 2)), NOON)).then_nothing()


def test_t2_a_template_that_comes_late_is_waited_for() -> None:
    story = Story().requested(missing=(TEMPLATE,))
    assert isinstance(story.gang, Received)
    assert story.at(0.5).woken(Timer.TEMPLATES, attempt=0) == []
    complete = a_spec(content_hash="with the template")
    events = story.tell(RequestGang(GANG, complete, "request-1", story.now))
    assert [type(e) for e in events] == [GangRequested, PlanningStarted]
    assert story.known.saga.request_time == NOON


def test_one_of_two_missing_objects_that_comes_is_noted_and_the_other_still_waited_for() -> None:
    claims = ObjectKey("ResourceClaimTemplate", "ml", "four-gpus")
    story = Story().requested(missing=(TEMPLATE,))
    events = story.tell(RequestGang(GANG, a_spec(missing=(claims,)), "request-1", NOON))
    assert [type(e) for e in events] == [GangRequested]
    assert story.tell(RequestGang(GANG, a_spec(missing=(claims,)), "request-1", NOON)) == []
    (ended,) = story.at(1).woken(Timer.TEMPLATES, attempt=0)
    assert isinstance(ended, GangEnded)
    assert "ResourceClaimTemplate ml/four-gpus" in ended.reasons[0].sentence


def test_f1_a_template_that_never_comes_fails_the_gang_and_is_named() -> None:
    story = Story().requested(missing=(TEMPLATE,))
    (ended,) = story.at(1).woken(Timer.TEMPLATES, attempt=0)
    assert isinstance(ended, GangEnded)
    assert ended.end_state is EndState.FAILED
    assert "PodTemplate ml/worker does not exist" in ended.reasons[0].sentence


def test_the_template_timer_means_nothing_once_the_template_came() -> None:
    story = Story().requested(missing=(TEMPLATE,))
    story.tell(RequestGang(GANG, a_spec(), "request-1", NOON))
    assert story.at(2).woken(Timer.TEMPLATES, attempt=0) == []


def test_a_request_with_a_defect_fails_at_once_with_the_reason() -> None:
    defect = Reason("INVALID_REQUEST", "ValidUntilSeconds is no number")
    story = Story().requested(defects=(defect,))
    assert story.history[-1] == GangEnded(EndState.FAILED, (defect,), NOON)


@pytest.mark.parametrize("kind", [NoPlanKind.NEVER, NoPlanKind.LIMIT])
def test_t5_f3_never_and_limit_end_the_gang_at_once_with_the_proof(kind: NoPlanKind) -> None:
    given(DECIDER, REQUESTED, FIRST).when(RecordNoPlan(1, kind, (why(),), NOON)).then(
        GangEnded(EndState.FAILED, (no_plan(kind), why()), NOON)
    )


def test_not_now_makes_the_gang_wait() -> None:
    given(DECIDER, REQUESTED, FIRST).when(RecordNoPlan(1, NoPlanKind.NOT_NOW, (why(),), NOON)).then(
        GangWaits(1, NoPlanKind.NOT_NOW, (why(),), NOON)
    )


def test_a_refusal_of_another_attempt_is_stale() -> None:
    given(DECIDER, REQUESTED, FIRST).when(RecordNoPlan(2, NoPlanKind.NEVER, (why(),), NOON)).then_nothing()


def test_a_waiting_gang_tries_again_after_a_change() -> None:
    waits = GangWaits(1, NoPlanKind.NOT_NOW, (why(),), NOON)
    given(DECIDER, REQUESTED, FIRST, waits).when(RetryGang("node n1 is ready", NOON)).then(
        PlanningStarted(2, (), (), "node n1 is ready", NOON)
    )


def test_a_waiting_gang_tries_again_after_a_while_but_only_once_for_each_attempt() -> None:
    story = Story().requested()
    story.refused(NoPlanKind.NOT_NOW)
    story.tell(RetryGang("node n1 is ready", NOON))
    story.refused(NoPlanKind.NOT_NOW, attempt=2)
    assert isinstance(story.gang, Waiting)
    assert story.woken(Timer.RETRY, attempt=1) == []
    assert [type(e) for e in story.woken(Timer.RETRY, attempt=2)] == [PlanningStarted]


def test_retries_of_a_waiting_gang_are_no_setbacks() -> None:
    story = Story(SagaPolicy(max_setbacks=0)).requested()
    for attempt in range(1, 5):
        story.refused(NoPlanKind.NOT_NOW, attempt=attempt)
        story.tell(RetryGang("again", NOON))
    assert isinstance(story.gang, Planning)
    assert story.known.saga.setbacks == 0


def test_a_plan_on_existing_nodes_goes_straight_to_verification() -> None:
    plan = a_plan(existing=("n1", "n2"))
    given(DECIDER, REQUESTED, FIRST).when(RecordBooking(1, plan, NOON)).then(
        GangPlanBooked(1, plan, NOON), VerificationStarted(1, (), NOON)
    )


def test_t7_a_plan_over_two_groups_orders_both_with_derived_ids() -> None:
    plan = a_plan((H100, 2), (A100, 1))
    orders = (NodeOrder(OrderId(f"{GANG}-a1-1"), H100, 2, 0), NodeOrder(OrderId(f"{GANG}-a1-2"), A100, 1, 0))
    deadlines = NOON + POLICY.node_deadline, NOON + POLICY.device_deadline
    given(DECIDER, REQUESTED, FIRST).when(RecordBooking(1, plan, NOON)).then(
        GangPlanBooked(1, plan, NOON), NodesOrdered(1, orders, NOON, *deadlines)
    )


def test_a_booking_that_is_told_twice_orders_once() -> None:
    story = Story().requested().booked(a_plan((H100, 2)))
    assert isinstance(story.gang, Ordered)
    assert story.tell(RecordBooking(1, a_plan((H100, 2)), NOON)) == []


def test_a_request_without_end_fails_after_its_lifetime() -> None:
    story = Story().requested()
    story.refused(NoPlanKind.NOT_NOW)
    assert story.at(60).woken(Timer.REQUEST, attempt=0) == []
    (ended,) = story.at(7 * 24 * 60).woken(Timer.REQUEST, attempt=0)
    assert isinstance(ended, GangEnded)
    assert ended.reasons[0].code == "REQUEST_EXPIRED"


def test_an_unconfirmed_template_is_tried_with_one_node_and_the_rest_follows() -> None:
    story = Story().requested()
    story.tell(RecordBooking(1, a_plan((H100, 3)), NOON, TemplateTrust((Unconfirmed(H100),))))
    ordered = story.history[-1]
    assert isinstance(ordered, NodesOrdered)
    assert [(o.count, o.first_ordinal, o.trial) for o in ordered.orders] == [(1, 0, True)]
    story.filled("a1-1", "x0").arrived(a_node("x0"))
    rest = story.history[-1]
    assert isinstance(rest, NodesOrdered)
    assert [(o.order_id, o.count, o.first_ordinal) for o in rest.orders] == [(f"{GANG}-a1-2", 2, 1)]
    story.filled("a1-2", "x1", "x2")
    story.arrived(a_node("x1", order="a1-2", ordinal=1), a_node("x2", order="a1-2", ordinal=2))
    assert isinstance(story.gang, Verifying)


def test_a_confirmed_template_is_ordered_whole() -> None:
    story = Story().requested()
    story.tell(RecordBooking(1, a_plan((H100, 3)), NOON, TemplateTrust((Unconfirmed(A100),))))
    ordered = story.history[-1]
    assert isinstance(ordered, NodesOrdered)
    assert [(o.count, o.trial) for o in ordered.orders] == [(3, False)]


def test_nodes_that_can_only_be_added_together_are_tried_together() -> None:
    story = Story().requested()
    story.tell(RecordBooking(1, a_plan((H100, 8)), NOON, TemplateTrust((Unconfirmed(H100, unit=4),))))
    ordered = story.history[-1]
    assert isinstance(ordered, NodesOrdered)
    assert [o.count for o in ordered.orders] == [4]


def test_the_rest_of_a_proved_group_does_not_wait_for_the_trial_of_another() -> None:
    story = Story().requested()
    both = TemplateTrust((Unconfirmed(A100), Unconfirmed(H100)))
    story.tell(RecordBooking(1, a_plan((A100, 2), (H100, 3)), NOON, both))
    story.filled("a1-1", "y0").filled("a1-2", "x0").arrived(a_node("x0", order="a1-2"))
    rest = story.history[-1]
    assert isinstance(rest, NodesOrdered)
    assert [(o.node_group, o.count, o.first_ordinal) for o in rest.orders] == [(H100, 2, 1)]


def test_a_plan_on_a_template_that_was_proved_wrong_meanwhile_orders_nothing() -> None:
    story = Story().requested()
    wrong = TemplateTrust((), (Mistrusted(H100, NodeName("z9"), "C5 GPUs lie on other NUMA nodes"),))
    story.tell(RecordBooking(1, a_plan((H100, 3)), NOON, wrong))
    planning = story.history[-1]
    assert isinstance(planning, PlanningStarted)
    assert planning.excluded_node_groups == (H100,)
    assert story.known.saga.orders == ()


def test_a_gang_that_waits_is_told_which_template_was_proved_wrong_and_what_to_do() -> None:
    story = Story().requested()
    wrong = TemplateTrust((), (Mistrusted(H100, NodeName("z9"), "C5 GPUs lie on other NUMA nodes"),))
    story.tell(RecordNoPlan(1, NoPlanKind.NOT_NOW, (why(),), NOON, wrong))
    assert isinstance(story.gang, Waiting)
    assert story.gang.reasons[-1].code == "TEMPLATE_WRONG"
    assert "muster.dev/template-trusted" in story.gang.reasons[-1].sentence


def test_without_trials_everything_is_ordered_at_once() -> None:
    story = Story(SagaPolicy(trial_orders=TrialOrders.OFF)).requested()
    story.tell(RecordBooking(1, a_plan((H100, 3)), NOON, TemplateTrust((Unconfirmed(H100),))))
    ordered = story.history[-1]
    assert isinstance(ordered, NodesOrdered)
    assert [(o.count, o.trial) for o in ordered.orders] == [(3, False)]


def test_an_early_wake_of_an_unknown_kind_of_state_decides_nothing() -> None:
    given(DECIDER, REQUESTED, FIRST).when(WakeGang(1, Timer.NODE, NOON)).then_nothing()


def test_an_ended_gang_stays_ended() -> None:
    story = Story().requested()
    story.refused(NoPlanKind.NEVER)
    assert isinstance(story.gang, Ended)
    assert story.tell(RetryGang("node n1 is ready", NOON)) == []
    assert story.tell(CancelGang("no more", NOON)) == []
    assert story.woken(Timer.REQUEST, attempt=0) == []
