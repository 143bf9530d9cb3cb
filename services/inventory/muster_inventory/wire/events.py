"""The inventory's own events: domain <-> protobuf, one function each way for each kind of aggregate."""

from collections.abc import Iterable
from datetime import UTC, datetime

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from muster.events.inventory.v1 import inventory_pb2 as pb
from muster.type.v1 import plan_pb2
from muster_dra.objects.slices import PoolId
from muster_eventstore import PermanentError
from muster_inventory.domain import node as nodes
from muster_inventory.domain import node_group as groups
from muster_inventory.domain import pool as pools
from muster_inventory.wire.templates import template_of, vouched_of
from muster_plan.shape import ShapeMismatch
from muster_types import GangId, NodeGroupName, NodeName, OrderId

_TO_STATE = {
    pools.PoolState.COMPLETE: pb.POOL_STATE_COMPLETE,
    pools.PoolState.INCOMPLETE: pb.POOL_STATE_INCOMPLETE,
    pools.PoolState.INVALID: pb.POOL_STATE_INVALID,
}
_FROM_STATE = {number: state for state, number in _TO_STATE.items()}


class NodeWire:
    """Events of a node."""

    def to_wire(self, event: nodes.NodeEvent) -> Message:
        match event:
            case nodes.NodeRegistered(name, group, order, gang):
                return pb.NodeRegistered(node=name, node_group=group or "", order_id=order or "", gang_id=gang or "")
            case nodes.NodeReadied(name):
                return pb.NodeReadied(node=name)
            case nodes.NodeUnreadied(name, reason):
                return pb.NodeUnreadied(node=name, reason=reason)
            case nodes.NodeArrived(name, group, purpose, mismatches, time):
                return pb.NodeArrived(
                    node=name,
                    node_group=group or "",
                    order_id=purpose.order,
                    gang_id=purpose.gang,
                    ordinal=purpose.ordinal,
                    mismatches=to_mismatches(mismatches),
                    arrive_time=_to_time(time),
                )
            case nodes.NodeGone(name, group, order, gang):
                return pb.NodeGone(node=name, node_group=group or "", order_id=order or "", gang_id=gang or "")

    def from_wire(self, message: Message) -> nodes.NodeEvent:
        match message:
            case pb.NodeRegistered():
                return nodes.NodeRegistered(
                    NodeName(message.node), _group(message.node_group), *_ordered_as(message.order_id, message.gang_id)
                )
            case pb.NodeReadied():
                return nodes.NodeReadied(NodeName(message.node))
            case pb.NodeUnreadied():
                return nodes.NodeUnreadied(NodeName(message.node), message.reason)
            case pb.NodeArrived():
                return nodes.NodeArrived(
                    NodeName(message.node),
                    _group(message.node_group),
                    nodes.Purpose(OrderId(message.order_id), GangId(message.gang_id), message.ordinal),
                    from_mismatches(message.mismatches),
                    _from_time(message.arrive_time),
                )
            case pb.NodeGone():
                return nodes.NodeGone(
                    NodeName(message.node),
                    _group(message.node_group),
                    *_ordered_as(message.order_id, message.gang_id),
                )
            case _:
                raise _foreign(message)


