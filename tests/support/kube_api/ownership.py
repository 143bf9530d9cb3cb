"""Who owns which field: `metadata.managedFields` and server-side apply (KEP-555).

A field is a path of elements as FieldsV1 writes them: `f:<name>`, `k:<keys as JSON>`, `v:<value as JSON>`.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import cast

import orjson

from support.kube_api.answers import Json, StatusError, items, part, text

Path = tuple[str, ...]
ListMaps = Mapping[str, tuple[str, ...]]

_SETS = ("metadata.finalizers",)
_UNOWNED = frozenset(
    ("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")
    + ("deletionTimestamp", "deletionGracePeriodSeconds")
)
_OWNERS: ListMaps = {"metadata.ownerReferences": ("uid",)}


@dataclass(slots=True)
class Managed:
    """The fields of one manager."""

    manager: str
    operation: str
    subresource: str
    api_version: str
    time: str
    fields: set[Path] = field(default_factory=set)

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it one entry."""
        return (self.manager, self.operation, self.subresource)


def flatten(obj: Mapping[str, object], maps: ListMaps) -> dict[Path, object]:
    """Every field of an object with its value; maps and merged lists are their parts."""
    found: dict[Path, object] = {}
    for name, value in obj.items():
        if name == "metadata":
            kept = {n: v for n, v in cast("Json", value).items() if n not in _UNOWNED}
            _flatten(kept, ("f:metadata",), "metadata", {**maps, **_OWNERS}, found)
        elif name not in ("apiVersion", "kind"):
            _flatten(value, (f"f:{name}",), name, maps, found)
    return found


def _flatten(value: object, path: Path, dotted: str, maps: ListMaps, found: dict[Path, object]) -> None:
    if isinstance(value, dict) and value:
        for name, below in cast("Json", value).items():
            _flatten(below, (*path, f"f:{name}"), f"{dotted}.{name}", maps, found)
    elif isinstance(value, list) and dotted in maps:
        for item in cast("list[object]", value):
            element = f"k:{_keys(item, maps[dotted])}"
            found[*path, element] = None
            _flatten(item, (*path, element), f"{dotted}[]", maps, found)
    elif isinstance(value, list) and dotted in _SETS:
        for item in cast("list[object]", value):
            found[*path, f"v:{orjson.dumps(item).decode()}"] = item
    elif not (isinstance(value, dict) and len(path) == 1):
        found[path] = value


def _keys(item: object, names: tuple[str, ...]) -> str:
    given = cast("Json", item) if isinstance(item, dict) else {}
    return orjson.dumps({name: given.get(name) for name in names}).decode()


def read_managed(obj: Json) -> list[Managed]:
    """The entries of an object."""
    found: list[Managed] = []
    for each in items(part(obj, "metadata").get("managedFields")):
        entry = cast("Json", each)
        fields: set[Path] = set()
        _decode(part(entry, "fieldsV1"), (), fields)
        found.append(
            Managed(
                text(entry.get("manager")),
                text(entry.get("operation")),
                text(entry.get("subresource")),
                text(entry.get("apiVersion")),
                text(entry.get("time")),
                fields,
            )
        )
    return found


def write_managed(managed: list[Managed]) -> list[Json]:
    """As they stand in the metadata; entries that own nothing are left out."""
    written: list[Json] = []
    for each in managed:
        if not each.fields:
            continue
        entry: Json = {
            "manager": each.manager,
            "operation": each.operation,
            "apiVersion": each.api_version,
            "time": each.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": _encode(each.fields),
        }
        if each.subresource:
            entry["subresource"] = each.subresource
        written.append(entry)
    return written


def _encode(fields: set[Path]) -> Json:
    tree: Json = {}
    for path in sorted(fields):
        at = tree
        for element in path:
            at = cast("Json", at.setdefault(element, {}))
        if path[-1].startswith("k:"):
            at["."] = {}
    return tree


def _decode(tree: Json, path: Path, fields: set[Path]) -> None:
    if path and (not tree or "." in tree):
        fields.add(path)
    for element, below in tree.items():
        if element != ".":
            _decode(cast("Json", below), (*path, element), fields)


