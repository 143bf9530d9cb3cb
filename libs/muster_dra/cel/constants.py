"""What an expression knows before any device is seen.

Upstream folds list and map literals of constants and conversions of constants, turns `in` over a constant list into a
lookup, and compiles constant patterns; what fails there makes the expression fail to compile.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from muster_dra.cel.checker import Checked
from muster_dra.cel.formats import Format
from muster_dra.cel.functions import GLOBAL, METHODS
from muster_dra.cel.quantities import Quantity
from muster_dra.cel.strings import read_pattern
from muster_dra.cel.syntax import Call, Expr, Ident, ListExpr, Literal, MapExpr, Select
from muster_dra.cel.types import Kind
from muster_dra.cel.values import EvalError, Key, TypeValue, Uint, Value, to_key
from muster_dra.cel.versions import Semver

_CONVERSIONS = frozenset(("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"))
_PURE = _CONVERSIONS | frozenset(("quantity", "semver", "url", "ip", "cidr", "-_", "size", "isQuantity", "isSemver"))
_MEMBERS = frozenset((bool, int, Uint, float, str))
_PATTERNS = {"matches": 1, "find": 1, "findAll": 1}


class ConstantFailed(Exception):
    """A constant part of the expression can't be evaluated."""


@dataclass(frozen=True, slots=True)
class Known:
    """A value known before evaluation."""

    value: Value


def unhashable_types() -> frozenset[type]:
    """The types of values that upstream can't look up by hash: they hold slices or functions in Go."""
    return frozenset((Semver, bytes, Format))


class Constants:
    """The constants of one expression."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._found: dict[tuple[int, bool], Known | None] = {}

    def value_of(self, node: Expr, *, fold_calls: bool) -> Known | None:
        """The value of a node, if it is known; with `fold_calls` also of calls that upstream would run each time.

        Raises ConstantFailed where upstream fails before evaluation.
        """
        key = (node.id, fold_calls)
        if key not in self._found:
            self._found[key] = self._evaluate(node, fold_calls=fold_calls)
        return self._found[key]

    def _evaluate(self, node: Expr, *, fold_calls: bool) -> Known | None:
        match node:
            case Literal():
                return Known(node.value)
            case Ident() | Select():
                name = self._checked.names.get(node.id)
                return None if name is None else Known(TypeValue(name))
            case ListExpr() if not node.optional:
                known = self._all(node.elements, fold_calls=fold_calls)
                return None if known is None else Known(tuple(known))
            case MapExpr():
                return self._map(node, fold_calls=fold_calls)
            case Call():
                return self._call(node, fold_calls=fold_calls)
            case _:
                return None

    def _all(self, nodes: Sequence[Expr], *, fold_calls: bool) -> list[Value] | None:
        found: list[Value] = []
        for node in nodes:
            known = self.value_of(node, fold_calls=fold_calls)
            if known is None:
                return None
            found.append(known.value)
        return found

    def _map(self, node: MapExpr, *, fold_calls: bool) -> Known | None:
        if any(entry.optional for entry in node.entries):
            return None
        keys = self._all([entry.key for entry in node.entries], fold_calls=fold_calls)
        values = self._all([entry.value for entry in node.entries], fold_calls=fold_calls)
        if keys is None or values is None:
            return None
        try:
            return Known(dict(zip(map(to_key, keys), values, strict=True)))
        except EvalError as error:
            raise ConstantFailed(str(error)) from None

    def _call(self, node: Call, *, fold_calls: bool) -> Known | None:
        name = self._checked.names.get(node.id, node.function)
        if node.target is not None and name == node.function:
            return None
        conversion = name in _CONVERSIONS and len(node.args) == 1
        if not conversion and not (fold_calls and name in _PURE):
            return None
        known = self._all(node.args, fold_calls=fold_calls)
        if known is None:
            return None
        try:
            value = GLOBAL[name](*known)
        except EvalError as error:
            # A conversion of what only we take for a constant fails when it is evaluated, as upstream's would.
            if conversion and self._all(node.args, fold_calls=False) is not None:
                raise ConstantFailed(str(error)) from None
            return None
        if isinstance(value, Quantity) and value.scale is None:
            return None  # a big decimal is made anew for each evaluation
        return Known(value)

    def members(self, node: Call) -> frozenset[Key] | None:
        """The elements of the constant list that `in` looks through, if it can be done by hash."""
        holder = node.args[1]
        known = self.value_of(holder, fold_calls=False)
        if known is None or self._checked.type_at(holder).kind is not Kind.LIST or not isinstance(known.value, tuple):
            return None
        if any(type(item) not in _MEMBERS for item in known.value):
            return None
        return frozenset(map(to_key, known.value))

    def check_pattern(self, name: str, args: Sequence[Expr]) -> None:
        """Raises ConstantFailed for a constant pattern that is none."""
        if name not in _PATTERNS or not args:
            return
        method = name in METHODS and not (name == "matches" and len(args) == 2)
        pattern = args[0] if method else args[-1]
        known = self.value_of(pattern, fold_calls=False)
        if known is not None and isinstance(known.value, str) and read_pattern(known.value) is None:
            raise ConstantFailed(f"invalid regular expression {known.value!r}")
