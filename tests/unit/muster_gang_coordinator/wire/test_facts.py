"""Facts of the other services to commands, and commands to messages on their subjects."""

from datetime import timedelta

import pytest

from muster.commands.claims.v1 import claims_pb2 as claim_commands
from muster.commands.gangs.v1 import gangs_pb2 as gang_commands
from muster.commands.provisioning.v1 import provisioning_pb2 as order_commands
from muster.events.claims.v1 import claims_pb2
from muster.events.gangs.v1.gangs_pb2 import SHORTFALL_CLASS_QUOTA
from muster.events.inventory.v1 import inventory_pb2
from muster.events.provisioning.v1 import provisioning_pb2
from muster.type.v1 import plan_pb2
from muster_eventstore import PermanentError, SendCommand, WakeAt
from muster_gang_coordinator.domain import outgoing
from muster_gang_coordinator.domain.commands import (
    RecordArrival,
    RecordBooking,
    RecordBookingRelease,
    RecordBreak,
    RecordConfirmation,
    RecordFill,
    RecordNodeLoss,
    RecordNodeReady,
    RecordNodeUnready,
    RecordNoPlan,
    RecordOrderCancel,
    RecordPoolChange,
    RecordShortfall,
    Timer,
)
from muster_gang_coordinator.domain.plans import NoPlanKind, ShortfallClass
from muster_gang_coordinator.wire.commands import from_timer, to_outgoing
from muster_gang_coordinator.wire.facts import NOBODY, Fact, from_claims, from_inventory, from_provisioning
from muster_gang_coordinator.wire.plans import to_mismatches, to_placement, to_plan, to_reasons
from muster_types import ClusterId, NodeName, OrderId
from unit.muster_gang_coordinator.builders import GANG, H100, NOON, WRONG_NUMA, a_node, a_spec, on, why
from unit.muster_gang_coordinator.stories import a_rich_plan

LOCAL = ClusterId("local")
ORDER = OrderId(f"{GANG}-a1-1")
X0, X1 = NodeName("x0"), NodeName("x1")


def test_facts_of_the_ledger() -> None:
    plan, reasons = a_rich_plan(), (why(),)
    told = [
        claims_pb2.GangBooked(gang_id=GANG, attempt=2, plan=to_plan(plan)),
        claims_pb2.GangNotBooked(
            gang_id=GANG, attempt=2, kind=plan_pb2.NO_PLAN_KIND_LIMIT, reasons=to_reasons(reasons)
        ),
        claims_pb2.GangConfirmed(gang_id=GANG, attempt=2, placements=map(to_placement, on("n1"))),
        claims_pb2.GangBroken(gang_id=GANG, attempt=2, reasons=to_reasons(reasons)),
        claims_pb2.GangReleased(gang_id=GANG, cause="failed"),
    ]
    assert [from_claims(message, NOON) for message in told] == [
        Fact(GANG, RecordBooking(2, plan, NOON)),
        Fact(GANG, RecordNoPlan(2, NoPlanKind.LIMIT, reasons, NOON)),
        Fact(GANG, RecordConfirmation(2, on("n1"), NOON)),
        Fact(GANG, RecordBreak(2, reasons, NOON)),
        Fact(GANG, RecordBookingRelease(NOON)),
    ]


def test_facts_of_the_provisioner() -> None:
    told = [
        provisioning_pb2.OrderFilled(order_id=ORDER, gang_id=GANG, nodes=["x0", "x1"]),
        provisioning_pb2.OrderShort(
            order_id=ORDER,
            gang_id=GANG,
            shortfall_class=SHORTFALL_CLASS_QUOTA,
            message="quota",
            nodes=["x0"],
            missing=1,
        ),
        provisioning_pb2.OrderCancelled(order_id=ORDER, gang_id=GANG, deleted_nodes=["x0"], kept_nodes=["x1"]),
        provisioning_pb2.OrderIntended(order_id=ORDER, gang_id=GANG),
        provisioning_pb2.NodeLaunched(order_id=ORDER, gang_id=GANG),
    ]
    assert [from_provisioning(message, NOON) for message in told] == [
        Fact(GANG, RecordFill(ORDER, (X0, X1), NOON)),
        Fact(GANG, RecordShortfall(ORDER, ShortfallClass.QUOTA, "quota", (X0,), 1, NOON)),
        Fact(GANG, RecordOrderCancel(ORDER, (X0,), (X1,), NOON)),
        None,
        None,
    ]


