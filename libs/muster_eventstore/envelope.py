"""Metadata of a message as NATS headers: CloudEvents 1.0, binary mode, plus causes and trace context."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import quote, unquote
from uuid import NAMESPACE_URL, uuid5

MSG_ID = "Nats-Msg-Id"
CONTENT_TYPE = "application/protobuf"
_NAMESPACE = uuid5(NAMESPACE_URL, "https://muster.dev/ids")
# CloudEvents HTTP binding 3.1.3.2, which the NATS binding follows: blank, quote, percent and non-ASCII are encoded.
_SAFE = "!#$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_PLAIN = re.compile(r"[!#$&-~]*")  # nothing to encode, as in almost every value; ten of them a message cost time
_REQUIRED = ("ce-id", "ce-type", "ce-source", "ce-time")


@dataclass(frozen=True, slots=True)
class EventMeta:
    """Who says what about what, when, and because of what.

    `id` is also the store's message id, so it must be derived from the cause; `type` is the full protobuf name of the
    payload; `source` is a URI reference such as `/muster/claim-matcher`; `subject` names the aggregate; `time` is
    aware; `correlation_id` is the first cause of the whole story, `causation_id` the nearest.
    """

    id: str
    type: str
    source: str
    subject: str
    time: datetime
    correlation_id: str
    causation_id: str
    traceparent: str = ""


@dataclass(frozen=True, slots=True)
class InvalidEnvelope:
    """Headers that do not describe a message of ours."""

    reason: str


@dataclass(frozen=True, slots=True)
class Cause:
    """What a message follows from: the id of a command or event, and the story it belongs to."""

    id: str
    correlation_id: str
    traceparent: str = ""

    @classmethod
    def of(cls, meta: EventMeta) -> "Cause":
        """The message with `meta` as a cause of further ones."""
        return cls(meta.id, meta.correlation_id, meta.traceparent)

    @classmethod
    def first(cls, id: str, traceparent: str = "") -> "Cause":
        """A cause that follows from nothing: a caller's request."""
        return cls(id, id, traceparent)

    def step(self, *parts: str | int) -> "Cause":
        """One of several causes derived from this one."""
        return replace(self, id=derived_id(self.id, *parts))


def derived_id(cause_id: str, *parts: str | int) -> str:
    """The id of what follows from a cause: the same cause and parts give the same id, others never do."""
    texts = [cause_id, *map(str, parts)]
    return str(uuid5(_NAMESPACE, "".join(f"{len(text)}:{text}" for text in texts)))


def caused(cause: Cause, id: str, *, type: str, source: str, subject: str, time: datetime) -> EventMeta:
    """Metadata of a message that follows from `cause`."""
    return EventMeta(id, type, source, subject, time, cause.correlation_id, cause.id, cause.traceparent)


def to_headers(meta: EventMeta) -> dict[str, str]:
    """The headers of a message; the message id of the store is the event's id."""
    if meta.time.tzinfo is None:
        raise ValueError("the time of an event has a time zone")
    headers = {
        MSG_ID: meta.id,
        "ce-specversion": "1.0",
        "ce-id": meta.id,
        "ce-type": meta.type,
        "ce-source": meta.source,
        "ce-subject": meta.subject,
        "ce-time": meta.time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "datacontenttype": CONTENT_TYPE,
        "muster-correlation-id": meta.correlation_id,
        "muster-causation-id": meta.causation_id,
        "traceparent": meta.traceparent,
    }
    return {
        name: value if _PLAIN.fullmatch(value) else quote(value, safe=_SAFE) for name, value in headers.items() if value
    }


def from_headers(headers: Mapping[str, str]) -> EventMeta | InvalidEnvelope:
    """The metadata of a received message; correlation and causation default to the message itself."""
    missing = [name for name in _REQUIRED if not headers.get(name)]
    if missing:
        return InvalidEnvelope(f"header {missing[0]} is missing")
    try:
        value = {name: unquote(text, errors="strict") for name, text in headers.items()}
        time = datetime.fromisoformat(value["ce-time"])
    except ValueError as error:
        return InvalidEnvelope(f"header ce-time or its encoding is wrong: {error}")
    if time.tzinfo is None:
        return InvalidEnvelope("header ce-time has no time zone")
    return EventMeta(
        id=value["ce-id"],
        type=value["ce-type"],
        source=value["ce-source"],
        subject=value.get("ce-subject", ""),
        time=time.astimezone(UTC),
        correlation_id=value.get("muster-correlation-id") or value["ce-id"],
        causation_id=value.get("muster-causation-id") or value["ce-id"],
        traceparent=value.get("traceparent", ""),
    )
