"""What an event makes of a gang. An event that can't follow the state is a corrupt history."""

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import TypeVar

from muster_decider import CorruptHistory
from muster_gang_coordinator.domain.events import (
    BookingReleaseRecorded,
    CompensationStarted,
    Event,
    GangConsumed,
    GangEnded,
    GangPlanBooked,
    GangReadied,
    GangRequested,
    GangWaits,
    HoldStarted,
    MemberBindRecorded,
    MemberLossRecorded,
    MemberNodeRecovered,
    MemberNodeUnreadied,
    MemberPoolChanged,
    NodeArrivalRecorded,
    NodeLossRecorded,
    NodesOrdered,
    OfferRevised,
    OrderCancelRecorded,
    OrderFillRecorded,
    OrphanFound,
    PlanningStarted,
    ShortfallRecorded,
    SurplusReleased,
    TemplateDriftRecorded,
    VerificationStarted,
)
from muster_gang_coordinator.domain.orders import Order, open_order
from muster_gang_coordinator.domain.saga import Saga
from muster_gang_coordinator.domain.states import (
    Arriving,
    Booked,
    Compensating,
    Consumed,
    Ended,
    Gang,
    Held,
    Known,
    New,
    Ordered,
    Planning,
    Ready,
    Received,
    Verifying,
    Waiting,
)
from muster_types import OrderId

K = TypeVar("K", bound=Known)


def evolve(gang: Gang, event: Event) -> Gang:
    """The gang after `event`. Raises CorruptHistory."""
    match gang, event:
        case New(), GangRequested(gang_id, spec, request_id, request_time):
            return Received(Saga(gang_id, spec, request_id, request_time))
        case New(), _:
            raise CorruptHistory(gang, event)
        case ((Consumed() | Compensating() | Ended()), GangRequested()):
            raise CorruptHistory(gang, event)
        case known, GangRequested(_, spec, request_id):
            return _with(known, replace(known.saga, spec=spec, request_id=request_id))
        case known, (
            PlanningStarted() | GangPlanBooked() | GangWaits() | NodesOrdered() | VerificationStarted() | GangReadied()
        ):
            return _step(known, event)
        case known, GangConsumed() | CompensationStarted() | GangEnded() | HoldStarted():
            return _end(known, event)
        case known, _:
            return _learn(known, event)


def fold(gang: Gang, events: Iterable[Event]) -> Gang:
    """The gang after `events`. Raises CorruptHistory."""
    return reduce(evolve, events, gang)


def _step(gang: Known, event: Event) -> Gang:
    saga = gang.saga
    match gang, event:
        case (
            (Received() | Planning() | Waiting() | Booked() | Ordered() | Arriving() | Verifying() | Ready() | Held()),
            PlanningStarted() as e,
        ):
            again = 0 if isinstance(gang, Received | Waiting | Held) else 1
            after = replace(
                saga,
                attempt=e.attempt,
                excluded=e.excluded_node_groups,
                setbacks=saga.setbacks + again,
                lost=frozenset(),
                gone=saga.gone.union(e.lost_nodes),
                unready=(),
                check=0,
                bound=tuple((pod, node) for pod, node in saga.bound if node not in e.lost_nodes),
            )
            return Planning(after, e.cause)
        case Planning(), GangPlanBooked(attempt, plan):
            return Booked(replace(saga, answered=attempt, booked=True, plan=plan))
        case ((Received() | Planning() | Waiting()), GangWaits(attempt, kind, reasons)):
            return Waiting(replace(saga, answered=attempt), kind, reasons)
        case ((Booked() | Ordered() | Arriving()), NodesOrdered() as e):
            orders = (*saga.orders, *(open_order(o, e.attempt) for o in e.orders))
            state = Arriving if isinstance(gang, Arriving) else Ordered
            return state(replace(saga, orders=orders), e.node_deadline, e.device_deadline)
        case ((Booked() | Ordered() | Arriving()), VerificationStarted(_, nodes)):
            return Verifying(saga, nodes)
        case Verifying(), GangReadied() as e:
            after = replace(saga, offered=True)
            doubted = gang.doubted
            return Ready(after, e.placements, e.details, e.ready_time, e.booking_deadline, doubted)
        case _:
            raise CorruptHistory(gang, event)


