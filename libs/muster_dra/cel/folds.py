"""Loops: what the iterating macros, `cel.bind` and `optMap` run as.

With `metered` a loop charges what upstream's generic loop would: each name read, each call and each list made in it.
"""

from collections.abc import Iterable, MutableSequence
from typing import Any, cast

from muster_dra.cel import access
from muster_dra.cel.cost import LIST
from muster_dra.cel.metering import spend
from muster_dra.cel.plan import SPENT, Evaluate, Frame
from muster_dra.cel.values import NONE, EvalError, Key, Optional, Value, from_key, no_such_overload, to_key

_Slots = MutableSequence[Any]


class _Unset:
    """What an accumulator's slot holds until it is read."""


_UNSET = _Unset()


def _outcome(evaluate: Evaluate, frame: Frame) -> Value | EvalError:
    try:
        return evaluate(frame)
    except EvalError as error:
        return error


def accumulator(at: int, init: Evaluate) -> Evaluate:
    """The accumulator: its first value is computed when it is first read, and an error stays in it as a value."""

    def run(frame: Frame) -> Value:
        value = frame[at]
        if value is _UNSET:
            slots: _Slots = frame  # pyright: ignore[reportAssignmentType]  # a plan with slots runs on a list
            value = slots[at] = _outcome(init, frame)
        if isinstance(value, EvalError):
            raise value
        return value

    return run


def bound(at: int, init: Evaluate) -> Evaluate:
    """The variable of a `bind`: computed when it is first read."""

    def run(frame: Frame) -> Value:
        value = frame[at]
        if value is _UNSET:
            slots: _Slots = frame  # pyright: ignore[reportAssignmentType]  # a plan with slots runs on a list
            value = slots[at] = init(frame)
        return value

    return run


def bind(at: int, result: Evaluate) -> Evaluate:
    """A result that may read a variable of its own: `cel.bind`, `optMap`."""

    def run(frame: Frame) -> Value:
        slots: _Slots = frame  # pyright: ignore[reportAssignmentType]  # a plan with slots runs on a list
        slots[at] = _UNSET
        return result(frame)

    return run


def _rounds(items: Value, variables: tuple[int, ...]) -> Iterable[tuple[Value, ...]]:
    if len(variables) == 2:
        return access.iterate_pairs(items)
    return ((item,) for item in access.iterate(items))


def fold(over: Evaluate, accu: int, variables: tuple[int, ...], parts: tuple[Evaluate, Evaluate, Evaluate]) -> Evaluate:
    """The general loop: `parts` are condition, step and result; an error of a step is the accumulator's value."""
    condition, step, result = parts

    def run(frame: Frame) -> Value:
        slots: _Slots = frame  # pyright: ignore[reportAssignmentType]  # a plan with slots runs on a list
        items = over(frame)
        slots[accu] = _UNSET
        for values in _rounds(items, variables):
            for at, value in zip(variables, values, strict=True):
                slots[at] = value
            if _outcome(condition, frame) is False:
                break
            slots[accu] = _outcome(step, frame)
        return result(frame)

    return run


def quantifier(
    over: Evaluate, variables: tuple[int, ...], predicate: Evaluate, *, ends_with: bool, metered: bool
) -> Evaluate:
    """`all` (ends with False) and `exists` (ends with True); an error counts unless the loop ends early."""
    if not metered:
        return _plain_quantifier(over, variables, predicate, ends_with=ends_with)
    check = 3 if ends_with else 2  # what the loop's condition costs

    def run(frame: Frame) -> Value:
        slots: _Slots = frame  # pyright: ignore[reportAssignmentType]  # a plan with slots runs on a list
        failed: EvalError | None = None
        ended = False
        for values in _rounds(over(frame), variables):
            if ended:
                spend(frame, check)
                break
            spend(frame, check + 1)
            for at, value in zip(variables, values, strict=True):
                slots[at] = value
            try:
                ended = _is(predicate(frame), ends_with)
            except EvalError as error:
                failed = failed or error
        spend(frame, 1)
        if failed is not None and not ended:
            raise failed
        return ended is ends_with

    return run


def _is(value: Value, wanted: bool) -> bool:
    if value is wanted:
        return True
    if value is (not wanted):
        return False
    raise no_such_overload()


