"""Typed access to plain JSON objects, so that a wrong field is refused by name and path instead of failing later."""

from collections.abc import Mapping
from typing import TypeVar, cast

from muster_dra.amounts import Amount
from muster_types import InvalidQuantity

T = TypeVar("T")


class InvalidObject(ValueError):
    """An object that cannot be what its kind says. Every part of the message is also an attribute."""

    def __init__(self, kind: str, namespace: str, name: str, field: str, reason: str) -> None:
        self.kind, self.namespace, self.name, self.field, self.reason = kind, namespace, name, field, reason
        subject = "/".join(part for part in (kind, namespace, name or "(no name)") if part)
        super().__init__(f"{subject}: {field}: {reason}")


class Fields:
    """One JSON object with its place in the document. An explicit null counts as an absent field, as in Kubernetes."""

    __slots__ = ("_json", "_kind", "_path", "name", "namespace")

    def __init__(self, json: Mapping[str, object], kind: str, namespace: str, name: str, path: str = "") -> None:
        self._json, self._kind, self.namespace, self.name, self._path = json, kind, namespace, name, path

    @classmethod
    def of_object(cls, json: object, kind: str, versions: tuple[str, ...]) -> "Fields":
        """The top of a Kubernetes object. Raises InvalidObject: another kind, an unserved version, no name."""
        if not isinstance(json, Mapping):
            raise InvalidObject(kind, "", "", "(document)", f"want a mapping, got {_type_name(json)}")
        top = cls(cast("Mapping[str, object]", json), kind, "", "")
        metadata = top.child("metadata")
        top.namespace = metadata.text("namespace")
        top.name = metadata.text("name")
        if not top.name:
            raise top.wrong("metadata.name", "required")
        if (found := top.text("kind", kind)) != kind:
            raise top.wrong("kind", f"want {kind}, got {found!r}")
        version = top.text("apiVersion", versions[0])
        if version not in versions:
            raise top.wrong("apiVersion", f"{version!r} is not one of {', '.join(versions)}")
        return top

    def wrong(self, field: str, reason: str) -> InvalidObject:
        """The error for a field of this object; the caller raises it."""
        return InvalidObject(
            self._kind, self.namespace, self.name, f"{self._path}.{field}" if self._path else field, reason
        )

    @property
    def json(self) -> Mapping[str, object]:
        return self._json

    def has(self, field: str) -> bool:
        return self._json.get(field) is not None

    def text(self, field: str, default: str = "") -> str:
        value = self._json.get(field)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.wrong(field, f"want a string, got {_type_name(value)}")
        return value

    def required_text(self, field: str) -> str:
        value = self.text(field)
        if not value:
            raise self.wrong(field, "required")
        return value

    def integer(self, field: str) -> int | None:
        value = self._json.get(field)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(field, f"want an integer, got {_type_name(value)}")
        if not -(2**63) <= value < 2**63:
            raise self.wrong(field, f"{value} does not fit 64 bits")
        return value

    def boolean(self, field: str) -> bool | None:
        value = self._json.get(field)
        if value is None or isinstance(value, bool):
            return value
        raise self.wrong(field, f"want true or false, got {_type_name(value)}")

    def child(self, field: str) -> "Fields":
        """The object in a field; an empty one when it is absent."""
        value = self._json.get(field)
        if value is None:
            value = {}
        if not isinstance(value, Mapping):
            raise self.wrong(field, f"want a mapping, got {_type_name(value)}")
        return self._at(cast("Mapping[str, object]", value), field)

    def children(self, field: str) -> "list[Fields]":
        """The objects of a list field; a null item counts as an empty object."""
        found: list[Fields] = []
        for index, item in enumerate(self._list(field)):
            if item is not None and not isinstance(item, Mapping):
                raise self.wrong(f"{field}[{index}]", f"want a mapping, got {_type_name(item)}")
            found.append(self._at(cast("Mapping[str, object]", item or {}), f"{field}[{index}]"))
        return found

    def named_children(self, field: str) -> "list[tuple[str, Fields]]":
        """The objects of a map field, in its own order."""
        holder = self.child(field)
        return [(key, holder.child(key)) for key in holder._json]

    def texts(self, field: str) -> tuple[str, ...]:
        return tuple(self._each(field, str, "a string"))

    def optional_texts(self, field: str) -> tuple[str, ...] | None:
        """As `texts`, but None when the list is absent: an empty list may mean something else."""
        return self.texts(field) if self.has(field) else None

    def integers(self, field: str) -> tuple[int, ...]:
        return tuple(self._each(field, int, "an integer"))

    def booleans(self, field: str) -> tuple[bool, ...]:
        return tuple(self._each(field, bool, "true or false"))

    def labels(self, field: str) -> dict[str, str]:
        holder = self.child(field)
        return {key: holder.text(key) for key in holder._json}

    def amount(self, field: str) -> Amount | None:
        """A Kubernetes quantity, a string or a number."""
        value = self._json.get(field)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.wrong(field, f"want a quantity, got {_type_name(value)}")
        try:
            return Amount.parse(value if isinstance(value, str) else str(value))
        except InvalidQuantity as error:
            raise self.wrong(field, str(error)) from None

    def required_amount(self, field: str) -> Amount:
        value = self.amount(field)
        if value is None:
            raise self.wrong(field, "required")
        return value

    def amounts(self, field: str) -> tuple[Amount, ...]:
        items = self._list(field)
        holder = self._at({str(index): item for index, item in enumerate(items)}, field)
        return tuple(holder.required_amount(str(index)) for index in range(len(items)))

    def named_amounts(self, field: str) -> dict[str, Amount]:
        return self.child(field).amounts_by_name()

    def amounts_by_name(self) -> dict[str, Amount]:
        """Every field of this object as a quantity."""
        return {key: self.required_amount(key) for key in self._json}

    def _at(self, json: Mapping[str, object], field: str) -> "Fields":
        return Fields(json, self._kind, self.namespace, self.name, f"{self._path}.{field}" if self._path else field)

    def _list(self, field: str) -> list[object]:
        value = self._json.get(field)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.wrong(field, f"want a list, got {_type_name(value)}")
        return cast("list[object]", value)

    def _each(self, field: str, kind: type[T], name: str) -> list[T]:
        items = self._list(field)
        for index, item in enumerate(items):
            if not isinstance(item, kind) or (kind is int and isinstance(item, bool)):
                raise self.wrong(f"{field}[{index}]", f"want {name}, got {_type_name(item)}")
        return cast("list[T]", items)


def _type_name(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return f"the number {value}"
        case list():
            return "a list"
        case Mapping():
            return "a mapping"
        case _:
            return type(value).__name__
