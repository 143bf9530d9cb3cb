import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from muster_decider import CorruptHistory
from muster_decider.testing import given
from muster_provisioner.domain.messages import (
    Baseline,
    CancelOrder,
    Command,
    Event,
    Machine,
    NodeLaunched,
    OrderAcknowledged,
    OrderCancelIntended,
    OrderCancelled,
    OrderFilled,
    OrderIntended,
    OrderShort,
    OrderTerms,
    PlaceOrder,
    RecordAcknowledgement,
    RecordCancellation,
    RecordLaunches,
    RecordShortfall,
    RefuseOrder,
    ShortfallClass,
)
from muster_provisioner.domain.order import ORDER, InvalidOrder, Order, OrderAlreadyPlaced, Stage, Unplaced
from muster_types import NodeName

from .orders import (
    ACKNOWLEDGED,
    BASELINE,
    GANG,
    GROUP,
    INTENDED,
    NOON,
    ORDER_1,
    TERMS,
    after,
    instance_id,
    launched,
    node,
)

PLACE = PlaceOrder(TERMS, BASELINE, NOON)
ALL_NODES = (node(2), node(3), node(4))
FILLED = OrderFilled(ORDER_1, GANG, GROUP, ALL_NODES, NOON)
STOCKOUT = OrderShort(ORDER_1, GANG, GROUP, ShortfallClass.STOCKOUT, "none left", (node(2),), 2, NOON)
FULL = (INTENDED, ACKNOWLEDGED, launched(2), launched(3), launched(4), FILLED)


def cancel(*kept: NodeName) -> CancelOrder:
    return CancelOrder(ORDER_1, GANG, GROUP, frozenset(kept), NOON)


def machine(ordinal: int, *, tagged: bool = True) -> Machine:
    return Machine(instance_id(ordinal), node(ordinal), ordinal if tagged else None)


def test_an_order_is_intended_with_its_baseline_before_anything_else() -> None:
    given(ORDER).when(PLACE).then(INTENDED)


def test_the_same_order_again_decides_nothing_at_any_stage() -> None:
    for length in range(1, len(FULL) + 1):
        given(ORDER, *FULL[:length]).when(PLACE).then_nothing()


def test_an_order_id_is_not_used_for_two_wishes() -> None:
    other = OrderTerms(ORDER_1, GANG, GROUP, 4, 2)
    given(ORDER, INTENDED).when_refused(PlaceOrder(other, BASELINE, NOON), OrderAlreadyPlaced)


def test_an_order_of_no_nodes_is_refused() -> None:
    none = OrderTerms(ORDER_1, GANG, GROUP, 0, 0)
    given(ORDER).when_refused(PlaceOrder(none, BASELINE, NOON), InvalidOrder)


def test_an_order_that_cannot_be_tried_is_intended_and_short_at_once() -> None:
    message = "node group h100-r7 is not declared"
    given(ORDER).when(RefuseOrder(TERMS, ShortfallClass.OTHER, message, NOON)).then(
        OrderIntended(TERMS, Baseline(0, ()), NOON),
        OrderShort(ORDER_1, GANG, GROUP, ShortfallClass.OTHER, message, (), 3, NOON),
    )


def test_an_acknowledgement_is_recorded_once() -> None:
    given(ORDER, INTENDED).when(RecordAcknowledgement(5, NOON)).then(ACKNOWLEDGED)
    given(ORDER, INTENDED, ACKNOWLEDGED).when(RecordAcknowledgement(5, NOON)).then_nothing()


def test_the_last_launch_fills_the_order_and_names_its_nodes_by_ordinal() -> None:
    given(ORDER, INTENDED, ACKNOWLEDGED, launched(4)).when(RecordLaunches((machine(3), machine(2)), NOON)).then(
        launched(2), launched(3), FILLED
    )


def test_launches_seen_twice_are_recorded_once() -> None:
    given(ORDER, INTENDED, ACKNOWLEDGED, launched(2)).when(RecordLaunches((machine(2),), NOON)).then_nothing()


def test_untagged_machines_take_the_free_ordinals_in_order_of_their_ids() -> None:
    given(ORDER, INTENDED, ACKNOWLEDGED, launched(3)).when(
        RecordLaunches((machine(9, tagged=False), machine(8, tagged=False)), NOON)
    ).then(
        NodeLaunched(ORDER_1, GANG, instance_id(8), node(8), 2, NOON),
        NodeLaunched(ORDER_1, GANG, instance_id(9), node(9), 4, NOON),
        OrderFilled(ORDER_1, GANG, GROUP, (node(8), node(3), node(9)), NOON),
    )


def test_a_shortfall_names_what_came_and_counts_what_did_not() -> None:
    given(ORDER, INTENDED, ACKNOWLEDGED, launched(2)).when(
        RecordShortfall(ShortfallClass.STOCKOUT, "none left", NOON)
    ).then(STOCKOUT)


def test_a_refused_call_closes_the_order_short_of_all() -> None:
    given(ORDER, INTENDED).when(RecordShortfall(ShortfallClass.QUOTA, "project limit", NOON)).then(
        OrderShort(ORDER_1, GANG, GROUP, ShortfallClass.QUOTA, "project limit", (), 3, NOON)
    )


def test_a_closed_order_cannot_fall_short() -> None:
    short = RecordShortfall(ShortfallClass.TIMEOUT, "too late", NOON)
    given(ORDER, *FULL).when(short).then_nothing()
    given(ORDER, INTENDED, ACKNOWLEDGED, launched(2), STOCKOUT).when(short).then_nothing()


