from datetime import UTC, datetime

from muster.api.provisioner.v1 import provisioner_service_pb2 as pb
from muster.events.gangs.v1 import gangs_pb2
from muster_provisioner.domain.messages import Baseline, InstanceId, OrderTerms, ShortfallClass
from muster_provisioner.domain.order import Launched, Order, Shortfall, Stage
from muster_provisioner.ports import GroupOperation
from muster_provisioner.wire.api import to_group_operation, to_order_view
from muster_types import GangId, NodeGroupName, NodeName, OrderId

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def an_order(stage: Stage, **parts: object) -> Order:
    terms = OrderTerms(OrderId("o"), GangId("g"), NodeGroupName("n"), 2, 0)
    launched = tuple(Launched(InstanceId(f"i-{each}"), NodeName(f"n-{each}"), each) for each in range(2))
    return Order(terms, Baseline(0, ()), stage, NOON, NOON, True, launched, **parts)  # type: ignore[arg-type]


def test_every_stage_has_its_state() -> None:
    states = {to_order_view(an_order(stage)).state for stage in Stage}
    assert states == set(pb.OrderState.values()) - {pb.ORDER_STATE_UNSPECIFIED}


def test_an_order_shows_its_nodes_and_a_cancelled_one_those_that_it_kept() -> None:
    assert list(to_order_view(an_order(Stage.FILLED)).nodes) == ["n-0", "n-1"]
    kept = frozenset({NodeName("n-1")})
    assert list(to_order_view(an_order(Stage.CANCELLED, kept=kept)).nodes) == ["n-1"]


def test_a_short_order_shows_class_and_message() -> None:
    view = to_order_view(an_order(Stage.SHORT, shortfall=Shortfall(ShortfallClass.QUOTA, "limit", 1)))
    assert view.shortfall_class == gangs_pb2.SHORTFALL_CLASS_QUOTA
    assert view.message == "limit"
    assert view.intend_time.ToDatetime(UTC) == NOON


def test_a_group_shows_its_size_and_instances() -> None:
    view = to_group_operation(GroupOperation(NodeGroupName("n"), "simulated", 3, (InstanceId("i-0"),), ""))
    assert (view.node_group, view.target_size, list(view.instances)) == ("n", 3, ["i-0"])
