"""A value that must be there by the planner's own construction."""

from typing import TypeVar

_Value = TypeVar("_Value")


def present(value: _Value | None, what: str) -> _Value:
    """The value; a missing one is a defect of the planner and raises LookupError."""
    if value is None:
        raise LookupError(f"{what} is missing: a defect of the planner")
    return value
