"""What the inventory's use cases need from outside."""

from collections.abc import Iterator
from typing import Protocol, TypeVar

from muster_eventstore.envelope import Cause

C_contra = TypeVar("C_contra", contravariant=True)
S_co = TypeVar("S_co", covariant=True)


class Aggregates(Protocol[C_contra, S_co]):
    """All aggregates of one kind, each under its subject, decided and recorded by this process alone."""

    def state(self, subject: str) -> S_co:
        """The aggregate as it is; the initial state when nothing was recorded."""
        ...

    def states(self) -> Iterator[tuple[str, S_co]]:
        """All aggregates with events, by subject."""
        ...

    async def handle(self, subject: str, command: C_contra, cause: Cause) -> object:
        """Decide and record, once for the cause. Raises TransientError when other writers keep winning."""
        ...
