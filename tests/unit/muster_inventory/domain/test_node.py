from datetime import UTC, datetime

import pytest

from muster_decider import CorruptHistory
from muster_decider.testing import given
from muster_inventory.domain.node import (
    NODE,
    Arrival,
    NodeArrived,
    NodeGone,
    NodeReadied,
    NodeRegistered,
    NodeUnreadied,
    Purpose,
    Readiness,
    Ready,
    RecordNode,
    RecordNodeGone,
    Unready,
    react,
)
from muster_plan.shape import ShapeMismatch
from muster_types import GangId, NodeGroupName, NodeName, OrderId

N1 = NodeName("h100-r7-1b2c3-0")
H100, A100 = NodeGroupName("h100-r7"), NodeGroupName("a100-r2")
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
ORDERED = Purpose(OrderId("llm-4f2a1c-a1-0"), GangId("llm-4f2a1c"), 0)
REORDERED = Purpose(OrderId("llm-4f2a1c-a2-0"), GangId("llm-4f2a1c"), 1)
AS_PROMISED = Arrival((), NOON)
SHORT = ShapeMismatch("C2", "8", "7", "gpu-7 is missing")
BOOTING = Unready("Ready is False: kubelet is starting")

READY = Ready()


def seen(
    readiness: Readiness = READY,
    group: NodeGroupName | None = H100,
    purpose: Purpose | None = ORDERED,
    arrival: Arrival | None = None,
) -> RecordNode:
    return RecordNode(N1, group, readiness, purpose, arrival)


REGISTERED = NodeRegistered(N1, H100, ORDERED.order, ORDERED.gang)
UNORDERED = NodeRegistered(N1, H100)
ARRIVED = NodeArrived(N1, H100, ORDERED, (), NOON)
GONE = NodeGone(N1, H100, ORDERED.order, ORDERED.gang)


def test_a_new_node_is_registered_and_its_readiness_told() -> None:
    given(NODE).when(seen(BOOTING)).then(REGISTERED, NodeUnreadied(N1, BOOTING.reason))


def test_an_ordered_node_arrives_when_it_is_ready_and_its_pools_are_complete() -> None:
    given(NODE, REGISTERED, NodeUnreadied(N1, BOOTING.reason)).when(seen(arrival=AS_PROMISED)).then(
        NodeReadied(N1), ARRIVED
    )


def test_a_ready_node_without_its_pools_has_not_arrived() -> None:
    given(NODE, REGISTERED).when(seen()).then(NodeReadied(N1))


def test_a_node_that_is_not_ready_does_not_arrive_whatever_its_pools() -> None:
    given(NODE, REGISTERED).when(seen(BOOTING, arrival=AS_PROMISED)).then(NodeUnreadied(N1, BOOTING.reason))


def test_a_node_arrives_once() -> None:
    given(NODE, REGISTERED, NodeReadied(N1), ARRIVED).when(seen(arrival=AS_PROMISED)).then_nothing()


def test_a_node_arrives_again_for_another_order() -> None:
    decided = given(NODE, REGISTERED, NodeReadied(N1), ARRIVED).when(seen(purpose=REORDERED, arrival=AS_PROMISED))
    decided.then(NodeArrived(N1, H100, REORDERED, (), NOON))


def test_a_node_that_nobody_ordered_never_arrives() -> None:
    given(NODE).when(seen(purpose=None, arrival=AS_PROMISED)).then(UNORDERED, NodeReadied(N1))


def test_a_wrong_shape_travels_with_the_arrival() -> None:
    given(NODE, REGISTERED, NodeReadied(N1)).when(seen(arrival=Arrival((SHORT,), NOON))).then(
        NodeArrived(N1, H100, ORDERED, (SHORT,), NOON)
    )


def test_another_reason_for_not_being_ready_is_told() -> None:
    cordoned = Unready("the node is cordoned")
    given(NODE, REGISTERED, NodeUnreadied(N1, BOOTING.reason)).when(seen(cordoned)).then(
        NodeUnreadied(N1, cordoned.reason)
    )


def test_a_node_that_moves_to_another_group_is_registered_there() -> None:
    given(NODE, REGISTERED, NodeReadied(N1)).when(seen(group=A100)).then(
        NodeRegistered(N1, A100, ORDERED.order, ORDERED.gang)
    )


def test_a_node_whose_order_is_seen_later_is_registered_with_it_once() -> None:
    given(NODE, UNORDERED, NodeReadied(N1)).when(seen()).then(REGISTERED)
    given(NODE, UNORDERED, NodeReadied(N1), REGISTERED).when(seen()).then_nothing()


def test_an_arrival_tells_the_order_of_a_node_that_was_registered_without_one() -> None:
    given(NODE, UNORDERED, NodeReadied(N1)).when(seen(arrival=AS_PROMISED)).then(ARRIVED)
    given(NODE, UNORDERED, NodeReadied(N1), ARRIVED).when(seen(arrival=AS_PROMISED)).then_nothing()


def test_a_node_that_loses_its_labels_stays_known_as_ordered() -> None:
    given(NODE, REGISTERED, NodeReadied(N1)).when(seen(purpose=None)).then_nothing()
    given(NODE, REGISTERED, NodeReadied(N1)).when(seen(purpose=None, group=A100)).then(
        NodeRegistered(N1, A100, ORDERED.order, ORDERED.gang)
    )
    old_writer = NodeRegistered(N1, A100)
    given(NODE, REGISTERED, old_writer).when(RecordNodeGone(N1)).then(NodeGone(N1, A100, ORDERED.order, ORDERED.gang))


def test_a_lost_node_names_the_order_and_gang_it_was_for() -> None:
    given(NODE, REGISTERED, NodeReadied(N1), ARRIVED).when(RecordNodeGone(N1)).then(GONE)


def test_a_node_lost_before_it_arrived_names_the_order_seen_on_it() -> None:
    given(NODE, UNORDERED).when(RecordNodeGone(N1, ORDERED)).then(GONE)


def test_a_node_lost_before_it_arrived_and_after_a_restart_names_the_order_it_was_registered_with() -> None:
    given(NODE, REGISTERED, NodeUnreadied(N1, BOOTING.reason)).when(RecordNodeGone(N1)).then(GONE)


def test_a_node_is_gone_once() -> None:
    given(NODE, REGISTERED, NodeGone(N1, H100, None, None)).when(RecordNodeGone(N1)).then_nothing()
    given(NODE).when(RecordNodeGone(N1)).then_nothing()


def test_a_node_that_comes_back_under_its_name_is_registered_and_arrives_anew() -> None:
    given(NODE, REGISTERED, NodeReadied(N1), ARRIVED, GONE).when(seen(arrival=AS_PROMISED)).then(
        REGISTERED, NodeReadied(N1), ARRIVED
    )


def test_only_an_arrival_within_a_group_is_handed_to_the_group() -> None:
    assert react(ARRIVED) == ARRIVED
    assert react(NodeArrived(N1, None, ORDERED, (), NOON)) is None
    assert react(NodeReadied(N1)) is None


def test_a_history_that_no_decision_gives_is_corrupt() -> None:
    with pytest.raises(CorruptHistory):
        NODE.fold([NodeReadied(N1)])