def _end(gang: Known, event: Event) -> Gang:
    saga = gang.saga
    match gang, event:
        case Ready(), GangConsumed():
            return Consumed(_abridged(saga), gang.placements, gang.details)
        case ((Consumed() | Compensating() | Ended()), CompensationStarted()):
            raise CorruptHistory(gang, event)
        case ((Ready() | Verifying() | Arriving()), HoldStarted(reasons, held, _, deadline)):
            for one in held:
                saga = saga.with_order(_order(gang, event, one.order_id).limit(one.kept_nodes))
            return Held(replace(saga, offered=False, unready=()), reasons, deadline)
        case _, CompensationStarted(end_state, reasons, order_ids, booking_held):
            orders = tuple(o.give_back() if o.id in order_ids else o for o in saga.orders)
            return Compensating(replace(saga, orders=orders, booked=booking_held), end_state, reasons)
        case Planning(), GangEnded(end_state, reasons):  # the refusal of the attempt in flight ends the gang
            return Ended(_abridged(replace(saga, answered=saga.attempt)), end_state, reasons)
        case ((Received() | Waiting() | Held() | Compensating()), GangEnded(end_state, reasons)):
            return Ended(_abridged(saga), end_state, reasons)
        case _:
            raise CorruptHistory(gang, event)


def _abridged(saga: Saga) -> Saga:
    """An ended gang needs its objects no more, and there are many ended gangs."""
    return replace(saga, spec=saga.spec.abridged)


def _learn(gang: Known, event: Event) -> Gang:
    saga = gang.saga
    match event:
        case OrderFillRecorded(order_id, nodes):
            return _moved(_with(gang, saga.with_order(_order(gang, event, order_id).fill(nodes))))
        case ShortfallRecorded(order_id=order_id, nodes=nodes):
            return _moved(_with(gang, saga.with_order(_order(gang, event, order_id).fall_short(nodes))))
        case NodeArrivalRecorded(node, mismatches, _, sequence):
            order = _order(gang, event, node.order_id).arrive(node, mismatched=bool(mismatches))
            after = replace(saga.with_order(order), as_of=max(saga.as_of, sequence))
            return _moved(_with(gang, after))
        case NodeLossRecorded(node, order_id) if order_id:
            return _with(gang, saga.with_order(_order(gang, event, order_id).lose(node)))
        case NodeLossRecorded(node):
            return _with(gang, replace(saga, lost=saga.lost | {node}))
        case MemberNodeUnreadied(node, _, _, deadline):
            others = tuple((n, d) for n, d in saga.unready if n != node)
            return _with(gang, replace(saga, unready=tuple(sorted([*others, (node, deadline)]))))
        case MemberNodeRecovered(node):
            return _with(gang, replace(saga, unready=tuple((n, d) for n, d in saga.unready if n != node)))
        case MemberPoolChanged(check=check, inventory_sequence=sequence, node=node):
            after = _with(gang, replace(saga, check=check, as_of=max(saga.as_of, sequence)))
            return replace(after, doubted=after.doubted | {node}) if isinstance(after, Ready | Verifying) else after
        case OfferRevised(placements=placements) if isinstance(gang, Ready):
            return replace(gang, placements=placements)
        case MemberLossRecorded(pod):
            return _with(gang, replace(saga, bound=tuple((p, n) for p, n in saga.bound if p != pod)))
        case TemplateDriftRecorded(shown_hash=shown):
            return _with(gang, replace(saga, drift=(*saga.drift, shown)))
        case SurplusReleased(surplus):
            for one in surplus:
                saga = saga.with_order(_order(gang, event, one.order_id).limit(one.kept_nodes))
            return _with(gang, saga)
        case OrderCancelRecorded(order_id, deleted):
            return _with(gang, saga.with_order(_order(gang, event, order_id).cancel(deleted)))
        case MemberBindRecorded(pod, node):
            return _with(gang, replace(saga, bound=(*saga.bound, (pod, node))))
        case BookingReleaseRecorded() if isinstance(gang, Consumed | Compensating | Ended):
            return _with(gang, replace(saga, booked=False, released=True))
        case OrphanFound(booking=True) if isinstance(gang, Ended):
            return _with(gang, replace(saga, booked=True, answered=saga.attempt))
        case OrphanFound(order_id, booking=False):
            return _with(gang, saga.with_order(_order(gang, event, order_id).stray()))
        case _:
            raise CorruptHistory(gang, event)


def _moved(gang: Gang) -> Gang:
    """The first answer to an order takes the gang from Ordered to Arriving."""
    return Arriving(gang.saga, gang.node_deadline, gang.device_deadline) if isinstance(gang, Ordered) else gang


def _with(gang: K, saga: Saga) -> K:
    return replace(gang, saga=saga)


def _order(gang: Gang, event: Event, order_id: OrderId) -> Order:
    order = gang.saga.order(order_id) if not isinstance(gang, New) else None
    if order is None:
        raise CorruptHistory(gang, event)
    return order