def _plain_quantifier(over: Evaluate, variables: tuple[int, ...], predicate: Evaluate, *, ends_with: bool) -> Evaluate:
    first = variables[0]
    single = len(variables) == 1

    def run(frame: Frame) -> Value:
        slots: _Slots = frame  # pyright: ignore[reportAssignmentType]  # a plan with slots runs on a list
        failed: EvalError | None = None
        items = over(frame)
        for item in access.iterate(items) if single else access.iterate_pairs(items):
            if single:
                slots[first] = item
            else:
                slots[first], slots[variables[1]] = cast(tuple[Value, Value], item)
            try:
                found = predicate(frame)
                if found is ends_with:
                    return ends_with
                if found is not (not ends_with):
                    raise no_such_overload()
            except EvalError as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return not ends_with

    return run


def collect(
    over: Evaluate, variables: tuple[int, ...], predicate: Evaluate | None, item: Evaluate, *, metered: bool
) -> Evaluate:
    """`map`, `filter`, `transformList`: a list of the items for which the predicate holds."""

    def run(frame: Frame) -> Value:
        slots: _Slots = frame  # pyright: ignore[reportAssignmentType]  # a plan with slots runs on a list
        found: list[Value] = []
        for values in _rounds(over(frame), variables):
            for at, value in zip(variables, values, strict=True):
                slots[at] = value
            if predicate is not None and not _holds(predicate(frame)):
                continue
            found.append(item(frame))
            if metered:
                spend(frame, 1 + LIST + 1)
        if metered:
            spend(frame, 1)
        return tuple(found)

    return run


def collect_entries(
    over: Evaluate,
    variables: tuple[int, ...],
    predicate: Evaluate | None,
    entry: tuple[Evaluate | None, Evaluate],
    *,
    metered: bool,
) -> Evaluate:
    """`transformMap` and, without a key function, `transformMapEntry`: a map of the entries, none of them twice."""
    make_key, make_value = entry

    def run(frame: Frame) -> Value:
        slots: _Slots = frame  # pyright: ignore[reportAssignmentType]  # a plan with slots runs on a list
        found: dict[Key, Value] = {}
        for values in _rounds(over(frame), variables):
            for at, value in zip(variables, values, strict=True):
                slots[at] = value
            if predicate is not None and not _holds(predicate(frame)):
                continue
            if make_key is None:
                added = make_value(frame)
                if not isinstance(added, dict):
                    raise no_such_overload()
            else:
                added = {to_key(make_key(frame)): make_value(frame)}
            for key, value in added.items():
                if key in found:
                    raise EvalError(f"insert failed: key {from_key(key)} already exists")
                found[key] = value
            if metered:
                spend(frame, 1 + 1)
        if metered:
            spend(frame, 1)
        return found

    return run


def opt_map(target: Evaluate, places: tuple[int, int], result: Evaluate, *, wraps: bool, metered: bool) -> Evaluate:
    """`optMap` and `optFlatMap`: the operand is evaluated once. Upstream evaluates it again when the variable is read
    first, which `opt_map_variable` charges from the second of the two places.
    """
    at, owed = places

    def run(frame: Frame) -> Value:
        slots: _Slots = frame  # pyright: ignore[reportAssignmentType]  # a plan with slots runs on a list
        before = frame[SPENT] if metered else 0
        found = target(frame)
        if metered:
            slots[owed] = frame[SPENT] - before + 1
            spend(frame, 1)
        if not isinstance(found, Optional):
            raise no_such_overload()
        if not found.present:
            if metered:
                spend(frame, 1)
            return NONE
        slots[at] = found.content
        value = result(frame)
        if not wraps:
            return value
        if metered:
            spend(frame, 1)
        return Optional(True, value)

    return run


def opt_map_variable(places: tuple[int, int]) -> Evaluate:
    """The variable of a metered `optMap`."""
    at, owed = places

    def run(frame: Frame) -> Value:
        debt = frame[owed]
        if debt:
            slots: _Slots = frame  # pyright: ignore[reportAssignmentType]  # a plan with slots runs on a list
            slots[owed] = 0
            spend(frame, debt)
        return frame[at]

    return run


def _holds(value: Value) -> bool:
    if value is True or value is False:
        return value
    raise no_such_overload()
