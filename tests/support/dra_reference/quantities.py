"""Quantities (§1.1): exact, in nano-units, rounded away from zero."""

import re

NANO = 10**9
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_QUANTITY = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eE][+-]?[0-9]+|[A-Za-z]*)", re.ASCII)


def nano(written: str | int | float) -> int:
    """The amount in nano-units. Raises ValueError for what is no quantity."""
    text = str(written)
    found = _QUANTITY.fullmatch(text)
    if not text or found is None:
        raise ValueError(f"{text!r} is no quantity")
    sign, whole, fraction, suffix = found.groups()
    digits, power, shift = (whole or "") + (fraction or ""), -len(fraction or ""), 0
    if suffix in _BINARY:
        shift = _BINARY[suffix]
    elif suffix in _DECIMAL:
        power += _DECIMAL[suffix]
    elif suffix[0] in "eE" and len(suffix) > 1:
        power += int(suffix[1:])
    else:
        raise ValueError(f"{text!r} is no quantity")
    above, below = int(digits or "0") * NANO << shift, 1
    if power >= 0:
        above *= 10**power
    else:
        below = 10**-power
    size = -(-above // below)
    return -size if sign == "-" else size


def rounded_up(amount: int, unit: int) -> int:
    """How many units an amount is, away from zero."""
    whole = -(-abs(amount) // unit)
    return whole if amount >= 0 else -whole
