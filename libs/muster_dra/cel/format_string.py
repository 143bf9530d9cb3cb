"""`string.format(list)`: the clauses %s %d %f %e %b %x %X %o, as the strings extension prints them."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muster_dra.cel import conversions
from muster_dra.cel.times import format_duration, format_timestamp
from muster_dra.cel.values import (
    LONGEST_FORMATTED,
    BoolKey,
    Duration,
    EvalError,
    Key,
    Timestamp,
    TypeValue,
    Uint,
    Value,
    check_size,
    no_such_overload,
    type_name,
)

_CLAUSE = re.compile(r"(?:\.([0-9]*))?(.)", re.DOTALL | re.ASCII)
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_NUMBER_WORDS = frozenset(("NaN", "Infinity", "-Infinity"))
_DEFAULT_PRECISION = 6

KINDS_OF_CLAUSE = {
    "s": frozenset(
        ("int", "uint", "double", "bool", "string", "bytes", "timestamp", "duration", "type", "null", "list", "map")
    ),
    "d": frozenset(("int", "uint")),
    "f": frozenset(("double", "string")),
    "e": frozenset(("double", "string")),
    "b": frozenset(("int", "uint", "bool")),
    "x": frozenset(("int", "uint", "string", "bytes")),
    "X": frozenset(("int", "uint", "string", "bytes")),
    "o": frozenset(("int", "uint")),
}
"""The static types that each clause takes, by name."""


class BadFormat(Exception):
    """The format string itself is wrong."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One `%` clause: its letter and its precision, if it has one."""

    letter: str
    precision: int | None


def parse_format(text: str) -> list[str | Clause]:
    """The literal parts and clauses of a format string. Raises BadFormat."""
    parts: list[str | Clause] = []
    at = 0
    while at < len(text):
        start = text.find("%", at)
        if start < 0:
            parts.append(text[at:])
            break
        parts.append(text[at:start])
        if text[start + 1 : start + 2] == "%":
            parts.append("%")
            at = start + 2
            continue
        found = _CLAUSE.match(text, start + 1)
        if found is None:
            raise BadFormat("unexpected end of string")
        if found[2] not in KINDS_OF_CLAUSE or found[1] == "":
            raise BadFormat(f"unrecognized formatting clause {found[0]!r}")
        parts.append(Clause(found[2], int(found[1][:9]) if found[1] is not None else None))
        at = found.end()
    return parts


def format_string(template: Value, args: Value) -> Value:
    """`template.format(args)`."""
    if not isinstance(template, str) or not isinstance(args, tuple):
        raise no_such_overload()
    try:
        return fill(parse_format(template), args)
    except BadFormat as error:
        raise EvalError(str(error)) from None


def fill(parts: Sequence[str | Clause], args: Sequence[Value]) -> str:
    """The text with its clauses replaced. Raises EvalError for a missing argument or one of a wrong type."""
    out: list[str] = []
    used = length = 0
    for part in parts:
        if isinstance(part, str):
            out.append(part)
            continue
        if used >= len(args):
            raise EvalError(f"index {used} out of range")
        out.append(_CLAUSES[part.letter](args[used], part))
        length += len(out[-1])
        check_size(length, LONGEST_FORMATTED)
        used += 1
    return "".join(out)


def _wrong(clause: Clause, value: Value) -> EvalError:
    return EvalError(f"clause %{clause.letter} can't format a value of type {type_name(value)}")


def _as_text(value: Value, clause: Clause) -> str:
    match value:
        case tuple():
            return _as_list(value, clause)
        case dict():
            return _as_map(value, clause)
        case None:
            return "null"
        case TypeValue():
            return value.name
        case bool() | int() | float() | str() | bytes() | Timestamp() | Duration():
            return str(conversions.to_text(value))
        case _:
            raise _wrong(clause, value)


def _nested(value: Value, clause: Clause) -> str:
    """A value inside of a list or map, written as a literal where its type asks for it."""
    match value:
        case str():
            return _quoted(value)
        case bytes():
            return f"b{_quoted(str(conversions.to_text(value)))}"
        case float():
            if math.isnan(value) or math.isinf(value):
                return f'"{"NaN" if math.isnan(value) else f"{value:+.0f}".replace("inf", "Inf")}"'
            return f"{value:.{_DEFAULT_PRECISION}f}"
        case Timestamp():
            return f"timestamp({_quoted(format_timestamp(value))})"
        case Duration():
            return f"duration({_quoted(format_duration(value))})"
        case _:
            return _as_text(value, clause)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(char if char.isprintable() else repr(char)[1:-1] for char in escaped) + '"'


def _as_list(value: tuple[Value, ...], clause: Clause) -> str:
    shown: list[str] = []
    length = 0
    for item in value:
        shown.append(_nested(item, clause))
        length += len(shown[-1])
        check_size(length, LONGEST_FORMATTED)
    return f"[{', '.join(shown)}]"


def _as_map(value: dict[Key, Value], clause: Clause) -> str:
    shown: list[tuple[str, str]] = []
    for key, item in value.items():
        name = (
            _quoted(key) if isinstance(key, str) else _as_text(key.value if isinstance(key, BoolKey) else key, clause)
        )
        shown.append((name, _nested(item, clause)))
    return f"{{{', '.join(f'{key}:{item}' for key, item in sorted(shown))}}}"


def _as_decimal(value: Value, clause: Clause) -> str:
    if type(value) in (int, Uint):
        return str(conversions.to_text(value))
    raise _wrong(clause, value)


def _number(value: Value, clause: Clause) -> float:
    if isinstance(value, float):
        return value
    if isinstance(value, str) and value in _NUMBER_WORDS:
        return float(value)
    raise _wrong(clause, value)


def _special(value: float) -> str | None:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return None


def _as_fixed(value: Value, clause: Clause) -> str:
    number = _number(value, clause)
    precision = _DEFAULT_PRECISION if clause.precision is None else clause.precision
    check_size(precision, LONGEST_FORMATTED)
    return _special(number) or f"{number:,.{precision}f}"


def _as_scientific(value: Value, clause: Clause) -> str:
    number = _number(value, clause)
    special = _special(number)
    if special is not None:
        return special
    digits, power = f"{number:.{_DEFAULT_PRECISION}e}".split("e")
    sign = "-" if power.startswith("-") else ""
    exponent = f"{sign}{abs(int(power)):02d}".translate(_SUPERSCRIPT)
    return f"{digits}\u202f×\u202f10{exponent}"


def _as_binary(value: Value, clause: Clause) -> str:
    if type(value) is bool:
        return "1" if value else "0"
    return _in_base(value, clause, "b")


def _as_octal(value: Value, clause: Clause) -> str:
    return _in_base(value, clause, "o")


def _in_base(value: Value, clause: Clause, base: str) -> str:
    if type(value) in (int, Uint):
        return format(int(value), base)  # pyright: ignore[reportArgumentType]  # an integer here
    raise _wrong(clause, value)


def _as_hex(value: Value, clause: Clause) -> str:
    match value:
        case str():
            text = value.encode().hex()
        case bytes():
            text = value.hex()
        case _:
            text = _in_base(value, clause, "x")
    return text.upper() if clause.letter == "X" else text


_CLAUSES: dict[str, Callable[[Value, Clause], str]] = {
    "s": _as_text, "d": _as_decimal, "f": _as_fixed, "e": _as_scientific,
    "b": _as_binary, "x": _as_hex, "X": _as_hex, "o": _as_octal,
}  # fmt: skip
