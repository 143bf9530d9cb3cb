"""Functions on lists and maps: the lists extensions of cel-go and of Kubernetes, sets, `includes`, optionals."""

from collections.abc import Callable
from itertools import pairwise

from muster_dra.cel import strings
from muster_dra.cel.operators import add, compare
from muster_dra.cel.values import (
    LIMIT,
    LONGEST_LIST,
    NONE,
    Aborted,
    Duration,
    EvalError,
    Key,
    Optional,
    Timestamp,
    Uint,
    Value,
    check_size,
    from_key,
    holds_equal,
    no_such_overload,
    to_key,
)

_MOST_INCLUDES = 48  # ResourceSliceMaxAttributeValuesPerDevice
_ORDERED = frozenset((int, Uint, float, bool, str, bytes, Duration, Timestamp))
_ZEROS: dict[type, Value] = {int: 0, Uint: Uint(0), float: 0.0, Duration: Duration(0)}


def _list(value: Value) -> tuple[Value, ...]:
    if isinstance(value, tuple):
        return value
    raise no_such_overload()


def _int(value: Value) -> int:
    if type(value) is int:
        return value
    raise no_such_overload()


def _ordered(value: Value) -> tuple[Value, ...]:
    """A list whose first element has an order, as the overloads of these functions ask."""
    items = _list(value)
    if items and type(items[0]) not in _ORDERED:
        raise no_such_overload()
    return items


def includes(target: Value, wanted: Value) -> Value:
    """`target.includes(wanted)`: membership in a list, equality with anything else; never an error of types."""
    if not isinstance(target, tuple):
        return holds_equal(target, wanted)
    for at, item in enumerate(target):
        if at >= _MOST_INCLUDES:
            raise EvalError(f"'includes' function cannot be applied to lists longer than {_MOST_INCLUDES} values")
        if holds_equal(item, wanted):
            return True
    return False


def _order(one: Value, other: Value) -> int | None:
    """-1, 0 or 1; None for two that can't be compared, which upstream passes over."""
    if type(other) not in _ORDERED:
        raise no_such_overload()
    try:
        return compare(one, other)
    except EvalError:
        return None


def is_sorted(value: Value) -> Value:
    """`l.isSorted()`."""
    return all(_order(one, other) != 1 for one, other in pairwise(_ordered(value)))


def total_from(zero: Value) -> Callable[[Value], Value]:
    """`l.sum()`; `zero` is the sum of no elements, by the static type of the list."""

    def total(value: Value) -> Value:
        items = _list(value)
        if not items:
            return zero
        start = _ZEROS.get(type(items[0]))
        if start is None:
            raise no_such_overload()
        for item in items:
            start = add(start, item)
        return start

    return total


def _extreme(name: str, wanted: int) -> Callable[[Value], Value]:
    def choose(value: Value) -> Value:
        items = _ordered(value)
        if not items:
            raise EvalError(f"{name} called on empty list")
        best = items[0]
        for item in items[1:]:
            if _order(best, item) == wanted:
                best = item
        return best

    return choose


least = _extreme("min", 1)
greatest = _extreme("max", -1)


def index_of(holder: Value, wanted: Value, offset: Value = None) -> Value:
    """`indexOf` of lists and strings."""
    if isinstance(holder, str) and isinstance(wanted, str):
        return strings.index_of(holder, wanted, 0 if offset is None else _int(offset))
    if offset is None:
        for at, item in enumerate(_list(holder)):
            if holds_equal(item, wanted):
                return at
        return -1
    raise no_such_overload()


def last_index_of(holder: Value, wanted: Value, offset: Value = None) -> Value:
    """`lastIndexOf` of lists and strings."""
    if isinstance(holder, str) and isinstance(wanted, str):
        return strings.last_index_of(holder, wanted, None if offset is None else _int(offset))
    if offset is None:
        items = _list(holder)
        for at in range(len(items) - 1, -1, -1):
            if holds_equal(items[at], wanted):
                return at
        return -1
    raise no_such_overload()


