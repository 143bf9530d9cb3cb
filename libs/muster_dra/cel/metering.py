"""Counting the cost of an evaluation in its frame; see `cost` for the rules."""

from collections.abc import MutableSequence, Sequence

from muster_dra.cel.cost import LIMIT, Rule, needs_result
from muster_dra.cel.functions import Implementation
from muster_dra.cel.plan import SPENT, Evaluate, Frame
from muster_dra.cel.values import Aborted, EvalError, Optional, Value


def spend(frame: Frame, cost: int) -> None:
    """Adds to what the evaluation has cost. Raises Aborted beyond the limit."""
    counters: MutableSequence[int] = frame  # pyright: ignore[reportAssignmentType]  # a metered plan runs on a list
    spent = counters[SPENT] + cost
    counters[SPENT] = spent
    if spent > LIMIT:
        raise Aborted("operation cancelled: actual cost limit exceeded")


def charged(run: Evaluate, cost: int) -> Evaluate:
    """The same function, charging a fixed cost when it has run, with whatever outcome."""

    def metered(frame: Frame) -> Value:
        try:
            value = run(frame)
        except EvalError:
            spend(frame, cost)
            raise
        spend(frame, cost)
        return value

    return metered


def charged_optional(implementation: Implementation, operand: Evaluate, key: Evaluate) -> Evaluate:
    """A selection, which costs 1; an optional one costs only if it finds something."""

    def metered(frame: Frame) -> Value:
        holder = operand(frame)
        at = key(frame)
        try:
            value = implementation(holder, at)
        except EvalError:
            spend(frame, 1)
            raise
        if not isinstance(value, Optional) or value.present:
            spend(frame, 1)
        return value

    return metered


def charged_call(implementation: Implementation, args: Sequence[Evaluate], rule: Rule) -> Evaluate:
    """A function of its arguments, charged by its rule; up to two arguments are evaluated even if the first fails."""
    lenient = len(args) <= 2
    afterwards = needs_result(rule)

    def metered(frame: Frame) -> Value:
        values: list[Value] = []
        failed: EvalError | None = None
        for arg in args:
            try:
                values.append(arg(frame))
            except EvalError as error:
                if not lenient:
                    raise
                failed = failed or error
                values.append(None)
        if failed is not None:
            spend(frame, rule(values, None))
            raise failed
        if not afterwards:
            spend(frame, rule(values, None))
            return implementation(*values)
        result = implementation(*values)
        spend(frame, rule(values, result))
        return result

    return metered
