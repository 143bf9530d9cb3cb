"""Reading Kubernetes JSON: each wrong field is named by kind, object, path and reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from muster_dra import InvalidObject
from muster_types import InvalidQuantity, Nano, parse_quantity

Json = Mapping[str, object]

_NOTHING: Json = {}


@dataclass(frozen=True, slots=True)
class Reader:
    """One JSON object within a Kubernetes object. Every method raises InvalidObject; a null counts as absent."""

    body: Json
    kind: str
    namespace: str
    name: str
    path: str = ""

    def fault(self, field: str, reason: str) -> InvalidObject:
        return InvalidObject(self.kind, self.namespace, self.name, self._at(field), reason)

    def has(self, field: str) -> bool:
        return self.body.get(field) is not None

    def at(self, field: str) -> "Reader":
        """The object in a field; an absent one reads as empty."""
        found = self.body.get(field)
        if found is None:
            return Reader(_NOTHING, self.kind, self.namespace, self.name, self._at(field))
        return self._inside(found, field)

    def each(self, field: str) -> "tuple[Reader, ...]":
        """The objects of a list; an absent list is empty."""
        return tuple(self._inside(item, f"{field}[{index}]") for index, item in enumerate(self._list(field)))

    def strings(self, field: str) -> tuple[str, ...]:
        items = self._list(field)
        for index, item in enumerate(items):
            if not isinstance(item, str):
                raise self.fault(f"{field}[{index}]", f"want a string, got {item!r}")
        return cast("tuple[str, ...]", tuple(items))

    def text(self, field: str, default: str | None = None) -> str:
        """A string; without a default the field is required and may not be empty."""
        found = self.body.get(field)
        if found is None:
            if default is None:
                raise self.fault(field, "is required")
            return default
        if not isinstance(found, str):
            raise self.fault(field, f"want a string, got {found!r}")
        if default is None and not found:
            raise self.fault(field, "may not be empty")
        return found

    def flag(self, field: str) -> bool:
        found = self.body.get(field)
        if found is None:
            return False
        if not isinstance(found, bool):
            raise self.fault(field, f"want true or false, got {found!r}")
        return found

    def count(self, field: str, default: int | None = None, *, least: int = 0) -> int:
        found = self.body.get(field)
        if found is None:
            if default is None:
                raise self.fault(field, "is required")
            return default
        if isinstance(found, bool) or not isinstance(found, int):
            raise self.fault(field, f"want an integer, got {found!r}")
        if found < least:
            raise self.fault(field, f"want at least {least}, got {found}")
        return found

    def number(self, field: str, default: float) -> float:
        found = self.body.get(field)
        if found is None:
            return default
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise self.fault(field, f"want a number, got {found!r}")
        if not found >= 0 or found == float("inf"):
            raise self.fault(field, f"want a finite number of at least 0, got {found}")
        return found

    def texts(self, field: str) -> dict[str, str]:
        """A map of strings, such as labels."""
        found = self.at(field)
        for key, value in found.body.items():
            if not isinstance(value, str):
                raise found.fault(key, f"want a string, got {value!r}; quote it in YAML")
        return cast("dict[str, str]", dict(found.body))

    def quantities(self, field: str) -> dict[str, Nano]:
        found = self.at(field)
        return {key: found.quantity(key) for key in found.body}

    def quantity(self, field: str) -> Nano:
        found = self.body.get(field)
        if isinstance(found, bool) or not isinstance(found, str | int | float):
            raise self.fault(field, f"want a quantity, got {found!r}")
        try:
            return parse_quantity(str(found))
        except InvalidQuantity as error:
            raise self.fault(field, str(error)) from error

    def _at(self, field: str) -> str:
        return f"{self.path}.{field}" if self.path else field

    def _list(self, field: str) -> Sequence[object]:
        found = self.body.get(field)
        if found is None:
            return ()
        if not isinstance(found, list | tuple):
            raise self.fault(field, f"want a list, got {found!r}")
        return cast("Sequence[object]", found)

    def _inside(self, found: object, field: str) -> "Reader":
        if not isinstance(found, Mapping):
            raise self.fault(field, f"want an object, got {found!r}")
        return Reader(cast("Json", found), self.kind, self.namespace, self.name, self._at(field))


def open_object(body: Mapping[str, object], kind: str, *, namespaced: bool) -> Reader:
    """A reader at the top of an object whose metadata is sound. Raises InvalidObject."""
    meta = body.get("metadata")
    if not isinstance(meta, Mapping):
        raise InvalidObject(kind, "", "", "metadata", "is required")
    head = Reader(cast("Json", meta), kind, "", "", "metadata")
    name = head.text("name")
    namespace = head.text("namespace", "default") if namespaced else ""
    return Reader(body, kind, namespace or ("default" if namespaced else ""), name)
