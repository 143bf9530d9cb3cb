"""given / when / then over a decider; used by every test of a `domain` room."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from muster_decider.decider import Decider, DomainError

C = TypeVar("C")
S = TypeVar("S")
E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Decided(Generic[S, E]):
    """What a command decided, and the state after it."""

    events: list[E]
    state: S

    def then(self, *expected: E) -> "Decided[S, E]":
        """The decided events are exactly `expected`."""
        if self.events != list(expected):
            raise AssertionError(f"decided {self.events!r}, expected {list(expected)!r}")
        return self

    def then_nothing(self) -> "Decided[S, E]":
        """The command changed nothing: a repeat or a stale message."""
        return self.then()


@dataclass(frozen=True, slots=True)
class Given(Generic[C, S, E]):
    """An aggregate with a history."""

    decider: Decider[C, S, E]
    state: S

    def when(self, command: C) -> Decided[S, E]:
        """Decide `command` and fold what it decided."""
        events = self.decider.decide(command, self.state)
        return Decided(events, self.decider.fold(events, self.state))

    def when_refused(self, command: C, error: type[DomainError]) -> None:
        """`command` must be refused with `error`."""
        try:
            events = self.decider.decide(command, self.state)
        except error:
            return
        raise AssertionError(f"{command!r} was not refused; it decided {events!r}")


def given(decider: Decider[C, S, E], *history: E) -> Given[C, S, E]:
    """An aggregate after `history`."""
    return Given(decider, decider.fold(history))
