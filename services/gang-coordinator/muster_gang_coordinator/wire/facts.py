"""Events of the other services -> commands to the gang that they are about."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from google.protobuf.message import Message

from muster.events.claims.v1 import claims_pb2
from muster.events.inventory.v1 import inventory_pb2
from muster.events.provisioning.v1 import provisioning_pb2
from muster_gang_coordinator.domain.commands import (
    Command,
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
)
from muster_gang_coordinator.domain.plans import ArrivedNode
from muster_gang_coordinator.wire.plans import (
    from_kind,
    from_mismatches,
    from_placement,
    from_plan,
    from_reasons,
)
from muster_gang_coordinator.wire.states import from_shortfall
from muster_types import GangId, NodeGroupName, NodeName, OrderId

NOBODY = GangId("")
PoolKey: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Fact:
    """What a gang is told; what happens to a node concerns also every other gang that has a member on it, and what
    happens to a pool those with devices of it."""

    gang_id: GangId
    command: Command
    node: NodeName | None = None
    pool: PoolKey | None = None


def from_claims(message: Message, now: datetime) -> Fact | None:
    """A fact of the ledger; None for a type that does not concern the gang."""
    match message:
        case claims_pb2.GangBooked() as m:
            return Fact(GangId(m.gang_id), RecordBooking(m.attempt, from_plan(m.plan), now))
        case claims_pb2.GangNotBooked() as m:
            command = RecordNoPlan(m.attempt, from_kind(m.kind), from_reasons(m.reasons), now)
            return Fact(GangId(m.gang_id), command)
        case claims_pb2.GangConfirmed() as m:
            placements = tuple(from_placement(p) for p in m.placements)
            return Fact(GangId(m.gang_id), RecordConfirmation(m.attempt, placements, now, m.check))
        case claims_pb2.GangBroken() as m:
            return Fact(GangId(m.gang_id), RecordBreak(m.attempt, from_reasons(m.reasons), now, m.check))
        case claims_pb2.GangReleased() as m:
            return Fact(GangId(m.gang_id), RecordBookingRelease(now))
        case _:
            return None


def from_provisioning(message: Message, now: datetime) -> Fact | None:
    """A fact about an order; None for the provisioner's own steps."""
    match message:
        case provisioning_pb2.OrderFilled() as m:
            nodes = tuple(map(NodeName, m.nodes))
            return Fact(GangId(m.gang_id), RecordFill(OrderId(m.order_id), nodes, now))
        case provisioning_pb2.OrderShort() as m:
            command = RecordShortfall(
                OrderId(m.order_id),
                from_shortfall(m.shortfall_class),
                m.message,
                tuple(map(NodeName, m.nodes)),
                m.missing,
                now,
            )
            return Fact(GangId(m.gang_id), command)
        case provisioning_pb2.OrderCancelled() as m:
            deleted, kept = tuple(map(NodeName, m.deleted_nodes)), tuple(map(NodeName, m.kept_nodes))
            return Fact(GangId(m.gang_id), RecordOrderCancel(OrderId(m.order_id), deleted, kept, now))
        case _:
            return None


def from_inventory(message: Message, now: datetime) -> Fact | None:
    """An arrival or a loss; None for what the inventory says about anything else."""
    match message:
        case inventory_pb2.NodeArrived() as m if m.gang_id:
            node = ArrivedNode(NodeName(m.node), NodeGroupName(m.node_group), OrderId(m.order_id), m.ordinal)
            return Fact(GangId(m.gang_id), RecordArrival(node, from_mismatches(m.mismatches), now))
        case inventory_pb2.NodeGone() as m:
            order_id = OrderId(m.order_id) if m.order_id else None
            return Fact(GangId(m.gang_id), RecordNodeLoss(NodeName(m.node), now, order_id), NodeName(m.node))
        case inventory_pb2.NodeUnreadied() as m:
            return Fact(NOBODY, RecordNodeUnready(NodeName(m.node), m.reason, now), NodeName(m.node))
        case inventory_pb2.NodeReadied() as m:
            return Fact(NOBODY, RecordNodeReady(NodeName(m.node), now), NodeName(m.node))
        case inventory_pb2.PoolChanged() as m:
            devices = f"{m.device_count} device" if m.device_count == 1 else f"{m.device_count} devices"
            state = inventory_pb2.PoolState.Name(m.state).removeprefix("POOL_STATE_").lower()
            change = f"{state}, generation {m.generation}, {devices}"
            command = RecordPoolChange(m.driver, m.pool, NodeName(m.node), change, 0, now)
            return Fact(NOBODY, command, NodeName(m.node) if m.node else None, (m.driver, m.pool))
        case inventory_pb2.PoolGone() as m:
            command = RecordPoolChange(m.driver, m.pool, NodeName(""), "it is gone", 0, now)
            return Fact(NOBODY, command, pool=(m.driver, m.pool))
        case _:
            return None
