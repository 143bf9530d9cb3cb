"""A decider: where an aggregate begins, what a command makes of it, and what an event makes of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Generic, TypeVar

C = TypeVar("C")
S = TypeVar("S")
E = TypeVar("E")


class DomainError(Exception):
    """A command was refused; its `reason` is UPPER_SNAKE_CASE and reaches the caller, nothing was recorded."""

    reason = "REFUSED"


class CorruptHistory(Exception):
    """An event cannot follow the state it is folded into: the stream was written by somebody else."""

    def __init__(self, state: object, event: object) -> None:
        super().__init__(f"event {event!r} cannot follow state {state!r}")


@dataclass(frozen=True, slots=True)
class Decider(Generic[C, S, E]):
    """`decide(command, state) -> events` and `evolve(state, event) -> state`, both pure."""

    initial: S
    decide: Callable[[C, S], list[E]]
    evolve: Callable[[S, E], S]

    def fold(self, events: Iterable[E], state: S | None = None) -> S:
        """The state after `events`, from the beginning or from a snapshot."""
        return reduce(self.evolve, events, self.initial if state is None else state)
