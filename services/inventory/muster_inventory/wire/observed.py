"""Facts of the stream `observed` to the inventory's terms."""

from google.protobuf.message import Message

from muster.events.observed.v1 import observed_pb2 as pb
from muster.type.v1.object_pb2 import ObjectRef
from muster_eventstore import EventMeta
from muster_inventory.domain.seen import (
    Fact,
    InputMended,
    InputRejected,
    ListCompleted,
    ObjectGone,
    ObjectPassed,
    ObjectSeen,
    Origin,
    Problem,
    ProblemId,
    Severity,
)
from muster_inventory.wire.objects import read_object
from muster_types import ObjectKey

_SEVERITIES = {
    pb.SEVERITY_UNSPECIFIED: Severity.ERROR,  # of before there were warnings
    pb.SEVERITY_ERROR: Severity.ERROR,
    pb.SEVERITY_WARNING: Severity.WARNING,
}


def from_observed(message: Message, ids: tuple[str, ...]) -> Fact | None:
    """The fact, or None for a type of the stream that says nothing to the inventory. `ids` are the tokens of its
    subject after the kind."""
    match message:
        case pb.ObjectObserved():
            key = _key(message.object)
            seen = read_object(key, message.json)
            return ObjectPassed(key) if seen is None else ObjectSeen(key, seen)
        case pb.ObjectRemoved():
            return ObjectGone(_key(message.object))
        case pb.InputRejected():
            severity = _SEVERITIES.get(message.severity, Severity.ERROR)
            problem = Problem(message.source, message.object, message.field, message.reason, severity)
            return InputRejected(_problem_id(ids), problem)
        case pb.InputMended():
            return InputMended(_problem_id(ids))
        case pb.SyncCompleted():
            return ListCompleted(message.source)
        case _:
            return None


def to_origin(meta: EventMeta) -> Origin:
    return Origin(meta.id, meta.correlation_id, meta.time)


def _problem_id(ids: tuple[str, ...]) -> ProblemId:
    return ProblemId("/".join(ids))


def _key(ref: ObjectRef) -> ObjectKey:
    return ObjectKey(ref.kind, ref.namespace, ref.name)
