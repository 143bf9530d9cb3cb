"""One order of nodes: intended, acknowledged, launched, filled or short; cancelled at any time.

    INTENDED -> ACKNOWLEDGED -> FILLED | SHORT, and from each of them -> CANCELLING -> CANCELLED

A node that comes after the order was closed is recorded and given back (failure mode F27 of the capacity notes): a
cancelled order is CANCELLING again until it is gone, and then cancelled once more.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from itertools import count

from muster_decider import CorruptHistory, Decider, DomainError
from muster_provisioner.domain.messages import (
    Baseline,
    CancelOrder,
    Command,
    Event,
    InstanceId,
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
from muster_types import GangId, NodeGroupName, NodeName, OrderId


class OrderAlreadyPlaced(DomainError):
    """The order id was used for other terms."""

    reason = "ORDER_ALREADY_PLACED"


class InvalidOrder(DomainError):
    """The order asks for nothing, or for a negative ordinal."""

    reason = "INVALID_ORDER"


class Stage(Enum):
    """Where an order stands."""

    INTENDED = "intended"
    ACKNOWLEDGED = "acknowledged"
    FILLED = "filled"
    SHORT = "short"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Unplaced:
    """No message named this order yet."""


@dataclass(frozen=True, slots=True)
class Launched:
    """A node of the order, by instance, name and ordinal in the plan."""

    instance: InstanceId
    node: NodeName
    ordinal: int


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why the order was closed short, and how many nodes never came."""

    kind: ShortfallClass
    message: str
    missing: int


@dataclass(frozen=True, slots=True)
class Order:
    """A known order. `served` are the nodes it was filled or closed short with, `kept` those that a cancel spares.
    `acknowledged` also holds while cancelling; `progressed_at` is the last good news, `closed_at` the last close."""

    terms: OrderTerms
    baseline: Baseline
    stage: Stage
    intended_at: datetime
    progressed_at: datetime
    acknowledged: bool = False
    launched: tuple[Launched, ...] = ()
    served: tuple[NodeName, ...] = ()
    kept: frozenset[NodeName] = frozenset()
    shortfall: Shortfall | None = None
    closed_at: datetime | None = None

    @property
    def unresolved(self) -> bool:
        """Nobody has recorded yet whether the provider took the order."""
        open_stage = self.stage in (Stage.INTENDED, Stage.CANCELLING)
        return open_stage and not self.acknowledged and self.shortfall is None

    @property
    def may_have_effect(self) -> bool:
        """The provider took the order, or nobody will ever know: a refusal is an answer, a timeout is none."""
        timed_out = self.shortfall is not None and self.shortfall.kind is ShortfallClass.TIMEOUT
        return self.acknowledged or timed_out

    @property
    def nodes(self) -> tuple[NodeName, ...]:
        """All nodes ever launched, by ordinal."""
        return tuple(each.node for each in self.launched)

    def knows(self, instance: InstanceId) -> bool:
        """Whether the launch of an instance was recorded."""
        return any(each.instance == instance for each in self.launched)

    def wants(self, instance: InstanceId) -> bool:
        """Whether an instance of this order shall stay as it is."""
        if self.stage in (Stage.INTENDED, Stage.ACKNOWLEDGED):
            return True
        staying = self.kept if self.stage in (Stage.CANCELLING, Stage.CANCELLED) else frozenset(self.served)
        return any(each.instance == instance and each.node in staying for each in self.launched)


OrderState = Unplaced | Order


def decide(command: Command, order: OrderState) -> list[Event]:
    """What a command makes of an order; a repeat decides nothing. Raises OrderAlreadyPlaced, InvalidOrder."""
    match order, command:
        case Unplaced(), PlaceOrder(terms, baseline, now):
            return [OrderIntended(_sound(terms), baseline, now)]
        case Unplaced(), RefuseOrder(terms, kind, message, now):
            _sound(terms)
            short = OrderShort(terms.order, terms.gang, terms.group, kind, message, (), terms.count, now)
            return [OrderIntended(terms, Baseline(0, ()), now), short]
        case Unplaced(), CancelOrder(id, gang, group, kept, now):
            return [OrderCancelled(id, gang, group, (), tuple(sorted(kept)), 0, now)]
        case Order() as o, (PlaceOrder(terms) | RefuseOrder(terms)) if o.terms.count and terms != o.terms:
            raise OrderAlreadyPlaced(f"order {terms.order} was placed before with other terms: {o.terms}")
        case Order() as o, RecordAcknowledgement(target, now) if o.unresolved:
            return [OrderAcknowledged(o.terms.order, target, now)]
        case Order() as o, RecordLaunches(machines, now) if o.stage is not Stage.INTENDED:
            return _launches(o, machines, now)
        case Order() as o, RecordShortfall(kind, message, now) if o.stage in (Stage.INTENDED, Stage.ACKNOWLEDGED):
            terms, missing = o.terms, o.terms.count - len(o.launched)
            return [OrderShort(terms.order, terms.gang, terms.group, kind, message, o.nodes, missing, now)]
        case Order() as o, CancelOrder(id, kept_nodes=kept, now=now):
            again = o.stage in (Stage.CANCELLING, Stage.CANCELLED)
            if again and o.kept <= kept:
                return []  # a repeat, or an older cancel that kept more
            return [OrderCancelIntended(id, tuple(sorted(o.kept & kept if again else kept)), now)]
        case Order(stage=Stage.CANCELLING) as o, RecordCancellation(target, now):
            deleted = tuple(node for node in o.nodes if node not in o.kept)
            kept = tuple(sorted(o.kept))
            return [OrderCancelled(o.terms.order, o.terms.gang, o.terms.group, deleted, kept, target, now)]
        case _:
            return []  # repeated or stale: normal under at-least-once delivery


