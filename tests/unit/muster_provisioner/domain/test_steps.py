from collections.abc import Sequence
from datetime import timedelta

import pytest

from muster_provisioner.domain.group import Failure, Instance, InstanceState, Sight, attribute
from muster_provisioner.domain.messages import (
    Event,
    InstanceId,
    Machine,
    OrderCancelIntended,
    OrderCancelled,
    OrderFilled,
    OrderShort,
    ShortfallClass,
)
from muster_provisioner.domain.order import ORDER, Order
from muster_provisioner.domain.steps import (
    Acknowledge,
    Awareness,
    CallIncrease,
    CloseShort,
    Delete,
    FinishCancel,
    Launch,
    LowerTarget,
    Step,
    Traits,
    Wait,
    look,
    notice,
    plan_step,
)

from .orders import (
    ACKNOWLEDGED,
    GANG,
    GROUP,
    INTENDED,
    NOON,
    OLD,
    ORDER_1,
    TAGGING,
    UNTAGGED,
    after,
    an_instance,
    instance_id,
    launched,
    node,
)

SOLD_OUT = Failure(ShortfallClass.STOCKOUT, "none left")
STOCKOUT = OrderShort(ORDER_1, GANG, GROUP, ShortfallClass.STOCKOUT, "none left", (node(2),), 2, NOON)
CANCEL = OrderCancelIntended(ORDER_1, (), NOON)
NOTHING_KNOWN = Awareness()
WONDERING = Awareness(uncertain_since=NOON)


def an_order(*history: Event) -> Order:
    order = ORDER.fold(history)
    assert isinstance(order, Order)
    return order


def step(
    order: Order,
    target: int,
    instances: Sequence[Instance] = (),
    *,
    awareness: Awareness = NOTHING_KNOWN,
    traits: Traits = TAGGING,
    seconds: float = 0,
) -> Step:
    sight = Sight(target, (*OLD, *instances))
    claimed = {each.instance: ORDER_1 for each in order.launched}
    tidied = frozenset({ORDER_1} if awareness.tidied else ())
    attribution = attribute(sight, [order], claimed, tidied)
    return plan_step(look(order, sight, attribution, [order]), awareness, traits, after(seconds))


def test_a_fresh_intent_is_sent() -> None:
    assert step(an_order(INTENDED), 2, awareness=Awareness(unsent=True)) == CallIncrease()


@pytest.mark.parametrize("traits", [TAGGING, UNTAGGED])
def test_t47_an_intent_that_took_effect_is_acknowledged_and_not_sent_again(traits: Traits) -> None:
    assert step(an_order(INTENDED), 5, awareness=WONDERING, traits=traits) == Acknowledge(5)


@pytest.mark.parametrize("traits", [TAGGING, UNTAGGED])
def test_t46_an_intent_without_effect_is_sent_only_after_the_settle_window(traits: Traits) -> None:
    order = an_order(INTENDED)
    assert step(order, 2, awareness=WONDERING, traits=traits, seconds=9.9) == Wait(after(10))
    assert step(order, 2, awareness=WONDERING, traits=traits, seconds=10) == CallIncrease()


def test_t16_a_target_that_grows_within_the_settle_window_is_not_ordered_again() -> None:
    order = an_order(INTENDED)
    assert step(order, 2, awareness=WONDERING, traits=UNTAGGED, seconds=5) == Wait(after(10))
    assert step(order, 5, awareness=WONDERING, traits=UNTAGGED, seconds=9) == Acknowledge(5)


@pytest.mark.parametrize("target", [1, 3, 4, 6, 9])
def test_t17_a_target_that_another_writer_moved_is_left_to_the_instance_ids(target: int) -> None:
    order = an_order(INTENDED)
    assert step(order, target, awareness=WONDERING, traits=UNTAGGED, seconds=9) == Wait(after(10))
    assert step(order, target, awareness=WONDERING, traits=UNTAGGED, seconds=10) == Acknowledge(target)


def test_t17_tags_prove_that_a_moved_target_is_not_ours() -> None:
    assert step(an_order(INTENDED), 4, awareness=WONDERING, seconds=10) == CallIncrease()
    assert step(an_order(INTENDED), 4, [an_instance(2)], awareness=WONDERING) == Acknowledge(4)


def test_an_order_that_the_provider_never_takes_ends_short_by_timeout() -> None:
    limit = TAGGING.order_limit.total_seconds()
    late = step(an_order(INTENDED), 2, awareness=WONDERING, seconds=limit)
    assert isinstance(late, CloseShort)
    assert late.kind is ShortfallClass.TIMEOUT


def test_a_cancelled_intent_that_was_never_sent_is_finished_at_once() -> None:
    order = an_order(INTENDED, CANCEL)
    assert step(order, 2, awareness=Awareness(unsent=True)) == FinishCancel(2)


