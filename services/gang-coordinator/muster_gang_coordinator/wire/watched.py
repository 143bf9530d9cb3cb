"""Events about what goes wrong under members that have their place: domain <-> muster.events.gangs.v1."""

from google.protobuf.message import Message

from muster.events.gangs.v1 import gangs_pb2 as pb
from muster_gang_coordinator.domain import events as domain
from muster_gang_coordinator.wire.plans import (
    from_placement,
    from_reasons,
    from_time,
    to_placement,
    to_reasons,
    to_time,
)
from muster_types import NodeName, OrderId


def to_watched(event: domain.Watched) -> Message:
    """The event as the message of the same name."""
    match event:
        case domain.MemberNodeUnreadied() as e:
            return pb.MemberNodeUnreadied(
                node=e.node,
                reason=e.reason,
                unready_time=to_time(e.unready_time),
                deadline=to_time(e.deadline),
                wake_time=to_time(e.wake_time),
            )
        case domain.MemberNodeRecovered(node):
            return pb.MemberNodeRecovered(node=node)
        case domain.MemberPoolChanged() as e:
            return pb.MemberPoolChanged(
                attempt=e.attempt,
                driver=e.driver,
                pool=e.pool,
                node=e.node,
                change=e.change,
                check=e.check,
                inventory_sequence=e.inventory_sequence,
            )
        case domain.OfferRevised(attempt, check, placements):
            return pb.OfferRevised(attempt=attempt, check=check, placements=map(to_placement, placements))
        case domain.MemberLossRecorded(pod):
            return pb.MemberLossRecorded(pod=pod)
        case domain.TemplateDriftRecorded() as e:
            return pb.TemplateDriftRecorded(
                kind=e.kind,
                name=e.name,
                accepted_hash=e.accepted_hash,
                shown_hash=e.shown_hash,
                drift_time=to_time(e.drift_time),
            )
        case domain.HoldStarted(reasons, orders, start, deadline):
            return pb.HoldStarted(
                reasons=to_reasons(reasons),
                orders=[pb.SurplusOrder(order_id=o.order_id, kept_nodes=o.kept_nodes) for o in orders],
                start_time=to_time(start),
                deadline=to_time(deadline),
            )


def from_watched(message: Message) -> domain.Watched | None:
    """The inverse of `to_watched`; None for another message."""
    match message:
        case pb.MemberNodeUnreadied() as m:
            times = (from_time(m.unready_time), from_time(m.deadline), from_time(m.wake_time))
            return domain.MemberNodeUnreadied(NodeName(m.node), m.reason, *times)
        case pb.MemberNodeRecovered() as m:
            return domain.MemberNodeRecovered(NodeName(m.node))
        case pb.MemberPoolChanged() as m:
            return domain.MemberPoolChanged(
                m.attempt, m.driver, m.pool, NodeName(m.node), m.change, m.check, m.inventory_sequence
            )
        case pb.OfferRevised() as m:
            return domain.OfferRevised(m.attempt, m.check, tuple(map(from_placement, m.placements)))
        case pb.MemberLossRecorded() as m:
            return domain.MemberLossRecorded(m.pod)
        case pb.TemplateDriftRecorded() as m:
            return domain.TemplateDriftRecorded(m.kind, m.name, m.accepted_hash, m.shown_hash, from_time(m.drift_time))
        case pb.HoldStarted() as m:
            return domain.HoldStarted(
                from_reasons(m.reasons),
                tuple(domain.SurplusOrder(OrderId(o.order_id), tuple(map(NodeName, o.kept_nodes))) for o in m.orders),
                from_time(m.start_time),
                from_time(m.deadline),
            )
        case _:
            return None
