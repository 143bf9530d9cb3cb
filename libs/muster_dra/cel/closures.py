"""The functions that plans are made of: logic, choice, equality, literals. Each takes a frame and gives a value."""

from collections.abc import Sequence

from muster_dra.cel.functions import Implementation
from muster_dra.cel.plan import Evaluate, Frame
from muster_dra.cel.values import (
    KEY_TYPES,
    Aborted,
    BoolKey,
    EvalError,
    Key,
    Optional,
    Value,
    equals,
    holds_equal,
    no_such_overload,
    to_key,
)


def constant(value: Value) -> Evaluate:
    """Always the same value."""

    def run(_: Frame) -> Value:
        return value

    return run


def slot(at: int) -> Evaluate:
    """The value of a loop's variable."""

    def run(frame: Frame) -> Value:
        return frame[at]

    return run


def apply(implementation: Implementation, args: Sequence[Evaluate]) -> Evaluate:
    """A function of its arguments, all evaluated first."""
    match args:
        case []:
            return lambda _: implementation()
        case [one]:
            return lambda frame: implementation(one(frame))
        case [one, two]:
            return lambda frame: implementation(one(frame), two(frame))
        case _:
            return lambda frame: implementation(*[arg(frame) for arg in args])


def both(left: Evaluate, right: Evaluate) -> Evaluate:
    """`left && right`: false if either is, whatever becomes of the other."""

    def run(frame: Frame) -> Value:
        failed: EvalError | None = None
        try:
            first = left(frame)
            if first is False:
                return False
            if first is not True:
                failed = no_such_overload()
        except EvalError as error:
            failed = error
        second = right(frame)
        if second is False:
            return False
        if failed is not None:
            raise failed
        if second is True:
            return True
        raise no_such_overload()

    return run


def either(left: Evaluate, right: Evaluate) -> Evaluate:
    """`left || right`: true if either is, whatever becomes of the other."""

    def run(frame: Frame) -> Value:
        failed: EvalError | None = None
        try:
            first = left(frame)
            if first is True:
                return True
            if first is not False:
                failed = no_such_overload()
        except EvalError as error:
            failed = error
        second = right(frame)
        if second is True:
            return True
        if failed is not None:
            raise failed
        if second is False:
            return False
        raise no_such_overload()

    return run


def negation(value: Value) -> Value:
    """`!value`."""
    if value is True:
        return False
    if value is False:
        return True
    raise no_such_overload()


def not_strictly_false(operand: Evaluate) -> Evaluate:
    """Whether a loop goes on: false only if the operand is false, an error counts as true."""

    def run(frame: Frame) -> Value:
        try:
            return operand(frame) is not False
        except EvalError:
            return True

    return run


def choose(condition: Evaluate, yes: Evaluate, no: Evaluate) -> Evaluate:
    """`condition ? yes : no`."""

    def run(frame: Frame) -> Value:
        value = condition(frame)
        if value is True:
            return yes(frame)
        if value is False:
            return no(frame)
        raise no_such_overload()

    return run


def equal(left: Value, right: Value) -> Value:
    """`left == right`."""
    return equals(left, right)


def unequal(left: Value, right: Value) -> Value:
    """`left != right`: true also where `==` is an error."""
    return not holds_equal(left, right)


def first_present(left: Evaluate, right: Evaluate, *, unwrap: bool) -> Evaluate:
    """`left.or(right)`, and with `unwrap` `left.orValue(right)`; the right side is evaluated only if it is needed."""

    def run(frame: Frame) -> Value:
        value = left(frame)
        if not isinstance(value, Optional):
            raise no_such_overload()
        if not value.present:
            return right(frame)
        return value.content if unwrap else value

    return run


def membership(element: Evaluate, members: frozenset[Key], unhashable: frozenset[type]) -> Evaluate:
    """`element in [constants]` as upstream runs it: by hash, so that an element without one ends the evaluation."""

    def run(frame: Frame) -> Value:
        value = element(frame)
        kind = type(value)
        if kind in unhashable:
            raise Aborted(f"hash of unhashable type {kind.__name__}")
        if kind is bool:
            return BoolKey(value) in members
        return kind in KEY_TYPES and value in members

    return run


def make_list(elements: Sequence[Evaluate], optional: frozenset[int]) -> Evaluate:
    """A list literal."""
    if not optional:
        return lambda frame: tuple([element(frame) for element in elements])

    def run(frame: Frame) -> Value:
        found: list[Value] = []
        for at, element in enumerate(elements):
            value = element(frame)
            if at in optional:
                if not isinstance(value, Optional):
                    raise EvalError("cannot initialize optional list element from non-optional value")
                if not value.present:
                    continue
                value = value.content
            found.append(value)
        return tuple(found)

    return run


def make_map(entries: Sequence[tuple[Evaluate, Evaluate, bool]]) -> Evaluate:
    """A map literal; of equal keys the last one counts."""

    def run(frame: Frame) -> Value:
        found: dict[Key, Value] = {}
        for key, value, optional in entries:
            at, item = to_key(key(frame)), value(frame)
            if optional:
                if not isinstance(item, Optional):
                    raise EvalError("cannot initialize optional entry from non-optional value")
                if not item.present:
                    found.pop(at, None)
                    continue
                item = item.content
            found[at] = item
        return found

    return run
