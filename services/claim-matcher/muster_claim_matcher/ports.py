"""What the claim-matcher's use cases need from outside."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from muster_claim_matcher.domain.ledger import Ledger, LedgerCommand
from muster_eventstore.envelope import Cause

T = TypeVar("T")


class Observations(Protocol):
    """How far the stream `observed` has been taken in."""

    @property
    def position(self) -> int:
        """The sequence up to which the world is complete."""
        ...

    async def wait_for(self, sequence: int, deadline: float) -> bool:
        """Until the world covers a sequence; False when it does not within `deadline` seconds."""
        ...


class NewestFact(Protocol):
    """Where the stream `observed` stands at the store."""

    async def __call__(self) -> int:
        """The sequence of its newest message."""
        ...


class Ledgers(Protocol):
    """The ledger of each cluster under its subject, decided and recorded by this process alone."""

    def state(self, subject: str) -> Ledger:
        """The ledger as it is."""
        ...

    async def handle(self, subject: str, command: LedgerCommand, cause: Cause) -> object:
        """Decide and record, once for the cause. Raises DomainError, TransientError."""
        ...

    async def refresh(self, subject: str) -> None:
        """Read what a former process of this service has appended after this one had read the ledger."""
        ...


class Work(Protocol):
    """Where long computations run, so that queries are answered meanwhile."""

    async def __call__(self, compute: Callable[[], T]) -> T:
        """The result of a pure function."""
        ...
