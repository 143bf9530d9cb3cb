"""Which commands follow from a recorded event. No default case: a new event type fails the type check."""

from muster_gang_coordinator.domain.commands import Timer
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
from muster_gang_coordinator.domain.outgoing import (
    BookGang,
    CancelOrder,
    ConfirmGang,
    ForgetWake,
    LiftHolds,
    Outgoing,
    PlaceOrder,
    ReleaseGang,
    WakeAt,
)
from muster_gang_coordinator.domain.policy import SagaPolicy
from muster_gang_coordinator.domain.saga import Saga
from muster_types import NodeName, OrderId


def react(policy: SagaPolicy, event: Event, saga: Saga) -> list[Outgoing]:
    """The commands that `event` causes. `saga` is the gang at the event or later: only its id, its request and
    the node groups of its orders are read, and those do not change.
    """
    gang_id = saga.gang_id
    match event:
        case GangRequested(_, spec, _, request_time):
            ends = WakeAt(gang_id, 0, Timer.REQUEST, request_time + policy.request_lifetime)
            comes = WakeAt(gang_id, 0, Timer.TEMPLATES, request_time + policy.template_wait)
            return [comes, ends] if spec.missing else [ends]
        case PlanningStarted(attempt, excluded, kept, lost_nodes=lost):
            return [BookGang(gang_id, attempt, saga.spec, excluded, kept, lost)]
        case MemberNodeUnreadied(wake_time=wake_time):
            return [WakeAt(gang_id, 0, Timer.UNREADY, wake_time)]
        case MemberPoolChanged(attempt=attempt, check=check):
            return [ConfirmGang(gang_id, attempt, (), check)]
        case HoldStarted(orders=orders, deadline=deadline):
            back = [_cancel(saga, o.order_id, o.kept_nodes) for o in orders]
            return [*back, WakeAt(gang_id, 0, Timer.HOLD, deadline)]
        case GangWaits(attempt=attempt, wait_time=wait_time):
            return [WakeAt(gang_id, attempt, Timer.RETRY, wait_time + policy.retry_after)]
        case NodesOrdered(attempt, orders, _, node_deadline, device_deadline):
            return [
                *(PlaceOrder(o.order_id, gang_id, o.node_group, o.count, o.first_ordinal) for o in orders),
                WakeAt(gang_id, attempt, Timer.NODE, node_deadline),
                WakeAt(gang_id, attempt, Timer.DEVICE, device_deadline),
            ]
        case VerificationStarted(attempt, nodes):
            return [ConfirmGang(gang_id, attempt, nodes)]
        case SurplusReleased(orders):
            return [_cancel(saga, o.order_id, o.kept_nodes) for o in orders]
        case GangReadied(attempt=attempt, booking_deadline=deadline):
            return [WakeAt(gang_id, attempt, Timer.BOOKING, deadline)]
        case GangConsumed():
            nodes = tuple(a.node for a in saga.present)
            return [ReleaseGang(gang_id, "consumed"), LiftHolds(gang_id, nodes), ForgetWake(gang_id, Timer.REQUEST)]
        case GangEnded():
            return [ForgetWake(gang_id, Timer.REQUEST)]  # it lies days ahead; the others fire soon and decide nothing
        case CompensationStarted(end_state, _, order_ids, booking_held):
            release: list[Outgoing] = [ReleaseGang(gang_id, end_state.value.lower())] if booking_held else []
            return [*(_cancel(saga, order_id, ()) for order_id in order_ids), *release]
        case OrphanFound(booking=True):
            return [ReleaseGang(gang_id, "orphan")]
        case OrphanFound(order_id):
            return [_cancel(saga, order_id, _still_wanted(saga, order_id))]
        case (
            GangPlanBooked()
            | OrderFillRecorded()
            | ShortfallRecorded()
            | NodeArrivalRecorded()
            | NodeLossRecorded()
            | MemberBindRecorded()
            | MemberLossRecorded()
            | MemberNodeRecovered()
            | OfferRevised()
            | TemplateDriftRecorded()
            | OrderCancelRecorded()
            | BookingReleaseRecorded()
        ):
            return []


def _still_wanted(saga: Saga, order_id: OrderId) -> tuple[NodeName, ...]:
    order = saga.order(order_id)
    return () if order is None else tuple(a.node for a in order.present)


def _cancel(saga: Saga, order_id: OrderId, kept: tuple[NodeName, ...]) -> CancelOrder:
    order = saga.order(order_id)
    if order is None:
        raise LookupError(f"gang {saga.gang_id} has no order {order_id}")  # evolve has refused such a history
    return CancelOrder(order_id, saga.gang_id, order.node_group, kept)
