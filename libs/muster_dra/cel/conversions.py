"""The conversions of standard CEL: `int(x)`, `string(x)`, `type(x)` and their like."""

import math
import re
from decimal import Decimal

from muster_dra.cel.operators import INT_MAX, INT_MIN, UINT_MAX, to_duration, to_timestamp
from muster_dra.cel.times import format_duration, format_timestamp, parse_duration, parse_timestamp
from muster_dra.cel.values import (
    Duration,
    EvalError,
    Opaque,
    Timestamp,
    TypeValue,
    Uint,
    Value,
    no_such_overload,
    type_name,
)  # fmt: skip

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)
_UNSIGNED = re.compile(r"[0-9]{1,40}", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_HEX_FLOAT = re.compile(r"[+-]?0[xX](?:[0-9A-Fa-f]+\.?[0-9A-Fa-f]*|\.[0-9A-Fa-f]+)[pP][+-]?[0-9]{1,6}", re.ASCII)
_FLOAT_WORD = re.compile(r"[+-]?(?:inf|infinity)|nan", re.ASCII | re.IGNORECASE)
_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def _impossible(text: str, wanted: str) -> EvalError:
    return EvalError(f"type conversion error from 'string' to '{wanted}': {text[:80]!r}")


def to_bool(value: Value) -> Value:
    """`bool(x)`."""
    if type(value) is bool:
        return value
    if isinstance(value, str):
        if value in _BOOLS:
            return _BOOLS[value]
        raise _impossible(value, "bool")
    raise no_such_overload()


def to_bytes(value: Value) -> Value:
    """`bytes(x)`."""
    if type(value) is bytes:
        return value
    if isinstance(value, str):
        return value.encode()
    raise no_such_overload()


def to_dyn(value: Value) -> Value:
    """`dyn(x)`."""
    return value


def to_double(value: Value) -> Value:
    """`double(x)`."""
    match value:
        case bool():
            raise no_such_overload()
        case int() | float():
            return float(value)
        case str():
            return _parse_float(value)
        case _:
            raise no_such_overload()


def _parse_float(text: str) -> float:
    try:
        if _FLOAT.fullmatch(text):
            value = float(text)
        elif _HEX_FLOAT.fullmatch(text):
            value = float.fromhex(text)
        elif _FLOAT_WORD.fullmatch(text):
            return float(text)
        else:
            raise _impossible(text, "double")
    except OverflowError:
        raise _impossible(text, "double") from None
    if math.isinf(value):
        raise _impossible(text, "double")
    return value


def to_int_value(value: Value) -> Value:
    """`int(x)`."""
    match value:
        case bool():
            raise no_such_overload()
        case int():
            return _within(int(value), INT_MIN, INT_MAX)
        case float():
            if not float(INT_MIN) < value < float(INT_MAX):
                raise EvalError("integer overflow")
            return int(value)
        case str():
            if not _INTEGER.fullmatch(value):
                raise _impossible(value, "int")
            return _within(int(value), INT_MIN, INT_MAX)
        case Timestamp():
            return value.nanos // 10**9
        case Duration():
            return value.nanos
        case _:
            raise no_such_overload()


def to_uint_value(value: Value) -> Value:
    """`uint(x)`."""
    match value:
        case bool():
            raise no_such_overload()
        case int():
            return Uint(_within(int(value), 0, UINT_MAX))
        case float():
            if not 0 <= value < float(UINT_MAX):
                raise EvalError("unsigned integer overflow")
            return Uint(int(value))
        case str():
            if not _UNSIGNED.fullmatch(value):
                raise _impossible(value, "uint")
            return Uint(_within(int(value), 0, UINT_MAX))
        case _:
            raise no_such_overload()


def _within(value: int, low: int, high: int) -> int:
    if low <= value <= high:
        return value
    raise EvalError("integer overflow" if low else "unsigned integer overflow")


def format_double(value: float) -> str:
    """A double as Go's `%g` prints it: the least digits, with an exponent from 1e6 on and below 1e-4."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    point = len(digits) + int(exponent)  # the decimal point stands after so many digits
    head = "-" if sign else ""
    power = point - 1
    if -4 <= power < 6:  # as if the precision were 6, which Go takes for the shortest form
        if point <= 0:
            return f"{head}0.{'0' * -point}{text}"
        if len(text) <= point:
            return f"{head}{text}{'0' * (point - len(text))}"
        return f"{head}{text[:point]}.{text[point:]}"
    rest = f".{text[1:]}" if len(text) > 1 else ""
    return f"{head}{text[0]}{rest}e{'-' if power < 0 else '+'}{abs(power):02d}"


def to_text(value: Value) -> Value:
    """`string(x)`."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return format_double(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise EvalError("invalid UTF-8 in bytes, cannot convert to string") from None
        case Timestamp():
            return format_timestamp(value)
        case Duration():
            return format_duration(value)
        case Opaque() if value.type_name in ("net.IP", "net.CIDR"):
            return str(value)
        case _:
            raise no_such_overload()


def to_type(value: Value) -> Value:
    """`type(x)`."""
    return TypeValue(type_name(value))


def to_duration_value(value: Value) -> Value:
    """`duration(x)`."""
    if isinstance(value, Duration):
        return value
    if isinstance(value, str):
        found = parse_duration(value)
        if found is None:
            raise _impossible(value, "google.protobuf.Duration")
        return to_duration(found.nanos)
    raise no_such_overload()


def to_timestamp_value(value: Value) -> Value:
    """`timestamp(x)`."""
    if isinstance(value, Timestamp):
        return value
    if type(value) is int:
        return to_timestamp(value * 10**9)
    if isinstance(value, str):
        found = parse_timestamp(value)
        if found is None:
            raise _impossible(value, "google.protobuf.Timestamp")
        return to_timestamp(found.nanos, found.zone)
    raise no_such_overload()
