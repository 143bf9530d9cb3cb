"""The provisioner's own events: domain <-> protobuf."""

from google.protobuf.message import Message

from muster.events.gangs.v1 import gangs_pb2
from muster.events.provisioning.v1 import provisioning_pb2 as pb
from muster_eventstore import PermanentError
from muster_provisioner.domain.messages import (
    Baseline,
    Event,
    InstanceId,
    NodeLaunched,
    OrderAcknowledged,
    OrderCancelIntended,
    OrderCancelled,
    OrderFilled,
    OrderIntended,
    OrderShort,
    OrderTerms,
    ShortfallClass,
)
from muster_provisioner.wire.times import from_timestamp, to_timestamp
from muster_types import GangId, NodeGroupName, NodeName, OrderId

TO_SHORTFALL = {
    ShortfallClass.STOCKOUT: gangs_pb2.SHORTFALL_CLASS_STOCKOUT,
    ShortfallClass.QUOTA: gangs_pb2.SHORTFALL_CLASS_QUOTA,
    ShortfallClass.TIMEOUT: gangs_pb2.SHORTFALL_CLASS_TIMEOUT,
    ShortfallClass.OTHER: gangs_pb2.SHORTFALL_CLASS_OTHER,
}
_FROM_SHORTFALL = {number: kind for kind, number in TO_SHORTFALL.items()}


class OrderWire:
    """`Wire` of the order aggregate."""

    def to_wire(self, event: Event) -> Message:
        """The event as a message of `muster.events.provisioning.v1`."""
        match event:
            case OrderIntended(terms, baseline, at):
                return pb.OrderIntended(
                    order_id=terms.order,
                    gang_id=terms.gang,
                    node_group=terms.group,
                    count=terms.count,
                    first_ordinal=terms.first_ordinal,
                    baseline_target=baseline.target,
                    baseline_instances=baseline.instances,
                    intend_time=to_timestamp(at),
                )
            case OrderAcknowledged(order, target, at):
                return pb.OrderAcknowledged(order_id=order, target=target, acknowledge_time=to_timestamp(at))
            case NodeLaunched(order, gang, instance, node, ordinal, at):
                return pb.NodeLaunched(
                    order_id=order,
                    gang_id=gang,
                    instance_id=instance,
                    node=node,
                    ordinal=ordinal,
                    launch_time=to_timestamp(at),
                )
            case OrderFilled(order, gang, group, nodes, at):
                return pb.OrderFilled(
                    order_id=order, gang_id=gang, node_group=group, nodes=nodes, fill_time=to_timestamp(at)
                )
            case OrderShort(order, gang, group, kind, message, nodes, missing, at):
                return pb.OrderShort(
                    order_id=order,
                    gang_id=gang,
                    node_group=group,
                    shortfall_class=TO_SHORTFALL[kind],
                    message=message,
                    nodes=nodes,
                    missing=missing,
                    short_time=to_timestamp(at),
                )
            case OrderCancelIntended(order, kept, at):
                return pb.OrderCancelIntended(order_id=order, kept_nodes=kept, intend_time=to_timestamp(at))
            case OrderCancelled(order, gang, group, deleted, kept, target, at):
                return pb.OrderCancelled(
                    order_id=order,
                    gang_id=gang,
                    node_group=group,
                    deleted_nodes=deleted,
                    kept_nodes=kept,
                    target=target,
                    cancel_time=to_timestamp(at),
                )

    def from_wire(self, message: Message) -> Event:
        """The inverse of `to_wire`. Raises PermanentError for a message that is no event of an order."""
        match message:
            case pb.OrderIntended() as m:
                terms = OrderTerms(
                    OrderId(m.order_id), GangId(m.gang_id), NodeGroupName(m.node_group), m.count, m.first_ordinal
                )
                baseline = Baseline(m.baseline_target, tuple(InstanceId(each) for each in m.baseline_instances))
                return OrderIntended(terms, baseline, from_timestamp(m.intend_time))
            case pb.OrderAcknowledged() as m:
                return OrderAcknowledged(OrderId(m.order_id), m.target, from_timestamp(m.acknowledge_time))
            case pb.NodeLaunched() as m:
                return NodeLaunched(
                    OrderId(m.order_id),
                    GangId(m.gang_id),
                    InstanceId(m.instance_id),
                    NodeName(m.node),
                    m.ordinal,
                    from_timestamp(m.launch_time),
                )
            case pb.OrderFilled() as m:
                return OrderFilled(
                    OrderId(m.order_id),
                    GangId(m.gang_id),
                    NodeGroupName(m.node_group),
                    tuple(NodeName(each) for each in m.nodes),
                    from_timestamp(m.fill_time),
                )
            case pb.OrderShort() as m:
                return OrderShort(
                    OrderId(m.order_id),
                    GangId(m.gang_id),
                    NodeGroupName(m.node_group),
                    _FROM_SHORTFALL.get(m.shortfall_class, ShortfallClass.OTHER),
                    m.message,
                    tuple(NodeName(each) for each in m.nodes),
                    m.missing,
                    from_timestamp(m.short_time),
                )
            case pb.OrderCancelIntended() as m:
                kept = tuple(NodeName(each) for each in m.kept_nodes)
                return OrderCancelIntended(OrderId(m.order_id), kept, from_timestamp(m.intend_time))
            case pb.OrderCancelled() as m:
                return OrderCancelled(
                    OrderId(m.order_id),
                    GangId(m.gang_id),
                    NodeGroupName(m.node_group),
                    tuple(NodeName(each) for each in m.deleted_nodes),
                    tuple(NodeName(each) for each in m.kept_nodes),
                    m.target,
                    from_timestamp(m.cancel_time),
                )
            case _:
                raise PermanentError("NOT_OF_THIS_STREAM", f"{message.DESCRIPTOR.full_name} is no event of an order")
