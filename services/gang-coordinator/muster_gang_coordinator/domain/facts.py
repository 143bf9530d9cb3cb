"""Facts about orders, nodes and pods that a gang notes in any state: each once, late ones as orphans."""

from collections.abc import Iterable
from datetime import datetime

from muster_gang_coordinator.domain.commands import (
    Command,
    RecordArrival,
    RecordFill,
    RecordMemberBind,
    RecordNodeLoss,
    RecordOrderCancel,
    RecordShortfall,
)
from muster_gang_coordinator.domain.events import (
    Event,
    MemberBindRecorded,
    NodeArrivalRecorded,
    NodeLossRecorded,
    OrderCancelRecorded,
    OrderFillRecorded,
    OrphanFound,
    ShortfallRecorded,
)
from muster_gang_coordinator.domain.orders import Order, OrderState
from muster_gang_coordinator.domain.saga import Saga
from muster_types import NodeName, OrderId


def order_facts(command: Command, saga: Saga) -> list[Event]:
    """The events that a fact about an order or one of its nodes adds; none when it is known or does not matter."""
    match command:
        case RecordFill(order_id, nodes, now):
            return _on_fill(saga.order(order_id), nodes, now)
        case RecordShortfall(order_id):
            return _on_shortfall(saga.order(order_id), command)
        case RecordArrival(node):
            return _on_arrival(saga.order(node.order_id), command)
        case RecordNodeLoss(node, now, order_id):
            named = None if order_id is None else saga.order(order_id)
            return _on_loss(saga.order_of(node) or named, node, now)
        case RecordOrderCancel(order_id, deleted, kept):
            return _on_cancel(saga.order(order_id), deleted, kept)
        case _:
            return []


def member_facts(command: Command, saga: Saga) -> list[Event]:
    """A pod that was not known to be bound."""
    match command:
        case RecordMemberBind(pod, node, _, ungrouped) if pod not in dict(saga.bound) and node not in saga.gone:
            return [MemberBindRecorded(pod, node, ungrouped)]
        case _:
            return []


def loss_of_used_node(command: Command, saga: Saga, used: frozenset[NodeName]) -> list[Event]:
    """A node of the cluster that Muster did not order, and that carries members, is gone."""
    match command:
        case RecordNodeLoss(node, now) if node in used - saga.lost and saga.order_of(node) is None:
            known = any(node in o.lost | o.deleted for o in saga.orders)
            return [] if known else [NodeLossRecorded(node, OrderId(""), now)]
        case _:
            return []


def _on_fill(order: Order | None, nodes: tuple[NodeName, ...], now: datetime) -> list[Event]:
    if order is None:
        return []
    filled = OrderFillRecorded(order.id, nodes, now)
    if order.state is OrderState.OPEN:
        return [filled]
    more = _brought_more(order, nodes)
    return [filled, _orphan(order, more)] if more else []


def _on_shortfall(order: Order | None, short: RecordShortfall) -> list[Event]:
    if order is None:
        return []
    reason, message = short.shortfall_class, short.message
    noted = ShortfallRecorded(order.id, order.node_group, reason, message, short.nodes, short.missing, short.now)
    if order.state is OrderState.OPEN:
        return [noted]
    more = _brought_more(order, short.nodes)
    return [noted, _orphan(order, more)] if more else []


def _on_arrival(order: Order | None, arrival: RecordArrival) -> list[Event]:
    node = arrival.node
    if order is None or node.node in order.lost | order.deleted or any(a.node == node.node for a in order.arrived):
        return []
    noted = NodeArrivalRecorded(node, arrival.mismatches, arrival.now, arrival.sequence)
    beyond = order.live and order.kept is not None and node.node not in order.kept
    if order.closed or order.state is OrderState.CANCELLED or (beyond and order.state is not OrderState.CANCELLING):
        return [noted, _orphan(order, {node.node})]
    return [noted]  # of an order that goes back, the receipt tells whether the node is among what went


def _on_loss(order: Order | None, node: NodeName, now: datetime) -> list[Event]:
    if order is None or node in order.lost | order.deleted:
        return []
    if order.state is OrderState.CANCELLING and not order.closed and node in order.expected:
        return []  # it was to go, and the receipt will name it
    return [NodeLossRecorded(node, order.id, now)]


def _on_cancel(order: Order | None, deleted: tuple[NodeName, ...], kept: tuple[NodeName, ...]) -> list[Event]:
    if order is None:
        return []
    spared = order.deleted | order.lost | set(kept)
    gone = (set(deleted) | (order.expected & order.known)) - spared  # what it filled the order with, it knows
    if not gone and (kept or order.closed):
        return []  # a repeat
    receipt = OrderCancelRecorded(order.id, tuple(sorted(gone)), tuple(sorted(kept)))
    unknown = order.known - gone - set(kept)  # arrived, and the provider gave back all it knows of
    return [receipt, _orphan(order, unknown)] if unknown and not order.closed and not kept else [receipt]


def _brought_more(order: Order, nodes: tuple[NodeName, ...]) -> set[NodeName]:
    """Nodes that a closed order turns out to have brought, and that nobody gave back."""
    return set(nodes) - order.deleted - order.lost if order.state is OrderState.CANCELLED else set()


def _orphan(order: Order, nodes: Iterable[NodeName]) -> OrphanFound:
    return OrphanFound(order.id, booking=False, node=min(nodes))
