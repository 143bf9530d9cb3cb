"""A node: registered, ready or not, arrived for its gang, gone.

An ordered node *arrives* once: when it is ready and every pool that its template promises is complete on it. The
arrival carries how the node differs from the template; whether it serves all the same is for the claim-matcher.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from muster_decider import CorruptHistory, Decider
from muster_plan.shape import ShapeMismatch
from muster_types import GangId, NodeGroupName, NodeName, OrderId


@dataclass(frozen=True, slots=True)
class Purpose:
    """The order a node fills, the gang it was ordered for, and which node of the plan it is, from 0."""

    order: OrderId
    gang: GangId
    ordinal: int


@dataclass(frozen=True, slots=True)
class Ready:
    """The node takes pods."""


@dataclass(frozen=True, slots=True)
class Unready:
    """The node is there and takes no pod."""

    reason: str


Readiness = Ready | Unready


@dataclass(frozen=True, slots=True)
class Arrival:
    """Every promised pool is complete; `time` is that of the observation that completed it."""

    mismatches: tuple[ShapeMismatch, ...]
    time: datetime


@dataclass(frozen=True, slots=True)
class RecordNode:
    """The node as the cluster shows it. `purpose` is None for a node that nobody ordered through us."""

    name: NodeName
    group: NodeGroupName | None
    readiness: Readiness
    purpose: Purpose | None
    arrival: Arrival | None


@dataclass(frozen=True, slots=True)
class RecordNodeGone:
    """The cluster no longer shows the node; `purpose` as far as it was seen before."""

    name: NodeName
    purpose: Purpose | None = None


NodeCommand = RecordNode | RecordNodeGone


@dataclass(frozen=True, slots=True)
class NodeRegistered:
    """Recorded again when the node moves to another group, or is seen to be of an order that was not known."""

    name: NodeName
    group: NodeGroupName | None
    order: OrderId | None = None
    gang: GangId | None = None


@dataclass(frozen=True, slots=True)
class NodeReadied:
    name: NodeName


@dataclass(frozen=True, slots=True)
class NodeUnreadied:
    name: NodeName
    reason: str


@dataclass(frozen=True, slots=True)
class NodeArrived:
    name: NodeName
    group: NodeGroupName | None
    purpose: Purpose
    mismatches: tuple[ShapeMismatch, ...]
    time: datetime


@dataclass(frozen=True, slots=True)
class NodeGone:
    """`order` and `gang` are those that the node was for, as far as anybody saw."""

    name: NodeName
    group: NodeGroupName | None
    order: OrderId | None
    gang: GangId | None


NodeEvent = NodeRegistered | NodeReadied | NodeUnreadied | NodeArrived | NodeGone


@dataclass(frozen=True, slots=True)
class Node:
    """A node that the cluster shows. `order` and `gang` are those it was last seen for, `arrived` is the purpose for
    which its arrival was recorded."""

    name: NodeName
    group: NodeGroupName | None
    order: OrderId | None = None
    gang: GangId | None = None
    readiness: Readiness | None = None
    arrived: Purpose | None = None
    mismatches: tuple[ShapeMismatch, ...] = ()


def decide(command: NodeCommand, node: Node | None) -> list[NodeEvent]:
    match command:
        case RecordNode(name, group, readiness, purpose, arrival):
            events: list[NodeEvent] = []
            arrived = None if node is None else node.arrived
            arrives = arrival if purpose != arrived and readiness == Ready() else None
            order, gang = _ordered_as(purpose, node)
            if node is None or node.group != group or (arrives is None and (node.order, node.gang) != (order, gang)):
                events.append(NodeRegistered(name, group, order, gang))
            if node is None or node.readiness != readiness:
                match readiness:
                    case Ready():
                        events.append(NodeReadied(name))
                    case Unready(reason):
                        events.append(NodeUnreadied(name, reason))
            if purpose is not None and arrives is not None:
                events.append(NodeArrived(name, group, purpose, arrives.mismatches, arrives.time))
            return events
        case RecordNodeGone(name, purpose) if node is not None:
            return [NodeGone(name, node.group, *_ordered_as(purpose, node))]
        case _:
            return []  # gone already


def _ordered_as(purpose: Purpose | None, node: Node | None) -> tuple[OrderId | None, GangId | None]:
    """The order and gang that a node is for: what is seen on it now, else what was recorded."""
    if purpose is not None:
        return purpose.order, purpose.gang
    return (None, None) if node is None else (node.order, node.gang)


def evolve(node: Node | None, event: NodeEvent) -> Node | None:
    match node, event:
        case None, NodeRegistered(name, group, order, gang):
            return Node(name, group, order, gang)
        case Node(), NodeRegistered(_, group, order, gang):
            return replace(node, group=group, order=order or node.order, gang=gang or node.gang)
        case Node(), NodeReadied():
            return replace(node, readiness=Ready())
        case Node(), NodeUnreadied(_, reason):
            return replace(node, readiness=Unready(reason))
        case Node(), NodeArrived(_, _, purpose, mismatches, _):
            return replace(node, order=purpose.order, gang=purpose.gang, arrived=purpose, mismatches=mismatches)
        case Node(), NodeGone():
            return None
        case _:
            raise CorruptHistory(node, event)


NODE: Decider[NodeCommand, Node | None, NodeEvent] = Decider(None, decide, evolve)


def react(event: NodeEvent) -> NodeArrived | None:
    """The arrival that the node's group has to judge, if there is one."""
    return event if isinstance(event, NodeArrived) and event.group is not None else None