def test_a_cancelled_intent_of_unknown_outcome_waits_for_the_settle_window() -> None:
    order = an_order(INTENDED, CANCEL)
    assert step(order, 2, awareness=WONDERING, traits=UNTAGGED) == Wait(after(10))
    assert step(order, 2, awareness=WONDERING, traits=UNTAGGED, seconds=10) == FinishCancel(2)
    assert step(order, 5, awareness=WONDERING, traits=UNTAGGED) == Acknowledge(5)


def test_running_instances_are_launches() -> None:
    order = an_order(INTENDED, ACKNOWLEDGED, launched(2))
    instances = [an_instance(2), an_instance(3), an_instance(4, InstanceState.CREATING)]
    assert step(order, 5, instances) == Launch((Machine(instance_id(3), node(3), 3),))


def test_an_instance_without_a_name_is_not_launched_yet() -> None:
    nameless = Instance(InstanceId("i-2"), node(2).__class__(""), InstanceState.RUNNING, ORDER_1)
    assert step(an_order(INTENDED, ACKNOWLEDGED), 5, [nameless]) == Wait(after(900))


def test_t18_a_stockout_closes_the_order_once_nothing_else_is_under_way() -> None:
    order = an_order(INTENDED, ACKNOWLEDGED, launched(2))
    sold_out = an_instance(4, InstanceState.CREATING, failure=SOLD_OUT)
    assert step(order, 5, [an_instance(2), an_instance(3, InstanceState.CREATING), sold_out]) == Wait(after(900))
    also = an_instance(3, InstanceState.CREATING, failure=SOLD_OUT)
    assert step(order, 5, [an_instance(2), also, sold_out]) == CloseShort(ShortfallClass.STOCKOUT, "none left")


def test_t18_after_a_shortfall_the_failed_instances_are_given_back_and_the_launched_stay() -> None:
    order = an_order(INTENDED, ACKNOWLEDGED, launched(2), STOCKOUT)
    failed = [an_instance(each, InstanceState.CREATING, failure=SOLD_OUT) for each in (3, 4)]
    assert step(order, 5, [an_instance(2), *failed]) == Delete((instance_id(3), instance_id(4)))
    assert step(order, 3, [an_instance(2)]) == Wait(tidy=True)


def test_after_a_shortfall_the_unfilled_target_is_taken_back_first() -> None:
    order = an_order(INTENDED, ACKNOWLEDGED, launched(2), STOCKOUT)
    failed = an_instance(3, InstanceState.CREATING, failure=SOLD_OUT)
    assert step(order, 5, [an_instance(2), failed]) == LowerTarget(1)
    assert step(order, 4, [an_instance(2), failed]) == Delete((instance_id(3),))


def test_size_that_another_writer_asks_for_after_the_clean_up_is_left_to_it() -> None:
    order = an_order(INTENDED, ACKNOWLEDGED, launched(2), STOCKOUT)
    tidied = Awareness(tidied=True)
    assert step(order, 5, [an_instance(2)], awareness=tidied) == Wait(tidy=True)
    cancelled = an_order(INTENDED, ACKNOWLEDGED, launched(2), STOCKOUT, CANCEL)
    assert step(cancelled, 5, [an_instance(2)], awareness=tidied) == Delete((instance_id(2),))
    assert step(cancelled, 4, [], awareness=tidied) == FinishCancel(4)


def test_a_refused_order_takes_nothing_back_from_other_writers() -> None:
    refused = OrderShort(ORDER_1, GANG, GROUP, ShortfallClass.QUOTA, "limit", (), 3, NOON)
    assert step(an_order(INTENDED, refused), 5) == Wait(tidy=True)


def test_an_order_without_progress_is_short_by_timeout_and_progress_extends_the_limit() -> None:
    creating = [an_instance(each, InstanceState.CREATING) for each in (3, 4)]
    quiet = an_order(INTENDED, ACKNOWLEDGED)
    assert step(quiet, 5, creating, seconds=899) == Wait(after(900))
    closed = step(quiet, 5, creating, seconds=900)
    assert isinstance(closed, CloseShort)
    assert closed.kind is ShortfallClass.TIMEOUT
    assert "3 of 3 nodes are missing" in closed.message
    moving = an_order(INTENDED, ACKNOWLEDGED, launched(2, after(600)))
    assert step(moving, 5, [an_instance(2), *creating], seconds=900) == Wait(after(1500))


