"""Kubernetes quantities as integers of nano-units: exact, hashable, cheap to add and compare.

Source: `k8s.io/apimachinery/pkg/api/resource` as restated in dra-semantics §1.1: more precision than 1n is rounded
away from zero, values are capped at ±(2^63-1), blanks, `K`, `KB`, `NaN` and the empty string are invalid.
"""

import re
from functools import lru_cache
from typing import NewType

Nano = NewType("Nano", int)

NANO = 10**9
_CAP = (2**63 - 1) * NANO
_FORM = re.compile(
    r"([+-]?)([0-9]*)(?:(\.)([0-9]*))?(?:([eE][+-]?[0-9]{1,3})|(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E))?", re.ASCII
)
_UNIT: dict[str | None, int] = {
    None: NANO,
    "n": 1,
    "u": 10**3,
    "m": 10**6,
    "k": 10**12,
    "M": 10**15,
    "G": 10**18,
    "T": 10**21,
    "P": 10**24,
    "E": 10**27,
    **{suffix: 1024**power * NANO for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)},
}


class InvalidQuantity(ValueError):
    """The text is no Kubernetes quantity."""


@lru_cache(65536)
def parse_quantity(text: str) -> Nano:
    """The value of a quantity in nano-units. Raises InvalidQuantity.

    Digits may be missing before a suffix (`Gi`, `-`, `.` are 0, dra-semantics §1.1); the empty string is invalid.
    """
    found = _FORM.fullmatch(text)
    if found is None or not text:
        raise InvalidQuantity(f"invalid quantity {text!r}: want digits with an optional suffix such as m, k, Gi or e3")
    sign, whole, _, fraction, exponent, suffix = found.groups()
    fraction = fraction or ""
    numerator, denominator = int((whole or "0") + fraction), 10 ** len(fraction)
    unit = _UNIT[suffix] if not exponent else NANO
    if exponent:
        power = int(exponent[1:])
        if power >= 0:
            numerator *= 10**power
        else:
            denominator *= 10**-power
    value, rest = divmod(numerator * unit, denominator)
    value = min(value + bool(rest), _CAP)
    return Nano(-value if sign == "-" else value)


def to_integer(nano: int) -> int:
    """Upstream's `Value()`: rounded away from zero to an integer."""
    return -(-nano // NANO) if nano >= 0 else nano // NANO


def to_milli(nano: int) -> int:
    """Upstream's `MilliValue()`: rounded away from zero to 1/1000."""
    return -(-nano // 10**6) if nano >= 0 else nano // 10**6


def format_quantity(nano: int) -> str:
    """The shortest canonical text of a value: binary suffix when exact, else integer, else milli, micro, nano."""
    if nano % NANO:
        for suffix, unit in (("m", 10**6), ("u", 10**3), ("n", 1)):
            if nano % unit == 0:
                return f"{nano // unit}{suffix}"
    whole = nano // NANO
    if whole == 0:
        return "0"
    for power, suffix in reversed(tuple(enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1))):
        if whole % 1024**power == 0:
            return f"{whole // 1024**power}{suffix}"
    return str(whole)
