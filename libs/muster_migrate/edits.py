"""Changes of an object as values, so that a YAML text and a JSON object can be changed by the same plan.

Every path refers to the object as it was before any change.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

Json = Mapping[str, object]
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Put:
    """A field gets a value: in its place when it is there, else last in its map; one past a list's end appends."""

    path: Path
    value: object


@dataclass(frozen=True, slots=True)
class Cut:
    """A field or an item of a list goes."""

    path: Path


Edit = Put | Cut


def shown(path: Path) -> str:
    """A path as people write it: `spec.containers[0].resources`; a key with a dot stands in brackets."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif "." in step or "/" in step:
            text += f"[{step!r}]"
        else:
            text += f".{step}" if text else step
    return text


def at(obj: object, path: Path) -> object:
    """What stands at a path, None where nothing does."""
    for step in path:
        if isinstance(obj, Mapping) and isinstance(step, str):
            obj = cast("Json", obj).get(step)
        elif isinstance(obj, Sequence) and not isinstance(obj, str) and isinstance(step, int):
            items = cast("Sequence[object]", obj)
            obj = items[step] if 0 <= step < len(items) else None
        else:
            return None
    return obj


def mapping_at(obj: object, path: Path) -> Json:
    """The map at a path, an empty one where there is none."""
    found = at(obj, path)
    return cast("Json", found) if isinstance(found, Mapping) else {}


def items_at(obj: object, path: Path) -> Sequence[object]:
    """The list at a path, an empty one where there is none."""
    found = at(obj, path)
    return cast("Sequence[object]", found) if isinstance(found, Sequence) and not isinstance(found, str) else ()


def apply_edits(obj: Json, edits: Iterable[Edit]) -> dict[str, object]:
    """The object with all edits made; the one given stays as it is. Maps keep the order of their keys."""
    changed = cast("dict[str, object]", _copied(obj))
    planned = list(edits)
    for edit in planned:
        if isinstance(edit, Put):
            _put(changed, edit.path, _copied(edit.value))
    # Later items first: the index of an item holds as long as nothing before it has gone.
    for edit in sorted((each for each in planned if isinstance(each, Cut)), key=_order, reverse=True):
        parent, last = at(changed, edit.path[:-1]), edit.path[-1]
        if isinstance(parent, dict) and isinstance(last, str):
            cast("dict[str, object]", parent).pop(last, None)
        elif isinstance(parent, list) and isinstance(last, int):
            del cast("list[object]", parent)[last]
    return changed


def _order(edit: Cut) -> tuple[tuple[int, str], ...]:
    return tuple((step, "") if isinstance(step, int) else (-1, step) for step in edit.path)


def _put(obj: object, path: Path, value: object) -> None:
    parent, last = at(obj, path[:-1]), path[-1]
    if isinstance(parent, dict) and isinstance(last, str):
        cast("dict[str, object]", parent)[last] = value
    elif isinstance(parent, list) and isinstance(last, int):
        items = cast("list[object]", parent)
        items[last : last + 1] = [value]
    else:
        raise ValueError(f"{shown(path)}: there is nothing to put it into")


def _copied(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _copied(each) for key, each in cast("Json", value).items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_copied(each) for each in cast("Sequence[object]", value)]
    return value
