"""Optionals: `optional.of` and the methods of what it makes."""

from muster_dra.cel.operators import TIMESTAMP_MIN
from muster_dra.cel.values import NONE, Duration, EvalError, Optional, Timestamp, Value, no_such_overload, type_name


def _optional(value: Value) -> Optional:
    if isinstance(value, Optional):
        return value
    raise no_such_overload()


def optional_of(value: Value) -> Value:
    """`optional.of(value)`."""
    return Optional(True, value)


def is_zero(value: Value) -> bool:
    """Whether a value is the zero of its type."""
    match value:
        case None:
            return True
        case bool() | int() | float() | str() | bytes() | tuple() | dict():
            return not value
        case Duration():
            return value.nanos == 0
        case Timestamp():
            return value.nanos == TIMESTAMP_MIN
        case Optional():
            return not value.present
        case _:
            return False


def optional_of_non_zero(value: Value) -> Value:
    """`optional.ofNonZeroValue(value)`."""
    return NONE if is_zero(value) else Optional(True, value)


def optional_none() -> Value:
    """`optional.none()`."""
    return NONE


def value_of(value: Value) -> Value:
    """`o.value()`."""
    found = _optional(value)
    if not found.present:
        raise EvalError("optional.none() dereference")
    return found.content


def has_value(value: Value) -> Value:
    """`o.hasValue()`."""
    return _optional(value).present


def unwrap(value: Value) -> Value:
    """`optional.unwrap(list)`, `list.unwrapOpt()`."""
    kept: list[Value] = []
    if not isinstance(value, tuple):
        raise no_such_overload()
    for item in value:
        if not isinstance(item, Optional):
            raise EvalError(f"a value of type {type_name(item)} is not optional")
        if item.present:
            kept.append(item.content)
    return tuple(kept)
