"""One event in one line for a table."""

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from muster_cli.live.journal import Entry

_LONGEST = 160
_SCALARS_LEFT_OUT = frozenset({"json", "uid", "resource_version"})


def summary(entry: Entry) -> str:
    """The scalar fields of an event as name=value, nested messages by their number."""
    if entry.event is None:
        return entry.problem
    text = " ".join(_parts(entry.event))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _parts(event: Message) -> list[str]:
    parts: list[str] = []
    for field, value in event.ListFields():
        if field.name in _SCALARS_LEFT_OUT or field.name.endswith("_time"):
            continue
        if field.is_repeated:
            plain = field.type not in (FieldDescriptor.TYPE_MESSAGE, FieldDescriptor.TYPE_BYTES)
            parts.append(f"{field.name}={','.join(map(str, value))}" if plain else f"{field.name}×{len(value)}")
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            parts.append(_nested(field.name, value))
        elif field.enum_type is not None:
            parts.append(f"{field.name}={field.enum_type.values_by_number[value].name}")
        elif field.type != FieldDescriptor.TYPE_BYTES:
            parts.append(f"{field.name}={value}")
    return parts


def _nested(name: str, value: Message) -> str:
    inner = [part for part in _parts(value) if "×" not in part]
    return f"{name}({' '.join(inner)})" if inner else name