def test_a_node_that_comes_after_the_shortfall_is_recorded_and_not_wanted() -> None:
    decided = given(ORDER, INTENDED, ACKNOWLEDGED, launched(2), STOCKOUT).when(RecordLaunches((machine(3),), NOON))
    decided.then(launched(3))
    assert isinstance(decided.state, Order)
    assert decided.state.stage is Stage.SHORT
    assert decided.state.wants(instance_id(2))
    assert not decided.state.wants(instance_id(3))


@pytest.mark.parametrize("length", range(1, len(FULL) + 1))
def test_an_order_can_be_cancelled_at_every_stage(length: int) -> None:
    given(ORDER, *FULL[:length]).when(cancel()).then(OrderCancelIntended(ORDER_1, (), NOON))


def test_a_cancelled_order_lists_deleted_and_kept_nodes() -> None:
    history = (*FULL, OrderCancelIntended(ORDER_1, (node(3),), NOON))
    given(ORDER, *history).when(RecordCancellation(3, NOON)).then(
        OrderCancelled(ORDER_1, GANG, GROUP, (node(2), node(4)), (node(3),), 3, NOON)
    )


def test_a_cancel_that_overtook_its_order_wins() -> None:
    cancelled = OrderCancelled(ORDER_1, GANG, GROUP, (), (), 0, NOON)
    given(ORDER).when(cancel()).then(cancelled)
    given(ORDER, cancelled).when(PLACE).then_nothing()
    given(ORDER, cancelled).when(cancel()).then_nothing()


def test_a_second_cancel_can_keep_less_and_never_more() -> None:
    kept_one = (*FULL, OrderCancelIntended(ORDER_1, (node(3),), NOON))
    given(ORDER, *kept_one).when(cancel(node(3))).then_nothing()
    given(ORDER, *kept_one).when(cancel(node(2), node(3))).then_nothing()
    given(ORDER, *kept_one).when(cancel()).then(OrderCancelIntended(ORDER_1, (), NOON))
    given(ORDER, *kept_one).when(cancel(node(2))).then(OrderCancelIntended(ORDER_1, (), NOON))


def test_a_cancelled_order_can_be_cancelled_further() -> None:
    kept_one = OrderCancelIntended(ORDER_1, (node(3),), NOON)
    cancelled = OrderCancelled(ORDER_1, GANG, GROUP, (node(2), node(4)), (node(3),), 3, NOON)
    given(ORDER, *FULL, kept_one, cancelled).when(cancel()).then(OrderCancelIntended(ORDER_1, (), NOON))
    given(ORDER, *FULL, kept_one, cancelled).when(cancel(node(3))).then_nothing()


def test_a_late_success_after_the_cancel_reopens_it_and_is_cancelled_again() -> None:
    """Failure mode F27: compensation races a late success."""
    history: tuple[Event, ...] = (
        INTENDED,
        ACKNOWLEDGED,
        OrderCancelIntended(ORDER_1, (), NOON),
        OrderCancelled(ORDER_1, GANG, GROUP, (), (), 2, NOON),
    )
    late = given(ORDER, *history).when(RecordLaunches((machine(2),), after(30))).then(launched(2, after(30)))
    assert isinstance(late.state, Order)
    assert late.state.stage is Stage.CANCELLING
    assert not late.state.wants(instance_id(2))
    given(ORDER, *history, launched(2, after(30))).when(RecordCancellation(2, after(31))).then(
        OrderCancelled(ORDER_1, GANG, GROUP, (node(2),), (), 2, after(31))
    )


def test_a_cancelling_order_still_learns_that_it_was_taken() -> None:
    history = (INTENDED, OrderCancelIntended(ORDER_1, (), NOON))
    decided = given(ORDER, *history).when(RecordAcknowledgement(5, NOON)).then(ACKNOWLEDGED)
    assert isinstance(decided.state, Order)
    assert decided.state.stage is Stage.CANCELLING


def test_a_history_that_cannot_be_is_an_error() -> None:
    with pytest.raises(CorruptHistory):
        ORDER.evolve(Unplaced(), ACKNOWLEDGED)
    with pytest.raises(CorruptHistory):
        ORDER.fold([INTENDED, launched(2)])
    with pytest.raises(CorruptHistory):
        ORDER.fold([*FULL, FILLED])


COMMANDS: st.SearchStrategy[Command] = st.one_of(
    st.just(PLACE),
    st.just(RefuseOrder(TERMS, ShortfallClass.OTHER, "no group", NOON)),
    st.just(RecordAcknowledgement(5, NOON)),
    st.lists(st.integers(2, 6), max_size=4).map(
        lambda ordinals: RecordLaunches(tuple(machine(each) for each in ordinals), NOON)
    ),
    st.just(RecordShortfall(ShortfallClass.TIMEOUT, "too late", NOON)),
    st.sets(st.sampled_from(ALL_NODES)).map(lambda kept: cancel(*kept)),
    st.just(RecordCancellation(2, NOON)),
)


@for_all(st.lists(COMMANDS, max_size=12))
def test_whatever_is_asked_in_whatever_order_the_history_can_be_folded_and_repeats_decide_nothing(
    commands: list[Command],
) -> None:
    history: list[Event] = []
    for command in commands:
        decided = ORDER.decide(command, ORDER.fold(history))
        history.extend(decided)
        assert ORDER.decide(command, ORDER.fold(history)) == []
    assert sum(isinstance(each, OrderAcknowledged) for each in history) <= 1
    assert sum(isinstance(each, OrderFilled | OrderShort) for each in history) <= 1
    instances = [each.instance for each in history if isinstance(each, NodeLaunched)]
    assert len(instances) == len(set(instances))
    filled = next((each for each in history if isinstance(each, OrderFilled)), None)
    assert filled is None or len(filled.nodes) == TERMS.count