class NodeGroupWire:
    """Events of a node group."""

    def to_wire(self, event: groups.NodeGroupEvent) -> Message:
        match event:
            case groups.NodeGroupDeclared(declaration):
                return pb.NodeGroupDeclared(
                    name=declaration.name,
                    min_size=declaration.min_size,
                    max_size=declaration.max_size,
                    current_size=declaration.current_size,
                    price_per_node=declaration.price_per_node,
                    driver=declaration.driver,
                    json=declaration.json,
                )
            case groups.NodeGroupWithdrawn(name):
                return pb.NodeGroupWithdrawn(name=name)
            case groups.TemplateMistrusted(name, node, mismatches):
                return pb.TemplateMistrusted(node_group=name, node=node, mismatches=to_mismatches(mismatches))
            case groups.TemplateTrusted(name, node, vouched):
                return pb.TemplateTrusted(node_group=name, node=node, vouched=vouched)

    def from_wire(self, message: Message) -> groups.NodeGroupEvent:
        match message:
            case pb.NodeGroupDeclared():
                return groups.NodeGroupDeclared(
                    groups.Declaration(
                        NodeGroupName(message.name),
                        message.min_size,
                        message.max_size,
                        message.current_size,
                        message.price_per_node,
                        message.driver,
                        template_of(message.json),
                        message.json,
                        vouched_of(message.json),
                    )
                )
            case pb.NodeGroupWithdrawn():
                return groups.NodeGroupWithdrawn(NodeGroupName(message.name))
            case pb.TemplateMistrusted():
                return groups.TemplateMistrusted(
                    NodeGroupName(message.node_group), NodeName(message.node), from_mismatches(message.mismatches)
                )
            case pb.TemplateTrusted():
                return groups.TemplateTrusted(
                    NodeGroupName(message.node_group), NodeName(message.node), message.vouched
                )
            case _:
                raise _foreign(message)


class PoolWire:
    """Events of a pool."""

    def to_wire(self, event: pools.PoolEvent) -> Message:
        match event:
            case pools.PoolChanged(pool):
                return pb.PoolChanged(
                    driver=pool.id.driver,
                    pool=pool.id.name,
                    state=_TO_STATE[pool.state],
                    generation=pool.generation,
                    device_count=pool.device_count,
                    node=pool.node or "",
                    reason=to_flaw(pool.flaw),
                )
            case pools.PoolGone(id):
                return pb.PoolGone(driver=id.driver, pool=id.name)

    def from_wire(self, message: Message) -> pools.PoolEvent:
        match message:
            case pb.PoolChanged():
                state = _FROM_STATE.get(message.state)
                if state is None:
                    raise PermanentError("UNKNOWN_POOL_STATE", f"pool {message.driver}/{message.pool}: {message.state}")
                flaw = pools.Flaw(message.reason.code, message.reason.sentence) if message.HasField("reason") else None
                return pools.PoolChanged(
                    pools.Pool(
                        PoolId(message.driver, message.pool),
                        state,
                        message.generation,
                        message.device_count,
                        NodeName(message.node) if message.node else None,
                        flaw,
                    )
                )
            case pb.PoolGone():
                return pools.PoolGone(PoolId(message.driver, message.pool))
            case _:
                raise _foreign(message)


def to_mismatches(mismatches: Iterable[ShapeMismatch]) -> list[plan_pb2.ShapeMismatch]:
    return [
        plan_pb2.ShapeMismatch(check=each.check, expected=each.expected, actual=each.actual, sentence=each.sentence)
        for each in mismatches
    ]


def from_mismatches(messages: Iterable[plan_pb2.ShapeMismatch]) -> tuple[ShapeMismatch, ...]:
    return tuple(ShapeMismatch(each.check, each.expected, each.actual, each.sentence) for each in messages)


def to_flaw(flaw: pools.Flaw | None) -> plan_pb2.Reason | None:
    return None if flaw is None else plan_pb2.Reason(code=flaw.code, sentence=flaw.sentence)


def to_pool_state(state: pools.PoolState) -> "pb.PoolState.ValueType":
    return _TO_STATE[state]


def _group(name: str) -> NodeGroupName | None:
    return NodeGroupName(name) if name else None


def _ordered_as(order: str, gang: str) -> tuple[OrderId | None, GangId | None]:
    return OrderId(order) if order else None, GangId(gang) if gang else None


def _to_time(time: datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(time)
    return stamp


def _from_time(stamp: Timestamp) -> datetime:
    return stamp.ToDatetime(tzinfo=UTC)


def _foreign(message: Message) -> PermanentError:
    return PermanentError("FOREIGN_EVENT", f"{message.DESCRIPTOR.full_name} is no event of this aggregate")
