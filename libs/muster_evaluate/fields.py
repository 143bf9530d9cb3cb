"""Fields of JSON that nobody has judged: what is absent or of another type reads as empty."""

from collections.abc import Mapping, Sequence
from typing import cast

Json = Mapping[str, object]
_EMPTY: Json = {}


def part(obj: Json, *path: str) -> Json:
    """The map at a path."""
    found: object = obj
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return cast("Json", found) if isinstance(found, Mapping) else _EMPTY


def parts(obj: Json, *path: str) -> tuple[Json, ...]:
    """The maps of the list at a path."""
    found = part(obj, *path[:-1]).get(path[-1])
    items = cast("Sequence[object]", found) if isinstance(found, list | tuple) else ()
    return tuple(cast("Json", each) for each in items if isinstance(each, Mapping))


def text(value: object) -> str:
    """A string; "" for anything else."""
    return value if isinstance(value, str) else ""


def texts(value: object) -> tuple[str, ...]:
    """The strings of a list."""
    items = cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
    return tuple(each for each in items if isinstance(each, str))
