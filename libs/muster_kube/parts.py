"""Typed views of parsed JSON. A part that is absent or of another type reads as empty: `fields.py` reports types."""

from collections.abc import Mapping, Sequence
from typing import cast

from muster_types import InvalidQuantity, Nano, parse_quantity

_NO_MAP: Mapping[str, object] = {}
_NO_LIST: Sequence[object] = ()


def mapping(value: object) -> Mapping[str, object]:
    """An object's fields."""
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else _NO_MAP


def sequence(value: object) -> Sequence[object]:
    """A list's items."""
    return cast("Sequence[object]", value) if isinstance(value, list) else _NO_LIST


def text(value: object) -> str:
    """A string."""
    return value if isinstance(value, str) else ""


def whole(value: object, default: int = 0) -> int:
    """An integer; booleans are none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def amount(value: object) -> Nano | None:
    """A quantity in nano-units, None when it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return parse_quantity(value if isinstance(value, str) else str(value))
    except InvalidQuantity:
        return None


def at(value: object, *path: str) -> object:
    """The part under a path of field names, None when a step is missing."""
    for name in path:
        value = mapping(value).get(name)
    return value