def part(value: Value, start: Value, end: Value) -> Value:
    """`l.slice(start, end)`."""
    items, first, last = _list(value), _int(start), _int(end)
    if first < 0 or last < 0 or first > last or last > len(items):
        raise EvalError(f"cannot slice({first}, {last}) of a list of {len(items)}")
    return items[first:last]


def _flat(items: tuple[Value, ...], depth: int) -> list[Value]:
    # The depth is bounded by the nesting of the value, and that by the nesting of the expression.
    flat: list[Value] = []
    for item in items:
        if isinstance(item, tuple) and depth > 0:
            flat.extend(_flat(item, depth - 1))
        else:
            flat.append(item)
        check_size(len(flat), LONGEST_LIST)
    return flat


def flatten(value: Value, depth: Value = 1) -> Value:
    """`l.flatten()`, `l.flatten(depth)`."""
    levels = _int(depth)
    if levels < 0:
        raise EvalError("level must be non-negative")
    return tuple(_flat(_list(value), levels))


def count(length: Value) -> Value:
    """`lists.range(length)`."""
    most = _int(length)
    if most > LIMIT:
        raise Aborted("a list of so many elements costs more than the limit")
    return tuple(range(most))


def reverse(value: Value) -> Value:
    """`l.reverse()`."""
    return _list(value)[::-1]


def distinct(value: Value) -> Value:
    """`l.distinct()`: the first of equal elements stays."""
    kept: list[Value] = []
    for item in _list(value):
        if not any(holds_equal(item, other) for other in kept):
            kept.append(item)
    return tuple(kept)


class _ByValue:
    """A sort key with CEL's order."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __lt__(self, other: "_ByValue") -> bool:
        return compare(self.value, other.value) < 0


def sort_by(value: Value, keys: Value) -> Value:
    """The elements in the order of their keys; what `l.sortBy(x, key)` expands to."""
    items, by = _list(value), _list(keys)
    if len(items) != len(by):
        raise EvalError("the sort keys are not as many as the elements")
    if by and type(by[0]) not in _ORDERED:
        raise EvalError("list elements must be comparable")
    if any(type(key) is not type(by[0]) for key in by):
        raise EvalError("list elements must have the same type")
    order = sorted(range(len(items)), key=lambda at: _ByValue(by[at]))
    return tuple(items[at] for at in order)


def sort(value: Value) -> Value:
    """`l.sort()`."""
    return sort_by(value, value)


def first(value: Value) -> Value:
    """`l.first()`."""
    items = _list(value)
    return Optional(True, items[0]) if items else NONE


def last(value: Value) -> Value:
    """`l.last()`."""
    items = _list(value)
    return Optional(True, items[-1]) if items else NONE


def _in(element: Value, items: tuple[Value, ...]) -> bool:
    return any(holds_equal(element, item) for item in items)


def sets_contains(whole: Value, subset: Value) -> Value:
    """`sets.contains(whole, subset)`."""
    items = _list(whole)
    return all(_in(element, items) for element in _list(subset))


def sets_equivalent(one: Value, other: Value) -> Value:
    """`sets.equivalent(one, other)`."""
    return bool(sets_contains(one, other)) and bool(sets_contains(other, one))


def sets_intersects(one: Value, other: Value) -> Value:
    """`sets.intersects(one, other)`."""
    items = _list(other)
    return any(_in(element, items) for element in _list(one))


def map_insert(target: Value, *entry: Value) -> Value:
    """The map with one more entry, or with those of another map; what `transformMap` expands to."""
    if not isinstance(target, dict):
        raise no_such_overload()
    added: dict[Key, Value] = dict(target)
    if len(entry) == 2:
        new = {to_key(entry[0]): entry[1]}
    elif isinstance(entry[0], dict):
        new = entry[0]
    else:
        raise no_such_overload()
    for key, value in new.items():
        if key in added:
            raise EvalError(f"insert failed: key {from_key(key)} already exists")
        added[key] = value
    return added
