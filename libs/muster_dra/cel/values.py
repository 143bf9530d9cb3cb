"""What CEL values are in Python, and the failures of evaluation.

null None, bool bool, int int, uint Uint, double float, string str, bytes bytes, list tuple, map dict (string keys
as str, numbers as int, bool keys as BoolKey), type TypeValue, optional Optional; the rest are classes of their own.
Equality follows cel-go: numbers compare across types, other types are unequal, and some types refuse foreign operands.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, runtime_checkable


class Uint(int):
    """An unsigned 64-bit integer."""

    __slots__ = ()


class BoolKey(Enum):
    """A bool used as map key: Python's True would collide with 1."""

    FALSE = False
    TRUE = True


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value, by its name, as `type(x)` gives it."""

    name: str


@dataclass(frozen=True, slots=True)
class Duration:
    """A span of time, in nanoseconds."""

    nanos: int


@dataclass(frozen=True, slots=True)
class Timestamp:
    """An instant, in nanoseconds since 1970-01-01T00:00:00Z; `zone` is where it was written, in minutes east of UTC."""

    nanos: int
    zone: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Optional:
    """A value or none."""

    present: bool
    content: "Value" = None


NONE = Optional(False)


@runtime_checkable
class Opaque(Protocol):
    """A value of a Kubernetes type: it names its type and compares itself."""

    @property
    def type_name(self) -> str:
        """The CEL name of the type."""
        ...

    def equals(self, other: "Value") -> bool:
        """Equality as upstream has it. Raises EvalError for a type it can't be compared with."""
        ...


Key = None | int | float | str | BoolKey
"""A map key as a dict key."""

Value = (
    None
    | bool
    | int
    | float
    | str
    | bytes
    | tuple["Value", ...]
    | Mapping["Key", "Value"]
    | TypeValue
    | Duration
    | Timestamp
    | Optional
    | Opaque
)


class EvalError(Exception):
    """An error of evaluation, as CEL has it: `&&` and `||` may absorb it."""


class Aborted(Exception):
    """The evaluation as a whole ended: too expensive, or what makes upstream panic. Nothing absorbs this."""


LIMIT = 1_000_000
"""What the evaluation of an expression on a device may cost (CELSelectorExpressionMaxCost, dra-semantics §4.4)."""

LONGEST_TEXT, LONGEST_FORMATTED, LONGEST_LIST = 1 << 23, 1 << 20, 1 << 21


def check_size(size: int, most: int) -> None:
    """Raises Aborted for a text or list that upstream would still make, and that nobody can mean."""
    if size > most:
        raise Aborted(f"a value of size {size} is larger than {most}")


def no_such_overload() -> EvalError:
    """The error of an operation that has no meaning for the types it met."""
    return EvalError("no such overload")


_NAMES: dict[type, str] = {
    type(None): "null_type",
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    tuple: "list",
    dict: "map",
    TypeValue: "type",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    Optional: "optional_type",
}


def type_name(value: Value) -> str:
    """The CEL name of a value's type."""
    name = _NAMES.get(type(value))
    if name is not None:
        return name
    if isinstance(value, Mapping):
        return "map"
    if isinstance(value, Opaque):
        return value.type_name
    raise AssertionError(f"no CEL value: {value!r}")


_MOST_COMPARED = 1_000_000  # parts of nested lists and maps in one comparison
_NUMBERS = frozenset((int, Uint, float))
_PLAIN = frozenset((str, bytes, bool, TypeValue, Duration, Timestamp))


def equals(left: Value, right: Value) -> bool:
    """`left == right`. Raises EvalError when the left type refuses the right one."""
    kind = type(left)
    other = type(right)
    if kind is other and kind in _PLAIN:
        return left == right
    if kind in _NUMBERS:
        return other in _NUMBERS and _equal_numbers(left, right)  # pyright: ignore[reportArgumentType]  # both are numbers
    if left is None or right is None:
        return left is right
    if kind is tuple or isinstance(left, Mapping):
        return _equal_parts(left, right, [_MOST_COMPARED])
    if isinstance(left, Optional):
        return _equal_optionals(left, right)
    if kind in _PLAIN:
        return False
    if isinstance(left, Opaque):
        return left.equals(right)
    return False


def _equal_numbers(left: int | float, right: int | float) -> bool:
    if (type(left) is float) is (type(right) is float):
        return left == right
    return float(left) == float(right)  # as upstream: the integer is rounded to a double


def _equal_parts(left: Value, right: Value, budget: list[int]) -> bool:
    """Equality inside of lists and maps, where upstream lets a refused comparison pass.

    One value may occur in many places of another, so that comparing them part by part has no natural end: `budget` is
    the number of comparisons left. Raises Aborted if it runs out.
    """
    if isinstance(left, tuple):
        if not isinstance(right, tuple) or len(left) != len(right):
            return False
        pairs = zip(left, right, strict=True)
    elif isinstance(left, Mapping):
        if not isinstance(right, Mapping) or len(left) != len(right) or not all(key in right for key in left):
            return False
        pairs = ((value, right[key]) for key, value in left.items())
    else:
        try:
            return equals(left, right)
        except EvalError:
            return True
    budget[0] -= len(left)
    if budget[0] < 0:
        raise Aborted("the compared values are too large")
    return all(_equal_parts(one, other, budget) for one, other in pairs)


def _equal_optionals(left: Optional, right: Value) -> bool:
    if not isinstance(right, Optional):
        return False
    if not left.present or not right.present:
        return left.present == right.present
    return equals(left.content, right.content)


def holds_equal(left: Value, right: Value) -> bool:
    """Whether the two are equal, a refused comparison counting as unequal (list membership, `!=`)."""
    try:
        return equals(left, right)
    except EvalError:
        return False


KEY_TYPES = frozenset((str, int, Uint, float, type(None)))
"""The types of map keys that stand for themselves as dict keys; bool keys have BoolKey."""


def to_key(value: Value) -> Key:
    """The dict key that stands for a CEL map key. Raises EvalError for a type that can't be one."""
    kind = type(value)
    if kind is bool:
        return BoolKey(value)
    if kind in KEY_TYPES and (value is None or isinstance(value, (int, float, str))):
        return value
    raise EvalError(f"unsupported key type: {type_name(value)}")


def from_key(key: Key) -> Value:
    """The CEL value of a dict key."""
    return key.value if isinstance(key, BoolKey) else key
