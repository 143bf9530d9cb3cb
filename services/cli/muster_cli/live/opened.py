"""Events as JSON-able data in which embedded Kubernetes JSON is opened, not base64."""

from base64 import b64encode
from collections.abc import Iterator, MutableMapping
from typing import cast

import orjson
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

Document = MutableMapping[str, object]


def to_opened(event: Message) -> Document:
    """The event with the field names of the schema; bytes of JSON, at any depth, as what they hold."""
    body = cast("Document", MessageToDict(event, preserving_proto_field_name=True))
    _open(event, body)
    return body


def texts_of(message: Message) -> Iterator[str]:
    """Every text in a message, at any depth, names of fields left out."""
    for field, value in message.ListFields():
        if _is_map(field):
            yield from (text for pair in value.items() for text in pair if isinstance(text, str))
            continue
        for each in value if field.is_repeated else (value,):
            if isinstance(each, Message):
                yield from texts_of(each)
            elif isinstance(each, str):
                yield each


def _is_map(field: FieldDescriptor) -> bool:
    inner = field.message_type
    return inner is not None and inner.GetOptions().map_entry


def _open(message: Message, body: Document) -> None:
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_BYTES and field.name.endswith("json"):
            read = [_json(each) for each in (value if field.is_repeated else (value,))]
            body[field.name] = read if field.is_repeated else read[0]
        elif field.type == FieldDescriptor.TYPE_MESSAGE and not _is_map(field):
            inner = body.get(field.name)
            bodies = inner if isinstance(inner, list) else [inner]
            for one, part in zip(value if field.is_repeated else (value,), bodies, strict=False):
                if isinstance(part, dict):
                    _open(one, cast("Document", part))


def _json(data: bytes) -> object:
    """What is no JSON is told as base64."""
    try:
        return cast("object", orjson.loads(data))
    except orjson.JSONDecodeError:
        return b64encode(data).decode()
