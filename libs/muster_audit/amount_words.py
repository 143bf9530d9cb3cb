"""Amounts as people wrote them: 30G where the driver says 100G, 20Gi where it says 40Gi."""

from muster_types import format_quantity

_DECIMAL = (("E", 18), ("P", 15), ("T", 12), ("G", 9), ("M", 6), ("k", 3))
_NANO = 10**9


def amount_like(nano: int, sample: str) -> str:
    """A value in nano-units in the form of a sample: decimal suffixes where the sample has them or none."""
    if sample.endswith("i") or nano % _NANO:
        return format_quantity(nano)
    whole = nano // _NANO
    for suffix, power in _DECIMAL:
        if whole and whole % 10**power == 0 and sample[-1:].isalpha():
            return f"{whole // 10**power}{suffix}"
    return str(whole)
