"""Every event of the inventory survives the way to the stream and back."""

from datetime import UTC, datetime

import pytest

from muster.events.inventory.v1 import inventory_pb2
from muster.events.observed.v1 import observed_pb2
from muster_dra.objects.slices import PoolId
from muster_eventstore import PermanentError
from muster_inventory.domain import node as nodes
from muster_inventory.domain import node_group as groups
from muster_inventory.domain import pool as pools
from muster_inventory.wire.events import NodeGroupWire, NodeWire, PoolWire
from muster_plan.shape import ShapeMismatch
from muster_types import GangId, NodeGroupName, NodeName, OrderId

N1, H100 = NodeName("n.1"), NodeGroupName("h100")
MISMATCHES = (
    ShapeMismatch("C2", "8 devices", "7 devices", "gpu-7 is missing"),
    ShapeMismatch("C5", "2 NUMA nodes", "1", "all devices share numa 0"),
)
PURPOSE = nodes.Purpose(OrderId("g-a1-0"), GangId("g"), 3)
TIME = datetime(2026, 5, 4, 12, 0, 1, 250000, tzinfo=UTC)
TEMPLATE = b'{"metadata":{"labels":{"a":"b"}}}'
DECLARATION = groups.Declaration(
    H100, 1, 16, 2, 98.32, "simulated", TEMPLATE, b'{"kind":"NodeGroup","spec":{"template":' + TEMPLATE + b"}}"
)
POOL = pools.Pool(PoolId("gpu.example.com", "n.1"), pools.PoolState.COMPLETE, 7, 8, N1)
HALF = pools.Pool(POOL.id, pools.PoolState.INCOMPLETE, 8, 4, None, pools.Flaw("MISSING_SLICES", "1 of 2 slices"))


@pytest.mark.parametrize(
    "event",
    [
        nodes.NodeRegistered(N1, H100),
        nodes.NodeRegistered(N1, None),
        nodes.NodeRegistered(N1, H100, PURPOSE.order, PURPOSE.gang),
        nodes.NodeReadied(N1),
        nodes.NodeUnreadied(N1, "cordoned"),
        nodes.NodeArrived(N1, H100, PURPOSE, MISMATCHES, TIME),
        nodes.NodeArrived(N1, None, PURPOSE, (), TIME),
        nodes.NodeGone(N1, H100, PURPOSE.order, PURPOSE.gang),
        nodes.NodeGone(N1, None, None, None),
    ],
    ids=repr,
)
def test_events_of_a_node_round_trip(event: nodes.NodeEvent) -> None:
    wire = NodeWire()
    assert wire.from_wire(wire.to_wire(event)) == event


@pytest.mark.parametrize(
    "event",
    [
        groups.NodeGroupDeclared(DECLARATION),
        groups.NodeGroupWithdrawn(H100),
        groups.TemplateMistrusted(H100, N1, MISMATCHES),
        groups.TemplateTrusted(H100, N1),
    ],
    ids=lambda event: type(event).__name__,
)
def test_events_of_a_group_round_trip(event: groups.NodeGroupEvent) -> None:
    wire = NodeGroupWire()
    assert wire.from_wire(wire.to_wire(event)) == event


@pytest.mark.parametrize("event", [pools.PoolChanged(POOL), pools.PoolChanged(HALF), pools.PoolGone(POOL.id)], ids=repr)
def test_events_of_a_pool_round_trip(event: pools.PoolEvent) -> None:
    wire = PoolWire()
    assert wire.from_wire(wire.to_wire(event)) == event


@pytest.mark.parametrize("wire", [NodeWire(), NodeGroupWire(), PoolWire()], ids=lambda wire: type(wire).__name__)
def test_an_event_of_somebody_else_is_refused_by_name(wire: NodeWire | NodeGroupWire | PoolWire) -> None:
    with pytest.raises(PermanentError, match="FOREIGN_EVENT"):
        wire.from_wire(observed_pb2.SyncCompleted())


def test_a_registration_of_before_orders_were_named_still_reads() -> None:
    read = NodeWire().from_wire(inventory_pb2.NodeRegistered(node=N1, node_group=H100))
    assert read == nodes.NodeRegistered(N1, H100, None, None)
