"""Constraints as sets of devices: which may come first, and which may follow a device (dra-semantics §3.5)."""

from collections.abc import Sequence
from dataclasses import dataclass

from muster_dra.attributes import Attribute, AttributeKind
from muster_dra.constraints import values_of

_SCALARS = (AttributeKind.STRING, AttributeKind.INT, AttributeKind.BOOL, AttributeKind.VERSION)


@dataclass(frozen=True, slots=True)
class ConstraintTable:
    """`first`: devices that may be the first. `after[d]`: those that may follow once d is taken, to be intersected.

    `groups` are the devices of each value; one whose value has no comparable type is alone. With list values a match
    keeps the values still common to all devices:
    `values[d]` has a bit for each group that d belongs to, and is empty where `after` alone decides.
    """

    distinct: bool
    first: int
    after: tuple[int, ...]
    groups: tuple[int, ...]
    values: tuple[int, ...]
    ordered: bool = False
    """Whether it matters which device comes first: one of no comparable type is accepted in front only."""


def constraint_table(attributes: Sequence[Attribute | None], distinct: bool, sets: bool) -> ConstraintTable:
    """`attributes` by device number; `sets`: lists count as sets of values (gate DRAListTypeAttributes)."""
    return _set_table(attributes, distinct) if sets else _scalar_table(attributes, distinct)


def _scalar_table(attributes: Sequence[Attribute | None], distinct: bool) -> ConstraintTable:
    first = scalars = 0
    groups: dict[tuple[int, object], int] = {}
    for device, attribute in enumerate(attributes):
        if attribute is None:
            continue
        first |= 1 << device
        if attribute.kind in _SCALARS:
            scalars |= 1 << device
            key = id(attribute.kind), attribute.value
            groups[key] = groups.get(key, 0) | 1 << device
    after: list[int] = []
    for attribute in attributes:
        own = 0 if attribute is None else groups.get((id(attribute.kind), attribute.value), 0)
        after.append(scalars & ~own if distinct else own)
    alone = tuple(1 << device for device in range(len(attributes)) if first & ~scalars & 1 << device)
    return ConstraintTable(distinct, first, tuple(after), (*groups.values(), *alone), (), distinct and bool(alone))


def _set_table(attributes: Sequence[Attribute | None], distinct: bool) -> ConstraintTable:
    sets = [None if attribute is None else values_of(attribute) for attribute in attributes]
    number: dict[tuple[AttributeKind, object], int] = {}
    values: list[int] = []
    for found in sets:
        bits = 0
        if found is not None:
            for value in sorted(found[1], key=repr):
                bits |= 1 << number.setdefault((found[0], value), len(number))
        values.append(bits)
    groups = [0] * len(number)
    first = 0
    for device, bits in enumerate(values):
        if bits:
            first |= 1 << device
        for group in range(len(number)):
            if bits >> group & 1:
                groups[group] |= 1 << device
    after: list[int] = []
    for bits in values:
        union = 0
        for group, members in enumerate(groups):
            if bits >> group & 1:
                union |= members
        after.append(first & ~union if distinct else union)
    plain = distinct or all(bits & (bits - 1) == 0 for bits in values)
    return ConstraintTable(distinct, first, tuple(after), tuple(groups), () if plain else tuple(values))