def test_facts_of_the_inventory() -> None:
    arrived = inventory_pb2.NodeArrived(
        node="x0", node_group=H100, order_id=ORDER, gang_id=GANG, mismatches=to_mismatches((WRONG_NUMA,))
    )
    told = [
        arrived,
        inventory_pb2.NodeArrived(node="n1"),
        inventory_pb2.NodeGone(node="x0", order_id=ORDER, gang_id=GANG),
        inventory_pb2.NodeGone(node="n1"),
        inventory_pb2.NodeReadied(node="x0"),
        inventory_pb2.NodeUnreadied(node="x0", reason="cordoned"),
        inventory_pb2.PoolChanged(
            driver="gpu", pool="x0", state=inventory_pb2.POOL_STATE_INVALID, generation=3, device_count=1, node="x0"
        ),
        inventory_pb2.PoolGone(driver="gpu", pool="x0"),
        inventory_pb2.NodeRegistered(node="x0"),
    ]
    assert [from_inventory(message, NOON) for message in told] == [
        Fact(GANG, RecordArrival(a_node("x0"), (WRONG_NUMA,), NOON)),
        None,
        Fact(GANG, RecordNodeLoss(X0, NOON, ORDER), X0),
        Fact(NOBODY, RecordNodeLoss(NodeName("n1"), NOON), NodeName("n1")),
        Fact(NOBODY, RecordNodeReady(X0, NOON), X0),
        Fact(NOBODY, RecordNodeUnready(X0, "cordoned", NOON), X0),
        Fact(NOBODY, RecordPoolChange("gpu", "x0", X0, "invalid, generation 3, 1 device", 0, NOON), X0, ("gpu", "x0")),
        Fact(NOBODY, RecordPoolChange("gpu", "x0", NodeName(""), "it is gone", 0, NOON), pool=("gpu", "x0")),
        None,
    ]


def test_commands_go_to_their_subjects_with_what_the_receiver_needs() -> None:
    spec = a_spec()
    items = [
        outgoing.BookGang(GANG, 2, spec, (H100,), (a_node("x0"),)),
        outgoing.ConfirmGang(GANG, 2, (a_node("x0"),)),
        outgoing.ReleaseGang(GANG, "failed"),
        outgoing.PlaceOrder(ORDER, GANG, H100, 2, 0),
        outgoing.CancelOrder(ORDER, GANG, H100, (X0,)),
    ]
    sent = [to_outgoing(item, LOCAL, 42) for item in items]
    assert all(isinstance(item, SendCommand) for item in sent)
    assert [str(item.to) for item in sent if isinstance(item, SendCommand)] == [
        f"muster.commands.claims.local.BookGang.{GANG}",
        f"muster.commands.claims.local.ConfirmGang.{GANG}",
        f"muster.commands.claims.local.ReleaseGang.{GANG}",
        f"muster.commands.provisioning.local.PlaceOrder.{ORDER}",
        f"muster.commands.provisioning.local.CancelOrder.{ORDER}",
    ]
    book, confirm, release, place, cancel = (item.message for item in sent if isinstance(item, SendCommand))
    assert isinstance(book, claim_commands.BookGang)
    assert (book.attempt, list(book.excluded_node_groups), book.min_observed_sequence) == (2, [H100], 42)
    assert [n.node for n in book.kept_nodes] == ["x0"]
    assert book.spec.content_hash == spec.content_hash
    assert isinstance(confirm, claim_commands.ConfirmGang)
    assert confirm.min_observed_sequence == 42
    assert isinstance(release, claim_commands.ReleaseGang)
    assert isinstance(place, order_commands.PlaceOrder)
    assert (place.count, place.first_ordinal) == (2, 0)
    assert isinstance(cancel, order_commands.CancelOrder)
    assert list(cancel.kept_nodes) == ["x0"]


def test_a_later_deadline_of_the_same_kind_replaces_the_earlier_one() -> None:
    first = to_outgoing(outgoing.WakeAt(GANG, 1, Timer.NODE, NOON), LOCAL, 0)
    second = to_outgoing(outgoing.WakeAt(GANG, 2, Timer.NODE, NOON + timedelta(minutes=5)), LOCAL, 0)
    other = to_outgoing(outgoing.WakeAt(GANG, 2, Timer.DEVICE, NOON), LOCAL, 0)
    assert isinstance(first, WakeAt)
    assert isinstance(second, WakeAt)
    assert isinstance(other, WakeAt)
    assert first.timer == second.timer != other.timer
    assert isinstance(second.message, gang_commands.WakeGang)
    assert (second.message.attempt, from_timer(second.message.timer)) == (2, Timer.NODE)


def test_an_unknown_timer_is_refused() -> None:
    with pytest.raises(PermanentError, match="UNKNOWN_TIMER"):
        from_timer("lunch")
