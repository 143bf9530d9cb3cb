"""Commands to the provisioner: protobuf -> domain."""

from dataclasses import dataclass
from datetime import datetime

from google.protobuf.message import Message

from muster.commands.provisioning.v1 import provisioning_pb2 as pb
from muster_eventstore import PermanentError
from muster_provisioner.domain.messages import CancelOrder, OrderTerms
from muster_types import GangId, NodeGroupName, NodeName, OrderId


@dataclass(frozen=True, slots=True)
class Wanted:
    """An order that is asked for."""

    terms: OrderTerms


def from_command(message: Message, now: datetime) -> Wanted | CancelOrder:
    """What is asked. Raises PermanentError naming the field when the command makes no sense."""
    match message:
        case pb.PlaceOrder() as m:
            _require(m, order_id=m.order_id, gang_id=m.gang_id, node_group=m.node_group)
            terms = OrderTerms(
                OrderId(m.order_id), GangId(m.gang_id), NodeGroupName(m.node_group), m.count, m.first_ordinal
            )
            return Wanted(terms)
        case pb.CancelOrder() as m:
            _require(m, order_id=m.order_id, gang_id=m.gang_id, node_group=m.node_group)
            kept = frozenset(NodeName(each) for each in m.kept_nodes)
            return CancelOrder(OrderId(m.order_id), GangId(m.gang_id), NodeGroupName(m.node_group), kept, now)
        case _:
            raise PermanentError("UNKNOWN_COMMAND", f"{message.DESCRIPTOR.full_name} is no command to the provisioner")


def group_of(message: Message) -> str:
    """The node group that a command speaks of; empty for another message."""
    return message.node_group if isinstance(message, pb.PlaceOrder | pb.CancelOrder) else ""


def _require(message: Message, **fields: str) -> None:
    for name, value in fields.items():
        if not value:
            raise PermanentError("INVALID_COMMAND", f"{message.DESCRIPTOR.name}: field {name} is empty")
