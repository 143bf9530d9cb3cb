"""A quantity with the text that upstream would print for it (dra-semantics §1.1, §3.7.2).

Upstream keeps the written text of a decimal quantity as long as it fits its integer form and prints the canonical text
otherwise, as for binary ones. The text matters in two places: `consumedCapacity` of a result, and "written exactly as
the default".
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from muster_types import NANO, Nano, format_quantity, parse_quantity

_DECIMAL = re.compile(r"[+-]?0*([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+)|([numkMGTPE]))?", re.ASCII)
_DECIMAL_SUFFIXES = (
    ("E", 10**27),
    ("P", 10**24),
    ("T", 10**21),
    ("G", 10**18),
    ("M", 10**15),
    ("k", 10**12),
    ("", NANO),
    ("m", 10**6),
    ("u", 10**3),
    ("n", 1),
)
_EXPONENT = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


@dataclass(frozen=True, slots=True)
class Amount:
    """A value in nano-units and the text it is printed with; two amounts of one value may differ in text.

    `written` is the text of the manifest: expressions see that one (dra-semantics §1.1, §4.2 `isInteger`).
    """

    nano: Nano
    text: str
    written: str

    @staticmethod
    @lru_cache(65536)
    def parse(text: str) -> "Amount":
        """Raises muster_types.InvalidQuantity."""
        nano = parse_quantity(text)
        return Amount(nano, text if _keeps_its_text(text) else _canonical(nano, text), text)

    @staticmethod
    def computed(nano: int) -> "Amount":
        """The amount that rounding to a policy makes: upstream prints it in binary form."""
        text = _decimal(nano) if -1024 * NANO < nano < 1024 * NANO else format_quantity(nano)
        return Amount(Nano(nano), text, text)

    @staticmethod
    def decimal(nano: int) -> "Amount":
        """The amount with a decimal suffix, for sentences."""
        text = _decimal(nano)
        return Amount(Nano(nano), text, text)

    def __str__(self) -> str:
        return self.text


def _keeps_its_text(text: str) -> bool:
    """Whether upstream's parser takes its integer path: at most 18 digits, and none beyond the ninth place."""
    found = _DECIMAL.fullmatch(text)
    if found is None:
        return False
    whole, fraction, exponent, suffix = found.groups()
    behind = len(fraction or "")
    scale = int(exponent) if exponent else _EXPONENT.get(suffix or "", 0)
    return len(whole) + behind <= 18 and scale - behind >= -9


def _canonical(nano: int, text: str) -> str:
    if text.endswith("i"):
        return Amount.computed(nano).text
    return _exponent(nano) if re.search(r"[eE][+-]?[0-9]+$", text, re.ASCII) else _decimal(nano)


def _decimal(nano: int) -> str:
    if nano == 0:
        return "0"
    for suffix, unit in _DECIMAL_SUFFIXES:
        if nano % unit == 0:
            return f"{nano // unit}{suffix}"
    raise AssertionError("every value is a whole number of nano-units")


def _exponent(nano: int) -> str:
    plain = _decimal(nano)
    suffix = plain.lstrip("-0123456789")
    return plain if not suffix else f"{plain[: -len(suffix)]}e{_EXPONENT[suffix]}"
