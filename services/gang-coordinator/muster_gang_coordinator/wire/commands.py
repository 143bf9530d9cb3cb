"""What goes out: commands of the domain to messages on their subjects; and the wake-ups that come back."""

from muster.commands.claims.v1 import claims_pb2
from muster.commands.gangs.v1 import gangs_pb2
from muster.commands.provisioning.v1 import provisioning_pb2
from muster_eventstore import CancelWake, CommandSubject, Outgoing, PermanentError, SendCommand, TimerSubject, WakeAt
from muster_gang_coordinator.domain import outgoing as domain
from muster_gang_coordinator.domain.commands import Timer
from muster_gang_coordinator.wire.plans import to_arrived, to_time
from muster_gang_coordinator.wire.specs import to_spec
from muster_types import ClusterId, GangId

STREAM = "gangs"

Sendable = (
    domain.BookGang
    | domain.ConfirmGang
    | domain.ReleaseGang
    | domain.PlaceOrder
    | domain.CancelOrder
    | domain.WakeAt
    | domain.ForgetWake
)


def to_outgoing(item: Sendable, cluster: ClusterId, observed_sequence: int) -> Outgoing:
    """`observed_sequence` is how far the matcher must have seen the cluster before it answers."""
    match item:
        case domain.BookGang():
            message = claims_pb2.BookGang(
                gang_id=item.gang_id,
                attempt=item.attempt,
                spec=to_spec(item.spec),
                excluded_node_groups=item.excluded_node_groups,
                kept_nodes=map(to_arrived, item.kept_nodes),
                min_observed_sequence=observed_sequence,
                lost_nodes=item.lost_nodes,
            )
            return SendCommand(CommandSubject("claims", cluster, "BookGang", item.gang_id), message)
        case domain.ConfirmGang(gang_id, attempt, nodes, check):
            confirm = claims_pb2.ConfirmGang(
                gang_id=gang_id,
                attempt=attempt,
                nodes=map(to_arrived, nodes),
                min_observed_sequence=observed_sequence,
                check=check,
            )
            return SendCommand(CommandSubject("claims", cluster, "ConfirmGang", gang_id), confirm)
        case domain.ReleaseGang(gang_id, cause):
            release = claims_pb2.ReleaseGang(gang_id=gang_id, cause=cause)
            return SendCommand(CommandSubject("claims", cluster, "ReleaseGang", gang_id), release)
        case domain.PlaceOrder():
            place = provisioning_pb2.PlaceOrder(
                order_id=item.order_id,
                gang_id=item.gang_id,
                node_group=item.node_group,
                count=item.count,
                first_ordinal=item.first_ordinal,
            )
            return SendCommand(CommandSubject("provisioning", cluster, "PlaceOrder", item.order_id), place)
        case domain.CancelOrder():
            cancel = provisioning_pb2.CancelOrder(
                order_id=item.order_id,
                gang_id=item.gang_id,
                node_group=item.node_group,
                kept_nodes=item.kept_nodes,
            )
            return SendCommand(CommandSubject("provisioning", cluster, "CancelOrder", item.order_id), cancel)
        case domain.WakeAt(gang_id, attempt, timer, due):
            wake = gangs_pb2.WakeGang(gang_id=gang_id, attempt=attempt, timer=timer.value, due_time=to_time(due))
            return WakeAt(_timer(cluster, gang_id, timer), due, wake)
        case domain.ForgetWake(gang_id, timer):
            return CancelWake(_timer(cluster, gang_id, timer))


def _timer(cluster: ClusterId, gang_id: GangId, timer: Timer) -> TimerSubject:
    """One subject for each timer of a gang: the deadline of a later attempt replaces that of an earlier one."""
    return TimerSubject(STREAM, cluster, "WakeGang", f"{gang_id}/{timer.value}")


def from_timer(name: str) -> Timer:
    """PermanentError for a timer that this code does not know."""
    try:
        return Timer(name)
    except ValueError as error:
        raise PermanentError("UNKNOWN_TIMER", f"timer {name!r} of a WakeGang is not known here") from error
