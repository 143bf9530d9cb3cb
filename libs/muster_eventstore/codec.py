"""Type name <-> protobuf class. An unknown type is an error value, never a skip."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from muster.type.v1.event_batch_pb2 import EventBatch, RecordedEvent
from muster_eventstore.envelope import EventMeta, InvalidEnvelope, from_headers

M = TypeVar("M", bound=Message)
BATCH = EventBatch.DESCRIPTOR.full_name


@dataclass(frozen=True, slots=True)
class UnknownType:
    """This code does not know the type: it is older than the writer, or the type is misspelt."""

    type: str

    def __str__(self) -> str:
        return f"type {self.type!r} is not known here; a newer version wrote it"


@dataclass(frozen=True, slots=True)
class BadPayload:
    """The bytes are not a message of the type they claim."""

    type: str
    reason: str

    def __str__(self) -> str:
        return f"payload is no {self.type}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Garbage:
    """The headers are not those of a message of ours."""

    reason: str

    def __str__(self) -> str:
        return f"not a message of this system: {self.reason}"


Undecodable = UnknownType | BadPayload | Garbage


@dataclass(frozen=True, slots=True)
class Batch:
    """All events of one decision. `version` counts the aggregate's events after it; `token` is the writer's lease
    generation, 0 without; `command_id` is what was decided."""

    events: tuple[Message, ...]
    version: int = 0
    token: int = 0
    command_id: str = ""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A received message: its metadata and its events; a message that is no batch is a batch of one, version 0."""

    meta: EventMeta
    batch: Batch


class Codec:
    """The message types that one service knows, by full protobuf name."""

    def __init__(self, classes: Iterable[type[Message]] = ()) -> None:
        self._classes: dict[str, type[Message]] = {cls.DESCRIPTOR.full_name: cls for cls in classes}

    @classmethod
    def of_modules(cls, *modules: ModuleType) -> "Codec":
        """All top-level messages of generated `*_pb2` modules."""
        return cls(
            member
            for module in modules
            for _, member in sorted(vars(module).items())
            if isinstance(member, type) and issubclass(member, Message) and member.DESCRIPTOR.containing_type is None
        )

    @property
    def types(self) -> frozenset[str]:
        """The full names this codec knows."""
        return frozenset(self._classes)

    def encode(self, batch: Batch) -> bytes:
        """A batch as the bytes of `muster.type.v1.EventBatch`; a message of an unregistered type raises KeyError."""
        for message in batch.events:
            self._classes[message.DESCRIPTOR.full_name]
        return EventBatch(
            events=[
                RecordedEvent(type=event.DESCRIPTOR.full_name, payload=event.SerializeToString(deterministic=True))
                for event in batch.events
            ],
            aggregate_version=batch.version,
            fencing_token=batch.token,
            command_id=batch.command_id,
        ).SerializeToString(deterministic=True)

    def decode_one(self, type_name: str, data: bytes) -> Message | UnknownType | BadPayload:
        """One message of a named type."""
        cls = self._classes.get(type_name)
        return UnknownType(type_name) if cls is None else _parse(cls, type_name, data)

    def decode_batch(self, data: bytes) -> Batch | UnknownType | BadPayload:
        """A batch; one unknown or broken event makes the whole batch an error, for a decision is one fact."""
        outer = _parse(EventBatch, BATCH, data)
        if isinstance(outer, BadPayload):
            return outer
        events: list[Message] = []
        for event in outer.events:
            message = self.decode_one(event.type, event.payload)
            if isinstance(message, UnknownType | BadPayload):
                return message
            events.append(message)
        return Batch(tuple(events), outer.aggregate_version, outer.fencing_token, outer.command_id)

    def decode(self, headers: Mapping[str, str], data: bytes) -> Decoded | Undecodable:
        """A received message of any kind, by its `ce-type`: a batch of events, or a single fact or command."""
        meta = from_headers(headers)
        if isinstance(meta, InvalidEnvelope):
            return Garbage(meta.reason)
        if meta.type == BATCH:
            batch = self.decode_batch(data)
            return Decoded(meta, batch) if isinstance(batch, Batch) else batch
        message = self.decode_one(meta.type, data)
        return Decoded(meta, Batch((message,))) if isinstance(message, Message) else message


def _parse(cls: type[M], name: str, data: bytes) -> M | BadPayload:
    try:
        return cls.FromString(data)
    except DecodeError as error:
        return BadPayload(name, str(error))
