"""How messages appear in an AsyncAPI 3.0 document: protobuf schema, CloudEvents headers, and how they travel."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from types import ModuleType
from typing import cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from muster.type.v1.event_batch_pb2 import EventBatch
from muster_eventstore import EventMeta, to_headers
from muster_eventstore.envelope import CONTENT_TYPE

Json = dict[str, object]
_PROTO3 = "application/vnd.google.protobuf;version=3"
_HEADERS = "CloudEventHeaders"
_REQUIRED = ("Nats-Msg-Id", "ce-id", "ce-type", "ce-source", "ce-time")
_ANY = EventMeta("id", "type", "source", "subject", datetime(2000, 1, 1, tzinfo=UTC), "first", "nearest", "trace")
_SCALARS = {
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_FLOAT: "float",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_UINT64: "uint64",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BYTES: "bytes",
}


class Carrier(Enum):
    """How messages travel: alone, or as the events of one decision together in a muster.type.v1.EventBatch."""

    ALONE = "The message is the payload, and `ce-type` its full protobuf name."
    BATCH = (
        f"The payload is a {EventBatch.DESCRIPTOR.full_name}, which `ce-type` says: all events of one decision, each "
        "with its full protobuf name."
    )


@dataclass(frozen=True, slots=True)
class Channel:
    """Messages on subjects: `id` names it in the document, `address` is a subject filter of `subjects`."""

    id: str
    address: str
    messages: tuple[type[Message], ...]
    description: str
    carrier: Carrier = Carrier.ALONE


def with_messages(document: Mapping[str, object], channels: Iterable[Channel]) -> Json:
    """The document with the message types of `channels` in place of what FastStream can say about them: bytes."""
    found = dict(document)
    described = {channel.id: channel for channel in channels}
    found["defaultContentType"] = CONTENT_TYPE
    found["channels"] = {
        id: {**body, "messages": _refs(described[id])} if id in described else body
        for id, body in _objects(document.get("channels")).items()
    }
    found["operations"] = {
        id: {**body, "messages": _chosen(described[id])} if id in described else body
        for id, body in _objects(document.get("operations")).items()
    }
    found["components"] = _components(_objects(document.get("components")), list(described.values()))
    return found


def messages_of(module: ModuleType) -> tuple[type[Message], ...]:
    """The commands or events of a generated module, by name: its messages but for those that others are made of."""
    found = [
        member
        for _, member in sorted(vars(module).items())
        if isinstance(member, type) and issubclass(member, Message) and member.DESCRIPTOR.containing_type is None
    ]
    parts = {
        field.message_type.full_name
        for message in found
        for field in message.DESCRIPTOR.fields
        if field.message_type is not None
    }
    return tuple(message for message in found if message.DESCRIPTOR.full_name not in parts)


def proto_text(message: type[Message]) -> str:
    """The text of a proto3 file with a message and what it needs of its own file; other files are imported."""
    descriptor = cast("Descriptor", message.DESCRIPTOR)
    imports = [f'import "{file.name}";' for file in descriptor.file.dependencies]
    needed = [descriptor, *_needed(descriptor, {descriptor.full_name})]
    parts = ['syntax = "proto3";', f"package {descriptor.file.package};", "\n".join(imports), *map(_definition, needed)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _needed(message: Descriptor, seen: set[str]) -> Iterator[Descriptor | EnumDescriptor]:
    """Messages and enums of the same file that a message is made of."""
    for field in message.fields:
        type_ = field.message_type if field.enum_type is None else field.enum_type
        if type_ is None or type_.full_name in seen:
            continue
        seen.add(type_.full_name)
        entry = isinstance(type_, Descriptor) and type_.GetOptions().map_entry
        if type_.file.name == message.file.name and not entry:
            yield type_
        if isinstance(type_, Descriptor) and (entry or type_.file.name == message.file.name):
            yield from _needed(type_, seen)


def _components(drawn: Mapping[str, Json], channels: Sequence[Channel]) -> Json:
    """Messages and schemas of what is described; of FastStream's own only those of other channels."""
    mine = tuple(f"{channel.id}:" for channel in channels)
    kept = {
        kind: {name: body for name, body in drawn.get(kind, {}).items() if not name.startswith(mine)}
        for kind in ("messages", "schemas")
    }
    types = {each.DESCRIPTOR.full_name: each for channel in channels for each in channel.messages}
    carriers = {each.DESCRIPTOR.full_name: channel.carrier for channel in channels for each in channel.messages}
    messages = {name: _message(types[name], carriers[name]) for name in sorted(types)}
    batch = {EventBatch.DESCRIPTOR.full_name: _schema(EventBatch)} if Carrier.BATCH in carriers.values() else {}
    return {
        **drawn,
        "messages": {**kept["messages"], **messages},
        "schemas": {**kept["schemas"], **({_HEADERS: _headers()} if types else {}), **batch},
    }


def _message(message: type[Message], carrier: Carrier) -> Json:
    descriptor = message.DESCRIPTOR
    return {
        "name": descriptor.full_name,
        "title": descriptor.name,
        "description": carrier.value,
        "contentType": CONTENT_TYPE,
        "headers": {"$ref": f"#/components/schemas/{_HEADERS}"},
        "correlationId": {"location": "$message.header#/muster-correlation-id"},
        "payload": _schema(message),
    }


def _schema(message: type[Message]) -> Json:
    return {"schemaFormat": _PROTO3, "schema": proto_text(message)}


def _headers() -> Json:
    return {
        "type": "object",
        "description": "CloudEvents 1.0 in binary mode, the causes of the message, and its trace.",
        "properties": {name: {"type": "string"} for name in to_headers(_ANY)},
        "required": list(_REQUIRED),
    }


def _refs(channel: Channel) -> Json:
    return {
        each.DESCRIPTOR.name: {"$ref": f"#/components/messages/{each.DESCRIPTOR.full_name}"}
        for each in channel.messages
    }


def _chosen(channel: Channel) -> list[Json]:
    return [{"$ref": f"#/channels/{channel.id}/messages/{each.DESCRIPTOR.name}"} for each in channel.messages]


def _definition(type_: Descriptor | EnumDescriptor) -> str:
    if isinstance(type_, EnumDescriptor):
        values = [f"  {value.name} = {value.number};" for value in type_.values]
        return "\n".join([f"enum {type_.name} {{", *values, "}"])
    lines = [f"message {type_.name} {{"]
    chosen = {field.name for oneof in type_.oneofs for field in oneof.fields}
    lines += [f"  {_field(field)}" for field in type_.fields if field.name not in chosen]
    for oneof in type_.oneofs:
        lines.append(f"  oneof {oneof.name} {{")
        lines += [f"    {_field(field)}" for field in oneof.fields]
        lines.append("  }")
    return "\n".join([*lines, "}"])


def _field(field: FieldDescriptor) -> str:
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        key, value = (_type(entry.fields_by_name[name]) for name in ("key", "value"))
        return f"map<{key}, {value}> {field.name} = {field.number};"
    label = "repeated " if field.is_repeated else ""
    return f"{label}{_type(field)} {field.name} = {field.number};"


def _type(field: FieldDescriptor) -> str:
    if field.message_type is not None:
        return field.message_type.full_name
    if field.enum_type is not None:
        return field.enum_type.full_name
    return _SCALARS[field.type]


def _objects(value: object) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", value or {})