def note_update(before: Json | None, after: Json, by: Managed, maps: ListMaps) -> list[Managed]:
    """The entries after a write that is no apply: what it changed is its manager's."""
    old, new = flatten(before or {}, maps), flatten(after, maps)
    changed = {path for path, value in new.items() if path not in old or old[path] != value}
    managed = read_managed(before or {})
    for each in managed:
        each.fields = {path for path in each.fields if path in new and path not in changed}
    own = next((each for each in managed if each.key == by.key), None)
    if own is None and changed:
        managed.append(by)
        own = by
    if own is not None and changed:
        own.fields |= changed
        own.time = by.time
    return managed


def apply(live: Json, stated: Json, by: Managed, maps: ListMaps, *, force: bool) -> tuple[Json, list[Managed]]:
    """The object and its entries after a server-side apply. Raises StatusError 409 for the fields of others."""
    wanted, present, managed = flatten(stated, maps), flatten(live, maps), read_managed(live)
    others = [each for each in managed if each.key != by.key]
    disputed = {
        path: each
        for each in others
        for path in each.fields & wanted.keys()
        if path in present and present[path] != wanted[path]
    }
    if disputed and not force:
        told = sorted(f'conflict with "{each.manager}": {_dotted(path)}' for path, each in disputed.items())
        message = f"Apply failed with {len(told)} conflict{'s' if len(told) > 1 else ''}: {'; '.join(told)}"
        raise StatusError(409, "Conflict", message, causes=("FieldManagerConflict",) * len(told))
    for each in others:
        each.fields -= disputed.keys()
    earlier = next((each.fields for each in managed if each.key == by.key), set[Path]())
    shared = {path for each in others for path in each.fields}
    merged = _merge(live, stated, "", {**maps, **_OWNERS})
    for path in sorted(earlier - wanted.keys() - shared, key=len):  # an item of a list before what is in it
        _drop(merged, path)
    by.fields = set(wanted)
    return merged, [*others, by]


def _merge(live: Json, stated: Json, dotted: str, maps: ListMaps) -> Json:
    merged = dict(live)
    for name, value in stated.items():
        if not dotted and name in ("apiVersion", "kind"):
            continue
        path = f"{dotted}.{name}" if dotted else name
        held = merged.get(name)
        if isinstance(value, dict):
            merged[name] = _merge(cast("Json", held) if isinstance(held, dict) else {}, cast("Json", value), path, maps)
        elif isinstance(value, list) and path in maps:
            merged[name] = _merge_items(items(held), cast("list[object]", value), path, maps)
        elif isinstance(value, list) and path in _SETS:
            merged[name] = [*items(held), *(v for v in cast("list[object]", value) if v not in items(held))]
        else:
            merged[name] = deepcopy(value)
    return merged


def _merge_items(held: list[object], stated: list[object], path: str, maps: ListMaps) -> list[object]:
    merged = list(held)
    places = {_keys(item, maps[path]): index for index, item in enumerate(held)}
    for item in stated:
        key = _keys(item, maps[path])
        if key in places:
            merged[places[key]] = _merge(cast("Json", merged[places[key]]), cast("Json", item), f"{path}[]", maps)
        else:
            merged.append(deepcopy(item))
    return merged


def _drop(obj: object, path: Path) -> None:
    """Take one field out; it is gone already when an item that held it went first."""
    chain: list[tuple[object, str | int]] = []
    for element in path:
        step = _step(obj, element)
        if step is None:
            return
        chain.append((obj, step))
        obj = (
            cast("dict[str | int, object]", obj)[step]
            if isinstance(obj, dict)
            else cast("list[object]", obj)[int(step)]
        )
    holder, step = chain[-1]
    if isinstance(holder, dict):
        del cast("dict[str | int, object]", holder)[step]
    else:
        del cast("list[object]", holder)[int(step)]


def _step(obj: object, element: str) -> str | int | None:
    kind, name = element[:2], element[2:]
    if kind == "f:":
        return name if isinstance(obj, dict) and name in obj else None
    wanted: object = orjson.loads(name)
    matches = _has_keys(wanted) if kind == "k:" else lambda item: item == wanted
    return next((index for index, item in enumerate(items(obj)) if matches(item)), None)


def _has_keys(keys: object) -> Callable[[object], bool]:
    wanted = cast("Json", keys)
    return lambda item: isinstance(item, dict) and all(cast("Json", item).get(n) == v for n, v in wanted.items())


def _dotted(path: Path) -> str:
    return "".join(f".{element[2:]}" if element.startswith("f:") else f"[{element[2:]}]" for element in path)
