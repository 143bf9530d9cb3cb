"""Observations <-> muster.events.observed.v1."""

from datetime import datetime
from functools import lru_cache
from hashlib import sha256

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from muster.events.observed.v1 import observed_pb2
from muster.type.v1.object_pb2 import ObjectRef
from muster_cluster_watcher.domain.facts import Digest, Fact, Issue, IssueId, Origin, Severity
from muster_cluster_watcher.domain.observations import (
    InputMended,
    InputRejected,
    ObjectObserved,
    ObjectRemoved,
    Observation,
    SyncCompleted,
)
from muster_eventstore import EventSubject
from muster_types import ClusterId, ObjectKey

CONTEXT = "observed"
PROBLEM, SYNC = "problem", "sync"
_TO_SEVERITY = {Severity.ERROR: observed_pb2.SEVERITY_ERROR, Severity.WARNING: observed_pb2.SEVERITY_WARNING}


def digest_of(json: bytes) -> Digest:
    """The digest of an object's trimmed JSON."""
    return Digest(sha256(json).digest())


def subject_of(cluster: ClusterId, observation: Observation) -> EventSubject:
    """`<kind>.<namespace>.<name>`, `problem.<origin>.<id>` or `sync.<origin>` (docs/streams.md)."""
    match observation:
        case ObjectObserved(fact):
            return _object_subject(cluster, fact.key)
        case ObjectRemoved(key):
            return _object_subject(cluster, key)
        case InputRejected(origin, issue) | InputMended(origin, issue):
            return EventSubject(CONTEXT, cluster, PROBLEM, (origin, issue.id))
        case SyncCompleted(origin):
            return EventSubject(CONTEXT, cluster, SYNC, (origin,))


def to_wire(observation: Observation, time: datetime) -> Message:
    """The message of an observation made at `time`."""
    at = _stamp(time)
    match observation:
        case ObjectObserved(fact):
            return observed_pb2.ObjectObserved(
                object=_ref(fact.key),
                api_version=fact.api_version,
                uid=fact.uid,
                resource_version=fact.resource_version,
                json=fact.json,
                observe_time=at,
            )
        case ObjectRemoved(key, uid):
            return observed_pb2.ObjectRemoved(object=_ref(key), uid=uid, observe_time=at)
        case InputRejected(_, issue):
            return observed_pb2.InputRejected(
                source=issue.source,
                object=issue.object,
                field=issue.field,
                reason=issue.reason,
                observe_time=at,
                severity=_TO_SEVERITY[issue.severity],
            )
        case InputMended(_, issue):
            return observed_pb2.InputMended(source=issue.source, object=issue.object)
        case SyncCompleted(origin, objects, problems):
            return observed_pb2.SyncCompleted(
                source=origin, object_count=objects, problem_count=problems, observe_time=at
            )


def from_wire(message: Message, ids: tuple[str, ...]) -> Observation | None:
    """The observation of a stored message; `ids` are its subject's tokens after the kind. None for a foreign message.

    A mended input keeps no field and reason.
    """
    match message:
        case observed_pb2.ObjectObserved():
            json = bytes(message.json)
            fact = Fact(
                _key(message.object),
                message.api_version,
                message.uid,
                message.resource_version,
                json,
                digest_of(json),
            )
            return ObjectObserved(fact)
        case observed_pb2.ObjectRemoved():
            return ObjectRemoved(_key(message.object), message.uid)
        case observed_pb2.InputRejected() if len(ids) == 2:
            # Anything but a warning is an error, as all of it was before there were warnings.
            warning = message.severity == observed_pb2.SEVERITY_WARNING
            severity = Severity.WARNING if warning else Severity.ERROR
            issue = Issue(IssueId(ids[1]), message.source, message.object, message.field, message.reason, severity)
            return InputRejected(Origin(ids[0]), issue)
        case observed_pb2.InputMended() if len(ids) == 2:
            return InputMended(Origin(ids[0]), Issue(IssueId(ids[1]), message.source, message.object, "", ""))
        case observed_pb2.SyncCompleted() if len(ids) == 1:
            return SyncCompleted(Origin(ids[0]), message.object_count, message.problem_count)
        case _:
            return None


@lru_cache(16)
def _stamp(time: datetime) -> Timestamp:
    """Shared by the messages of a batch, which copy it."""
    at = Timestamp()
    at.FromDatetime(time)
    return at


def _object_subject(cluster: ClusterId, key: ObjectKey) -> EventSubject:
    return EventSubject(CONTEXT, cluster, key.kind, (key.namespace, key.name))


def _ref(key: ObjectKey) -> ObjectRef:
    return ObjectRef(kind=key.kind, namespace=key.namespace, name=key.name)


def _key(ref: ObjectRef) -> ObjectKey:
    return ObjectKey(ref.kind, ref.namespace, ref.name)
