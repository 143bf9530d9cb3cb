"""Answers of the gRPC API: domain -> protobuf."""

from muster.api.provisioner.v1 import provisioner_service_pb2 as pb
from muster.events.gangs.v1 import gangs_pb2
from muster_provisioner.domain.order import Order, Stage
from muster_provisioner.ports import GroupOperation
from muster_provisioner.wire.events import TO_SHORTFALL
from muster_provisioner.wire.times import to_timestamp

_STATES = {
    Stage.INTENDED: pb.ORDER_STATE_INTENDED,
    Stage.ACKNOWLEDGED: pb.ORDER_STATE_ACKNOWLEDGED,
    Stage.FILLED: pb.ORDER_STATE_FILLED,
    Stage.SHORT: pb.ORDER_STATE_SHORT,
    Stage.CANCELLING: pb.ORDER_STATE_CANCELLING,
    Stage.CANCELLED: pb.ORDER_STATE_CANCELLED,
}


def to_order_view(order: Order) -> pb.OrderView:
    """One order; its nodes are those that it still has by the records, by ordinal."""
    gone = order.stage is Stage.CANCELLED
    short = order.shortfall
    return pb.OrderView(
        order_id=order.terms.order,
        gang_id=order.terms.gang,
        node_group=order.terms.group,
        count=order.terms.count,
        state=_STATES[order.stage],
        nodes=[node for node in order.nodes if not gone or node in order.kept],
        shortfall_class=gangs_pb2.SHORTFALL_CLASS_UNSPECIFIED if short is None else TO_SHORTFALL[short.kind],
        message="" if short is None else short.message,
        intend_time=to_timestamp(order.intended_at),
    )


def to_group_operation(found: GroupOperation) -> pb.GroupOperation:
    """One group as its driver shows it."""
    return pb.GroupOperation(
        node_group=found.group,
        driver=found.driver,
        target_size=found.target,
        instances=found.instances,
        problem=found.problem,
    )
