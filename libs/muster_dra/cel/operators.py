"""Arithmetic and order on CEL values, with the errors that upstream raises: overflow, division by zero, no overload."""

import math
from collections.abc import Callable

from muster_dra.cel.values import (
    LONGEST_LIST,
    Duration,
    EvalError,
    Timestamp,
    Uint,
    Value,
    check_size,
    no_such_overload,
)

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1
TIMESTAMP_MIN, TIMESTAMP_MAX = -62_135_596_800 * 10**9, 253_402_300_799 * 10**9 + 999_999_999

Binary = Callable[[Value, Value], Value]
_Table = dict[tuple[type, type], Callable[..., Value]]


def to_int(value: int) -> int:
    """The value as int64. Raises EvalError on overflow."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise EvalError("integer overflow")


def to_uint(value: int) -> Uint:
    """The value as uint64. Raises EvalError on overflow."""
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise EvalError("unsigned integer overflow")


def to_duration(nanos: int) -> Duration:
    """The span of so many nanoseconds. Raises EvalError beyond int64."""
    if INT_MIN <= nanos <= INT_MAX:
        return Duration(nanos)
    raise EvalError("integer overflow")


def to_timestamp(nanos: int, zone: int = 0) -> Timestamp:
    """The instant so many nanoseconds after 1970. Raises EvalError outside of the years 1 to 9999."""
    if TIMESTAMP_MIN <= nanos <= TIMESTAMP_MAX:
        return Timestamp(nanos, zone)
    raise EvalError("timestamp overflow")


def _plus(left: int, right: int) -> int:
    return to_int(left + right)


def _minus(left: int, right: int) -> int:
    return to_int(left - right)


def _joined(left: tuple[Value, ...], right: tuple[Value, ...]) -> tuple[Value, ...]:
    check_size(len(left) + len(right), LONGEST_LIST)
    return left + right


def _quotient(left: int, right: int) -> int:
    if right == 0:
        raise EvalError("division by zero")
    value = abs(left) // abs(right)
    return to_int(value if (left < 0) == (right < 0) else -value)


def _remainder(left: int, right: int) -> int:
    if right == 0:
        raise EvalError("modulus by zero")
    if left == INT_MIN and right == -1:
        raise EvalError("integer overflow")
    value = abs(left) % abs(right)
    return -value if left < 0 else value


def _unsigned_quotient(left: Uint, right: Uint) -> Uint:
    return Uint(_quotient_of_unsigned(left, right))


def _quotient_of_unsigned(left: int, right: int) -> int:
    if right == 0:
        raise EvalError("division by zero")
    return left // right


def _unsigned_remainder(left: Uint, right: Uint) -> Uint:
    if right == 0:
        raise EvalError("modulus by zero")
    return Uint(int(left) % int(right))


def _divide_doubles(left: float, right: float) -> float:
    if right == 0:
        if left == 0 or math.isnan(left):
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)
    return left / right


_ADD: _Table = {
    (int, int): _plus,
    (Uint, Uint): lambda left, right: to_uint(int(left) + int(right)),
    (float, float): lambda left, right: left + right,
    (str, str): lambda left, right: left + right,
    (bytes, bytes): lambda left, right: left + right,
    (tuple, tuple): _joined,
    (Duration, Duration): lambda left, right: to_duration(left.nanos + right.nanos),
    (Duration, Timestamp): lambda left, right: to_timestamp(left.nanos + right.nanos, right.zone),
    (Timestamp, Duration): lambda left, right: to_timestamp(left.nanos + right.nanos, left.zone),
}
_SUBTRACT: _Table = {
    (int, int): _minus,
    (Uint, Uint): lambda left, right: to_uint(int(left) - int(right)),
    (float, float): lambda left, right: left - right,
    (Duration, Duration): lambda left, right: to_duration(left.nanos - right.nanos),
    (Timestamp, Duration): lambda left, right: to_timestamp(left.nanos - right.nanos, left.zone),
    (Timestamp, Timestamp): lambda left, right: to_duration(left.nanos - right.nanos),
}
_MULTIPLY: _Table = {
    (int, int): lambda left, right: to_int(left * right),
    (Uint, Uint): lambda left, right: to_uint(int(left) * int(right)),
    (float, float): lambda left, right: left * right,
}
_DIVIDE: _Table = {
    (int, int): _quotient,
    (Uint, Uint): _unsigned_quotient,
    (float, float): _divide_doubles,
}
_MODULO: _Table = {(int, int): _remainder, (Uint, Uint): _unsigned_remainder}


def _from_table(table: _Table) -> Binary:
    def operate(left: Value, right: Value) -> Value:
        implementation = table.get((type(left), type(right)))
        if implementation is None:
            raise no_such_overload()
        return implementation(left, right)

    return operate


add = _from_table(_ADD)
subtract = _from_table(_SUBTRACT)
multiply = _from_table(_MULTIPLY)
divide = _from_table(_DIVIDE)
modulo = _from_table(_MODULO)


def negate(value: Value) -> Value:
    """`-value`."""
    if type(value) is int:
        return to_int(-value)
    if type(value) is float:
        return -value
    raise no_such_overload()


_NUMBERS = frozenset((int, Uint, float))
_ORDERED = frozenset((str, bytes, bool))
_TIMES = frozenset((Duration, Timestamp))


def compare(left: Value, right: Value) -> int:
    """-1, 0 or 1. Raises EvalError for types without an order between them, and for NaN."""
    kind, other = type(left), type(right)
    if kind is not other and not (kind in _NUMBERS and other in _NUMBERS):
        raise no_such_overload()
    if kind in _NUMBERS:
        if kind is float or other is float:
            left, right = float(left), float(right)  # pyright: ignore[reportArgumentType]  # both are numbers here
            if math.isnan(left) or math.isnan(right):
                raise EvalError("NaN values cannot be ordered")
    elif kind in _TIMES:
        left, right = left.nanos, right.nanos  # pyright: ignore  # both are times of one kind here
    elif kind not in _ORDERED:
        raise no_such_overload()
    return (left > right) - (left < right)  # pyright: ignore[reportOperatorIssue]  # both are of one ordered kind here


def less(left: Value, right: Value) -> bool:
    """`left < right`."""
    return compare(left, right) < 0


def less_equal(left: Value, right: Value) -> bool:
    """`left <= right`."""
    return compare(left, right) <= 0


def greater(left: Value, right: Value) -> bool:
    """`left > right`."""
    return compare(left, right) > 0


def greater_equal(left: Value, right: Value) -> bool:
    """`left >= right`."""
    return compare(left, right) >= 0