def test_a_target_lowered_by_another_writer_ends_the_wait_after_the_settle_window() -> None:
    order = an_order(INTENDED, ACKNOWLEDGED, launched(2))
    sight = Sight(3, (*OLD, an_instance(2)))
    outlook = look(order, sight, attribute(sight, [order], {}, frozenset()), [order])
    still = notice(Awareness(), outlook, after(20))
    assert still == Awareness(still_since=after(20))
    assert notice(still, outlook, after(25)) == still
    assert step(order, 3, [an_instance(2)], awareness=still, seconds=25) == Wait(after(30))
    closed = step(order, 3, [an_instance(2)], awareness=still, seconds=30)
    assert isinstance(closed, CloseShort)
    assert closed.kind is ShortfallClass.OTHER


def test_a_cancel_lowers_the_target_deletes_all_but_the_kept_and_is_finished_when_they_are_gone() -> None:
    order = an_order(INTENDED, ACKNOWLEDGED, launched(2), launched(3), OrderCancelIntended(ORDER_1, (node(3),), NOON))
    assert step(order, 5, [an_instance(2), an_instance(3)]) == LowerTarget(1)
    assert step(order, 4, [an_instance(2), an_instance(3)]) == Delete((instance_id(2),))
    leaving = an_instance(2, InstanceState.DELETING)
    assert step(order, 3, [leaving, an_instance(3)]) == Wait()
    assert step(order, 3, [an_instance(3)]) == FinishCancel(3)


def test_f27_a_node_that_comes_after_the_cancel_is_recorded_and_then_deleted() -> None:
    cancelled = OrderCancelled(ORDER_1, GANG, GROUP, (), (), 2, NOON)
    order = an_order(INTENDED, ACKNOWLEDGED, CANCEL, cancelled)
    late = an_instance(2)
    assert step(order, 2, [late], awareness=Awareness(tidied=True)) == Launch((Machine(instance_id(2), node(2), 2),))
    reopened = an_order(INTENDED, ACKNOWLEDGED, CANCEL, cancelled, launched(2))
    assert step(reopened, 2, [late]) == Delete((instance_id(2),))
    assert step(reopened, 2, []) == FinishCancel(2)


def test_f27_an_untagged_node_beyond_the_target_belongs_to_the_order_that_was_closed() -> None:
    cancelled = OrderCancelled(ORDER_1, GANG, GROUP, (), (), 2, NOON)
    order = an_order(INTENDED, ACKNOWLEDGED, CANCEL, cancelled)
    late = an_instance(2, tagged=None)
    tidied = Awareness(tidied=True)
    assert isinstance(step(order, 2, [late], awareness=tidied, traits=UNTAGGED), Launch)
    assert step(order, 3, [late], awareness=tidied, traits=UNTAGGED) == Wait(tidy=True)


def test_a_node_too_many_of_a_filled_order_is_given_back() -> None:
    filled = OrderFilled(ORDER_1, GANG, GROUP, (node(2), node(3), node(4)), NOON)
    order = an_order(INTENDED, ACKNOWLEDGED, launched(2), launched(3), launched(4), filled, launched(5))
    assert step(order, 6, [an_instance(each) for each in (2, 3, 4, 5)]) == Delete((instance_id(5),))


def test_untagged_instances_go_to_the_oldest_order_that_misses_nodes_and_old_ones_to_none() -> None:
    order = an_order(INTENDED, ACKNOWLEDGED)
    sight = Sight(5, (*OLD, *(an_instance(each, tagged=None) for each in (5, 3, 4, 6))))
    found = attribute(sight, [order], {}, frozenset())
    assert [each.id for each in found.of(order)] == ["i-3", "i-4", "i-5"]


def test_size_still_to_come_for_another_order_is_not_taken_back() -> None:
    short = an_order(INTENDED, ACKNOWLEDGED, launched(2), STOCKOUT)
    other_terms = INTENDED.terms.__class__(ORDER_1.__class__("other-a1-1"), GANG, GROUP, 2, 0)
    other = an_order(
        INTENDED.__class__(other_terms, INTENDED.baseline, NOON),
        ACKNOWLEDGED.__class__(other_terms.order, 7, NOON),
    )
    sight = Sight(6, (*OLD, an_instance(2)))
    attribution = attribute(sight, [short, other], {}, frozenset())
    assert look(short, sight, attribution, [short, other]).coming == 1
    assert look(other, sight, attribution, [short, other]).coming == 2


def test_a_process_that_did_not_send_the_order_starts_to_wonder_and_goes_on_wondering() -> None:
    order = an_order(INTENDED)
    sight = Sight(2, OLD)
    outlook = look(order, sight, attribute(sight, [order], {}, frozenset()), [order])
    assert notice(Awareness(), outlook, NOON) == WONDERING
    assert notice(WONDERING, outlook, NOON + timedelta(seconds=5)) == WONDERING
    assert notice(Awareness(unsent=True), outlook, NOON) == Awareness(unsent=True)
