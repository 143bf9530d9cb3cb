"""`quantity()` and its methods (dra-semantics §4.2).

Upstream stores a quantity as int64 times a power of ten where it can, else as a big decimal; `isInteger` and
`asInteger` look at that stored form, so it is kept here beside the exact value.
"""

import re
from functools import lru_cache

from muster_dra.cel.operators import INT_MAX, INT_MIN
from muster_dra.cel.values import EvalError, Value, no_such_overload

_FORM = re.compile(
    r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+)|(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E))?", re.ASCII
)
_DECIMAL = {None: 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_NANO = 9  # nothing smaller than 10^-9 is kept
_MOST_DIGITS = 18
_LARGEST_POWER = 4096  # beyond it two quantities are not told apart: nothing real is as large


class Quantity:
    """A Kubernetes quantity: its exact value in nano-units, and the power of ten of its stored form (None: a decimal).

    `computed` marks results of `add` and `sub`: upstream can't compare anything **with** them (`x == a.add(b)` is an
    error), while they compare with others (`a.add(b) == x`).
    """

    __slots__ = ("computed", "nano", "scale")

    def __init__(self, nano: int, scale: int | None, *, computed: bool = False) -> None:
        self.nano = nano
        self.scale = scale
        self.computed = computed

    @property
    def type_name(self) -> str:
        """The CEL name of the type."""
        return "kubernetes.Quantity"

    def equals(self, other: Value) -> bool:
        """Equality of the values. Raises EvalError for another type."""
        if isinstance(other, Quantity) and not other.computed:
            return self.nano == other.nano
        raise no_such_overload()

    def whole(self) -> int | None:
        """The value as int64, if the stored form is a whole one."""
        if self.scale is None or self.scale < 0:
            return None
        value = self.nano // 10**_NANO
        return value if INT_MIN <= value <= INT_MAX else None

    def fresh(self) -> "Quantity":
        """The quantity for one evaluation, which may change it if it is a decimal."""
        return self if self.scale is not None else Changeable([self.nano])

    def plus(self, nano: int, scale: int | None) -> "Quantity":
        """The sum with another amount, in the form that upstream stores it."""
        total = self.nano + nano
        if self.scale is None or scale is None:
            return Changeable([total], computed=True)
        if nano == 0:
            return Quantity(total, self.scale, computed=True)
        if self.nano == 0:
            return Quantity(total, scale, computed=True)
        scale = min(self.scale, scale)
        unit = 10 ** (scale + _NANO)
        if all(INT_MIN <= part // unit <= INT_MAX for part in (self.nano, nano, total)):
            return Quantity(total, scale, computed=True)
        return Changeable([total], computed=True)


class Changeable(Quantity):
    """A decimal that `add` and `sub` change in place, as upstream does; all results of one share its cell.

    A device's own quantities are copied for each evaluation that may change them, so that the change ends with it
    (dra-semantics §0.3, last paragraph).
    """

    __slots__ = ("_cell",)

    def __init__(self, cell: list[int], *, computed: bool = False) -> None:
        self._cell = cell
        super().__init__(cell[0], None, computed=computed)

    @property
    def nano(self) -> int:
        """The value in nano-units."""
        return self._cell[0]

    @nano.setter
    def nano(self, value: int) -> None:
        self._cell[0] = value

    def plus(self, nano: int, scale: int | None) -> Quantity:
        """The sum with another amount; this quantity becomes it too."""
        self._cell[0] += nano
        return Changeable(self._cell, computed=True)


@lru_cache(4096)
def read_quantity(text: str) -> Quantity | None:
    """The quantity as written, or None if it is none."""
    found = _FORM.fullmatch(text)
    if found is None or not text:
        return None
    sign, whole, fraction, exponent, suffix = found.groups()
    digits, fraction = whole or "0", fraction or ""
    shift = _BINARY.get(suffix)
    if shift is None:
        power = max(-_LARGEST_POWER, min(_LARGEST_POWER, int(exponent[:6]))) if exponent else _DECIMAL[suffix]
        fits = len(digits) + len(fraction) <= _MOST_DIGITS
        factor = 1
    else:
        power, factor = 0, 1 << shift
        fits = not fraction and 14 - len(digits) - shift * 3 // 10 >= 0
    scale = power - len(fraction)
    mantissa = _integer(digits + fraction) * factor
    stored = scale if fits and scale >= -_NANO and mantissa <= INT_MAX else None
    nano = _to_nano(mantissa, scale)
    if stored is None and shift is not None:
        nano = min(nano, INT_MAX * 10**_NANO)
    return Quantity(-nano if sign == "-" else nano, stored)


def _integer(digits: str) -> int:
    """The number that any many digits spell: Python reads at most 4300 at once."""
    value = 0
    for at in range(0, len(digits), 4000):
        part = digits[at : at + 4000]
        value = value * 10 ** len(part) + int(part)
    return value


def _to_nano(mantissa: int, scale: int) -> int:
    """`mantissa` times ten to `scale`, in nano-units, rounded away from zero."""
    power = scale + _NANO
    return mantissa * 10**power if power >= 0 else -(-mantissa // 10**-power)


def quantity(text: Value) -> Value:
    """`quantity(text)`."""
    if not isinstance(text, str):
        raise no_such_overload()
    found = read_quantity(text)
    if found is None:
        raise EvalError(f"invalid quantity {text!r}")
    return found.fresh()


def is_quantity(text: Value) -> Value:
    """`isQuantity(text)`."""
    if not isinstance(text, str):
        raise no_such_overload()
    return read_quantity(text) is not None


def _quantity(value: Value) -> Quantity:
    if isinstance(value, Quantity):
        return value
    raise no_such_overload()


def compare_quantities(left: Value, right: Value) -> int:
    """-1, 0 or 1."""
    a, b = _quantity(left).nano, _quantity(right).nano
    return (a > b) - (a < b)


def sign(value: Value) -> Value:
    """`sign(q)`."""
    nano = _quantity(value).nano
    return (nano > 0) - (nano < 0)


def is_integer(value: Value) -> Value:
    """`q.isInteger()`."""
    return _quantity(value).whole() is not None


def as_integer(value: Value) -> Value:
    """`q.asInteger()`."""
    whole = _quantity(value).whole()
    if whole is None:
        raise EvalError("cannot convert value to integer")
    return whole


def as_approximate_float(value: Value) -> Value:
    """`q.asApproximateFloat()`: the stored mantissa times a power of ten, rounded at both steps as upstream does."""
    found = _quantity(value)
    scale = -_NANO if found.scale is None else found.scale
    mantissa = found.nano // 10 ** (scale + _NANO)
    try:
        return float(mantissa) * 10.0**scale
    except OverflowError:
        return float("inf") if found.nano > 0 else float("-inf")


def _operand(value: Value) -> tuple[int, int | None]:
    if type(value) is int:
        return value * 10**_NANO, 0
    found = _quantity(value)
    return found.nano, found.scale


def add_quantities(left: Value, right: Value) -> Value:
    """`q.add(other)`, where other is a quantity or an int."""
    nano, scale = _operand(right)
    return _quantity(left).plus(nano, scale)


def subtract_quantities(left: Value, right: Value) -> Value:
    """`q.sub(other)`, where other is a quantity or an int."""
    nano, scale = _operand(right)
    return _quantity(left).plus(-nano, scale)
