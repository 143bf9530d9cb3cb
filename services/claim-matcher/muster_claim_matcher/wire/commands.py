"""Commands to the claim-matcher: protobuf -> domain. What cannot be read is a PermanentError, which parks it."""

from google.protobuf.message import Message

from muster.commands.claims.v1 import claims_pb2 as pb
from muster.type.v1.gang_pb2 import GangSpec
from muster.type.v1.plan_pb2 import ArrivedNode
from muster_claim_matcher.domain.wishes import (
    Arrived,
    Asked,
    BookingAsked,
    ConfirmationAsked,
    Json,
    ReleaseAsked,
    Wish,
)
from muster_claim_matcher.wire.json import NotAnObject, read_object
from muster_eventstore import PermanentError
from muster_types import GangId, NodeGroupName, NodeName


def from_command(message: Message) -> Asked:
    """What is asked. Raises PermanentError naming the gang and the field."""
    match message:
        case pb.BookGang():
            return BookingAsked(
                gang=_gang(message.gang_id),
                attempt=_attempt(message.gang_id, message.attempt),
                wish=from_spec(message.spec, message.gang_id),
                excluded=tuple(NodeGroupName(name) for name in message.excluded_node_groups),
                kept=tuple(map(_arrived, message.kept_nodes)),
                min_observed_sequence=message.min_observed_sequence,
                lost=tuple(map(NodeName, message.lost_nodes)),
            )
        case pb.ConfirmGang():
            return ConfirmationAsked(
                gang=_gang(message.gang_id),
                attempt=_attempt(message.gang_id, message.attempt),
                nodes=tuple(map(_arrived, message.nodes)),
                min_observed_sequence=message.min_observed_sequence,
                check=message.check,
            )
        case pb.ReleaseGang():
            return ReleaseAsked(_gang(message.gang_id), message.cause or "unspecified")
        case _:
            raise PermanentError("FOREIGN_COMMAND", f"{message.DESCRIPTOR.full_name} is no command to this service")


def from_spec(spec: GangSpec, gang: str) -> Wish:
    """What a gang asked for. Raises PermanentError for a request or object that is no JSON object."""
    try:
        request = read_object(spec.request_json)
    except NotAnObject as error:
        raise PermanentError("BAD_GANG_SPEC", f"gang {gang}: spec.request_json: {error}") from error
    objects: list[Json] = []
    for index, data in enumerate(spec.objects_json):
        try:
            objects.append(read_object(data))
        except NotAnObject as error:
            raise PermanentError("BAD_GANG_SPEC", f"gang {gang}: spec.objects_json[{index}]: {error}") from error
    return Wish(spec.namespace, spec.name, request, tuple(objects))


def _gang(name: str) -> GangId:
    if not name:
        raise PermanentError("BAD_COMMAND", "gang_id: is required")
    return GangId(name)


def _attempt(gang: str, attempt: int) -> int:
    if attempt < 1:
        raise PermanentError("BAD_COMMAND", f"gang {gang}: attempt: want at least 1, got {attempt}")
    return attempt


def _arrived(message: ArrivedNode) -> Arrived:
    return Arrived(NodeName(message.node), NodeGroupName(message.node_group), message.ordinal)
