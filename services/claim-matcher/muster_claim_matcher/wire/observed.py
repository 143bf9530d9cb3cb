"""Facts of the stream `observed` to the claim-matcher's terms."""

from google.protobuf.message import Message

from muster.events.observed.v1 import observed_pb2 as pb
from muster.type.v1.object_pb2 import ObjectRef
from muster_claim_matcher.domain.seen import Fact, ListCompleted, ObjectGone, ObjectSeen
from muster_claim_matcher.wire.json import NotAnObject, read_object
from muster_plan.tables import KINDS
from muster_types import ObjectKey


def from_observed(message: Message) -> Fact | None:
    """The fact, or None for one that says nothing to the claim-matcher."""
    match message:
        case pb.ObjectObserved() if message.object.kind in KINDS:
            key = _key(message.object)
            try:
                return ObjectSeen(key, read_object(message.json))
            except NotAnObject:
                return ObjectGone(key)  # the inventory lists it as a problem
        case pb.ObjectRemoved() if message.object.kind in KINDS:
            return ObjectGone(_key(message.object))
        case pb.SyncCompleted():
            return ListCompleted(message.source)
        case _:
            return None


def _key(ref: ObjectRef) -> ObjectKey:
    return ObjectKey(ref.kind, ref.namespace, ref.name)