def evolve(order: OrderState, event: Event) -> OrderState:
    """The order after an event. Raises CorruptHistory."""
    match order, event:
        case Unplaced(), OrderIntended(terms, baseline, at):
            return Order(terms, baseline, Stage.INTENDED, intended_at=at, progressed_at=at)
        case Unplaced(), OrderCancelled(id, gang, group, kept_nodes=kept, at=at):
            return _cancelled_unplaced(id, gang, group, kept, at)
        case Order() as o, OrderAcknowledged(at=at) if o.unresolved:
            stage = Stage.ACKNOWLEDGED if o.stage is Stage.INTENDED else o.stage
            return replace(o, stage=stage, acknowledged=True, progressed_at=at)
        case Order() as o, NodeLaunched(_, _, instance, node, ordinal, at) if o.stage is not Stage.INTENDED:
            launched = sorted((*o.launched, Launched(instance, node, ordinal)), key=lambda each: each.ordinal)
            stage = Stage.CANCELLING if o.stage is Stage.CANCELLED else o.stage
            return replace(o, stage=stage, launched=tuple(launched), progressed_at=at)
        case Order(stage=Stage.ACKNOWLEDGED) as o, OrderFilled(nodes=nodes, at=at):
            return replace(o, stage=Stage.FILLED, served=nodes, closed_at=at)
        case Order(stage=Stage.INTENDED | Stage.ACKNOWLEDGED) as o, OrderShort() as short:
            shortfall = Shortfall(short.shortfall, short.message, short.missing)
            return replace(o, stage=Stage.SHORT, served=short.nodes, shortfall=shortfall, closed_at=short.at)
        case Order() as o, OrderCancelIntended(kept_nodes=kept):
            return replace(o, stage=Stage.CANCELLING, kept=frozenset(kept))
        case Order(stage=Stage.CANCELLING) as o, OrderCancelled(at=at):
            return replace(o, stage=Stage.CANCELLED, closed_at=at)
        case _:
            raise CorruptHistory(order, event)


ORDER: Decider[Command, OrderState, Event] = Decider(Unplaced(), decide, evolve)


def _sound(terms: OrderTerms) -> OrderTerms:
    if terms.count < 1 or terms.first_ordinal < 0:
        raise InvalidOrder(f"order {terms.order} asks for {terms.count} nodes from ordinal {terms.first_ordinal}")
    return terms


def _launches(order: Order, machines: tuple[Machine, ...], now: datetime) -> list[Event]:
    """Launches of machines not known yet; the one that completes the order fills it, those beyond come too many."""
    terms = order.terms
    nodes = list(order.launched)
    events: list[Event] = []
    for machine in sorted(machines, key=lambda each: (each.ordinal is None, each.ordinal, each.instance)):
        if any(each.instance == machine.instance for each in nodes):
            continue
        taken = {each.ordinal for each in nodes}
        free = (ordinal for ordinal in count(terms.first_ordinal) if ordinal not in taken)
        ordinal = next(free) if machine.ordinal is None else machine.ordinal
        nodes.append(Launched(machine.instance, machine.node, ordinal))
        events.append(NodeLaunched(terms.order, terms.gang, machine.instance, machine.node, ordinal, now))
        if order.stage is Stage.ACKNOWLEDGED and len(nodes) == terms.count:
            names = tuple(each.node for each in sorted(nodes, key=lambda each: each.ordinal))
            events.append(OrderFilled(terms.order, terms.gang, terms.group, names, now))
    return events


def _cancelled_unplaced(
    id: OrderId, gang: GangId, group: NodeGroupName, kept: tuple[NodeName, ...], at: datetime
) -> Order:
    terms = OrderTerms(id, gang, group, 0, 0)
    return Order(terms, Baseline(0, ()), Stage.CANCELLED, at, at, acknowledged=True, kept=frozenset(kept), closed_at=at)
