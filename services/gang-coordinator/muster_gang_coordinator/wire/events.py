"""The gang's own events: domain <-> muster.events.gangs.v1."""

from collections.abc import Iterable

from google.protobuf.message import Message

from muster.events.gangs.v1 import gangs_pb2 as pb
from muster_eventstore import PermanentError
from muster_gang_coordinator.domain import events as domain
from muster_gang_coordinator.wire.plans import (
    from_arrived,
    from_kind,
    from_mismatches,
    from_placement,
    from_plan,
    from_reasons,
    from_time,
    to_arrived,
    to_kind,
    to_mismatches,
    to_placement,
    to_plan,
    to_reasons,
    to_time,
)
from muster_gang_coordinator.wire.specs import from_spec, to_spec
from muster_gang_coordinator.wire.states import from_end, from_shortfall, to_end, to_shortfall
from muster_gang_coordinator.wire.watched import from_watched, to_watched
from muster_types import GangId, NodeGroupName, NodeName, OrderId


class GangWire:
    """Both directions, total."""

    def to_wire(self, event: domain.Event) -> Message:
        return to_wire(event)

    def from_wire(self, message: Message) -> domain.Event:
        return from_wire(message)


def to_wire(event: domain.Event) -> Message:
    """The event as the message of the same name."""
    match event:
        case domain.GangRequested(gang_id, spec, request_id, time):
            return pb.GangRequested(
                gang_id=gang_id, spec=to_spec(spec), request_id=request_id, request_time=to_time(time)
            )
        case domain.PlanningStarted(attempt, excluded, kept, cause, time, lost):
            return pb.PlanningStarted(
                attempt=attempt,
                excluded_node_groups=excluded,
                kept_nodes=map(to_arrived, kept),
                cause=cause,
                start_time=to_time(time),
                lost_nodes=lost,
            )
        case domain.GangPlanBooked(attempt, plan, time):
            return pb.GangPlanBooked(attempt=attempt, plan=to_plan(plan), book_time=to_time(time))
        case domain.GangWaits(attempt, kind, reasons, time):
            return pb.GangWaits(
                attempt=attempt, kind=to_kind(kind), reasons=to_reasons(reasons), wait_time=to_time(time)
            )
        case domain.NodesOrdered(attempt, orders, time, node_deadline, device_deadline):
            return pb.NodesOrdered(
                attempt=attempt,
                orders=map(_to_order, orders),
                order_time=to_time(time),
                node_deadline=to_time(node_deadline),
                device_deadline=to_time(device_deadline),
            )
        case domain.OrderFillRecorded(order_id, nodes, time):
            return pb.OrderFillRecorded(order_id=order_id, nodes=nodes, fill_time=to_time(time))
        case domain.ShortfallRecorded() as e:
            return pb.ShortfallRecorded(
                order_id=e.order_id,
                node_group=e.node_group,
                shortfall_class=to_shortfall(e.shortfall_class),
                message=e.message,
                nodes=e.nodes,
                missing=e.missing,
                shortfall_time=to_time(e.shortfall_time),
            )
        case domain.NodeArrivalRecorded(node, mismatches, time, sequence):
            return pb.NodeArrivalRecorded(
                node=to_arrived(node),
                mismatches=to_mismatches(mismatches),
                arrive_time=to_time(time),
                inventory_sequence=sequence,
            )
        case domain.NodeLossRecorded(node, order_id, time, cause):
            return pb.NodeLossRecorded(node=node, order_id=order_id, loss_time=to_time(time), cause=cause)
        case domain.VerificationStarted(attempt, nodes, time):
            return pb.VerificationStarted(attempt=attempt, nodes=map(to_arrived, nodes), start_time=to_time(time))
        case domain.SurplusReleased(orders):
            return pb.SurplusReleased(
                orders=[pb.SurplusOrder(order_id=o.order_id, kept_nodes=o.kept_nodes) for o in orders]
            )
        case domain.GangReadied(attempt, placements, details, time, deadline):
            return pb.GangReadied(
                attempt=attempt,
                placements=map(to_placement, placements),
                details=dict(details),
                ready_time=to_time(time),
                booking_deadline=to_time(deadline),
            )
        case domain.MemberBindRecorded(pod, node, ungrouped):
            return pb.MemberBindRecorded(pod=pod, node=node, ungrouped=ungrouped)
        case domain.GangConsumed(time):
            return pb.GangConsumed(consume_time=to_time(time))
        case domain.CompensationStarted(end_state, reasons, order_ids, booking_held, time):
            return pb.CompensationStarted(
                end_state=to_end(end_state),
                reasons=to_reasons(reasons),
                order_ids=order_ids,
                booking_held=booking_held,
                start_time=to_time(time),
            )
        case domain.OrderCancelRecorded(order_id, deleted, kept):
            return pb.OrderCancelRecorded(order_id=order_id, deleted_nodes=deleted, kept_nodes=kept)
        case domain.BookingReleaseRecorded():
            return pb.BookingReleaseRecorded()
        case domain.GangEnded(end_state, reasons, time):
            return pb.GangEnded(end_state=to_end(end_state), reasons=to_reasons(reasons), end_time=to_time(time))
        case domain.OrphanFound(order_id, booking, node):
            return pb.OrphanFound(order_id=order_id, booking=booking, node=node)
        case _:
            return to_watched(event)


