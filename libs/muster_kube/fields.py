"""The field tree of each kind: whether an object's fields are known and of the right type.

`fields.json` is what the Kubernetes client knows (derived and compared by the tests); `own_fields.json` adds
ProvisioningRequest, NodeGroup, and fields that older or newer releases have.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from math import isfinite
from typing import Protocol, cast

import orjson

from muster_kube.readings import Problem, Severity
from muster_types import InvalidQuantity, parse_quantity

_ANY_OTHER = "*"
_MAX_DEPTH = 100
# What an older client wrote and the API server dropped is no news to anybody.
_NOT_STORED = frozenset(("selfLink", "clusterName"))


class Form(Protocol):
    """What a value may be. `exact` is the Python type that needs no further look."""

    exact: type | None

    def check(self, value: object, found: "FieldCheck") -> None:
        """Tell what is wrong; fields are relative to the value, "" for itself."""
        ...


@dataclass(slots=True)
class FieldCheck:
    """What is wrong with an object's fields. `typed`: every value has the type of its field, so that rules can read
    it; a quantity may still be misspelt."""

    problems: list[Problem] = field(default_factory=list[Problem])
    typed: bool = True

    def mistyped(self, wanted: str, value: object, remedy: str = "") -> None:
        """A value of another type."""
        self.problems.append(Problem("", f"want {wanted}, got {_describe(value)}{remedy}"))
        self.typed = False


def check_fields(obj: Mapping[str, object], api_version: str, kind: str) -> FieldCheck:
    """Unknown fields (warnings) and values of a wrong type (errors). A version without a field tree is taken as is."""
    found = FieldCheck()
    _roots().get(f"{api_version} {kind}", _ANY).check(obj, found)
    return found


def _describe(value: object) -> str:
    match value:
        case bool():
            return f"the truth value {str(value).lower()}"
        case int() | float():
            return f"the number {str(value)[:30]}"
        case str():
            return f"the text {value[:40]!r}"
        case list():
            return "a list"
        case dict():
            return "a map"
        case _:
            return "nothing"


class _Scalar:
    """Text, a number, a truth value, a time."""

    def __init__(self, exact: type, wanted: str, remedy: str = "") -> None:
        self.exact: type | None = exact
        self._wanted = wanted
        self._remedy = remedy

    def check(self, value: object, found: FieldCheck) -> None:
        if type(value) is not self.exact:
            remedy = self._remedy if isinstance(value, int | float | bool) else ""
            found.mistyped(self._wanted, value, remedy)


class _Integer:
    """A whole number that fits 64 bits; `1.0` is one, as in JSON."""

    exact: type | None = None

    def check(self, value: object, found: FieldCheck) -> None:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            found.mistyped("a whole number", value)
        elif not -(2**63) <= value < 2**63:
            found.mistyped("a whole number of 64 bits", value)


class _Number:
    exact: type | None = None

    def check(self, value: object, found: FieldCheck) -> None:
        if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
            found.mistyped("a number", value)


class _Quantity:
    """Text or number (dra-semantics §1.1)."""

    exact: type | None = None

    def check(self, value: object, found: FieldCheck) -> None:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            found.mistyped("a quantity such as 80Gi", value)
            return
        try:
            parse_quantity(value if isinstance(value, str) else repr(value))
        except InvalidQuantity as error:
            found.problems.append(Problem("", str(error)))


class _IntOrText:
    exact: type | None = str

    def check(self, value: object, found: FieldCheck) -> None:
        if isinstance(value, bool) or not isinstance(value, str | int):
            found.mistyped("a number or a text", value)


class _Any:
    """Free form; only its nesting is bounded, so that it can be written out again."""

    exact: type | None = str

    def check(self, value: object, found: FieldCheck) -> None:
        level: list[object] = [value]
        for _ in range(_MAX_DEPTH):
            level = [
                inner
                for each in level
                if isinstance(each, dict | list)
                for inner in (
                    cast("dict[str, object]", each).values() if isinstance(each, dict) else cast("list[object]", each)
                )
            ]
            if not level:
                return
        found.problems.append(Problem("", f"it is nested more than {_MAX_DEPTH} deep; no Kubernetes object is"))


class _ListOf:
    exact: type | None = None

    def __init__(self, item: Form) -> None:
        self._item = item

    def check(self, value: object, found: FieldCheck) -> None:
        if not isinstance(value, list):
            found.mistyped("a list", value)
            return
        exact, check = self._item.exact, self._item.check
        for index, each in enumerate(cast("list[object]", value)):
            if type(each) is exact:
                continue
            before = len(found.problems)
            check(each, found)
            if len(found.problems) > before:
                _within(found.problems, before, f"[{index}]")


class _MapOf:
    exact: type | None = None

    def __init__(self, item: Form) -> None:
        self._item = item

    def check(self, value: object, found: FieldCheck) -> None:
        if not isinstance(value, dict):
            found.mistyped("a map", value)
            return
        exact, check = self._item.exact, self._item.check
        for key, each in cast("dict[str, object]", value).items():
            if type(each) is exact:
                continue
            before = len(found.problems)
            check(each, found)
            if len(found.problems) > before:
                _within(found.problems, before, f"[{key}]")


class _Struct:
    """Named fields; null is the same as absent."""

    exact: type | None = None

    def __init__(self) -> None:
        self.fields: dict[str, Form] = {}
        self.other: Form | None = None

    def check(self, value: object, found: FieldCheck) -> None:
        if not isinstance(value, dict):
            found.mistyped("a map", value)
            return
        for key, each in cast("dict[str, object]", value).items():
            form = self.fields.get(key, self.other)
            if form is None:
                before = len(found.problems)
                _ANY.check(each, found)
                _within(found.problems, before, key)
                self._unknown(key, found.problems)
            elif each is not None and type(each) is not form.exact:
                before = len(found.problems)
                form.check(each, found)
                if len(found.problems) > before:
                    _within(found.problems, before, key)

    def _unknown(self, key: str, problems: list[Problem]) -> None:
        if key in _NOT_STORED:
            return
        close = get_close_matches(key[:64], self.fields, n=1)
        advice = f"did you mean {close[0]!r}?" if close else "it has no effect; remove it"
        problems.append(Problem(key[:64], f"unknown field; {advice}", Severity.WARNING))


def _within(problems: list[Problem], start: int, step: str) -> None:
    for index in range(start, len(problems)):
        inner = problems[index]
        link = "" if not inner.field or inner.field.startswith("[") else "."
        problems[index] = Problem(f"{step}{link}{inner.field}", inner.reason, inner.severity)


_QUOTE_IT = "; put it in quotes"
_ANY: Form = _Any()
_SCALARS: dict[str, Form] = {
    "text": _Scalar(str, "a text", _QUOTE_IT),
    "time": _Scalar(str, "a time such as '2026-11-30T12:00:00Z'", _QUOTE_IT),
    "bool": _Scalar(bool, "true or false"),
    "int": _Integer(),
    "number": _Number(),
    "quantity": _Quantity(),
    "int-or-text": _IntOrText(),
    "any": _ANY,
}


@cache
def _roots() -> Mapping[str, Form]:
    """The field tree of each `apiVersion kind`."""
    roots: dict[str, str] = {}
    types: dict[str, dict[str, str]] = {}
    for name in ("fields.json", "own_fields.json"):
        table = orjson.loads(files("muster_kube").joinpath(name).read_bytes())
        roots.update(table["roots"])
        for struct, fields in table["types"].items():
            types.setdefault(struct, {}).update(fields)
    structs = {name: _Struct() for name in types}

    def form(text: str) -> Form:
        if text.startswith("["):
            return _ListOf(form(text[1:-1]))
        if text.startswith("{"):
            return _MapOf(form(text[1:-1]))
        return _SCALARS.get(text) or structs[text]

    for name, fields in types.items():
        structs[name].fields = {key: form(text) for key, text in fields.items() if key != _ANY_OTHER}
        structs[name].other = form(fields[_ANY_OTHER]) if _ANY_OTHER in fields else None
    return {root: structs[name] for root, name in roots.items()}