def from_wire(message: Message) -> domain.Event:
    """The inverse of `to_wire`. PermanentError for a message that is no event of a gang."""
    match message:
        case pb.GangRequested() as m:
            return domain.GangRequested(GangId(m.gang_id), from_spec(m.spec), m.request_id, from_time(m.request_time))
        case pb.PlanningStarted() as m:
            groups = tuple(map(NodeGroupName, m.excluded_node_groups))
            kept = tuple(map(from_arrived, m.kept_nodes))
            lost = _nodes(m.lost_nodes)
            return domain.PlanningStarted(m.attempt, groups, kept, m.cause, from_time(m.start_time), lost)
        case pb.GangPlanBooked() as m:
            return domain.GangPlanBooked(m.attempt, from_plan(m.plan), from_time(m.book_time))
        case pb.GangWaits() as m:
            return domain.GangWaits(m.attempt, from_kind(m.kind), from_reasons(m.reasons), from_time(m.wait_time))
        case pb.NodesOrdered() as m:
            return domain.NodesOrdered(
                m.attempt,
                tuple(map(_from_order, m.orders)),
                from_time(m.order_time),
                from_time(m.node_deadline),
                from_time(m.device_deadline),
            )
        case pb.OrderFillRecorded() as m:
            return domain.OrderFillRecorded(OrderId(m.order_id), _nodes(m.nodes), from_time(m.fill_time))
        case pb.ShortfallRecorded() as m:
            return domain.ShortfallRecorded(
                OrderId(m.order_id),
                NodeGroupName(m.node_group),
                from_shortfall(m.shortfall_class),
                m.message,
                _nodes(m.nodes),
                m.missing,
                from_time(m.shortfall_time),
            )
        case _:
            return _from_later(message)


def _from_later(message: Message) -> domain.Event:
    match message:
        case pb.NodeArrivalRecorded() as m:
            return domain.NodeArrivalRecorded(
                from_arrived(m.node), from_mismatches(m.mismatches), from_time(m.arrive_time), m.inventory_sequence
            )
        case pb.NodeLossRecorded() as m:
            return domain.NodeLossRecorded(NodeName(m.node), OrderId(m.order_id), from_time(m.loss_time), m.cause)
        case pb.VerificationStarted() as m:
            return domain.VerificationStarted(m.attempt, tuple(map(from_arrived, m.nodes)), from_time(m.start_time))
        case pb.SurplusReleased() as m:
            return domain.SurplusReleased(
                tuple(domain.SurplusOrder(OrderId(o.order_id), _nodes(o.kept_nodes)) for o in m.orders)
            )
        case pb.GangReadied() as m:
            return domain.GangReadied(
                m.attempt,
                tuple(map(from_placement, m.placements)),
                tuple(sorted(m.details.items())),
                from_time(m.ready_time),
                from_time(m.booking_deadline),
            )
        case pb.MemberBindRecorded() as m:
            return domain.MemberBindRecorded(m.pod, NodeName(m.node), m.ungrouped)
        case pb.GangConsumed() as m:
            return domain.GangConsumed(from_time(m.consume_time))
        case pb.CompensationStarted() as m:
            return domain.CompensationStarted(
                from_end(m.end_state),
                from_reasons(m.reasons),
                tuple(map(OrderId, m.order_ids)),
                m.booking_held,
                from_time(m.start_time),
            )
        case pb.OrderCancelRecorded() as m:
            return domain.OrderCancelRecorded(OrderId(m.order_id), _nodes(m.deleted_nodes), _nodes(m.kept_nodes))
        case pb.BookingReleaseRecorded():
            return domain.BookingReleaseRecorded()
        case pb.GangEnded() as m:
            return domain.GangEnded(from_end(m.end_state), from_reasons(m.reasons), from_time(m.end_time))
        case pb.OrphanFound() as m:
            return domain.OrphanFound(OrderId(m.order_id), m.booking, NodeName(m.node))
        case _:
            watched = from_watched(message)
            if watched is None:
                raise PermanentError("FOREIGN_EVENT", f"{message.DESCRIPTOR.full_name} is no event of a gang")
            return watched


def _to_order(order: domain.NodeOrder) -> pb.NodeOrder:
    return pb.NodeOrder(
        order_id=order.order_id,
        node_group=order.node_group,
        count=order.count,
        first_ordinal=order.first_ordinal,
        trial=order.trial,
    )


def _from_order(order: pb.NodeOrder) -> domain.NodeOrder:
    return domain.NodeOrder(
        OrderId(order.order_id), NodeGroupName(order.node_group), order.count, order.first_ordinal, order.trial
    )


def _nodes(names: Iterable[str]) -> tuple[NodeName, ...]:
    return tuple(map(NodeName, names))
