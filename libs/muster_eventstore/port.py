"""What the services need of a store of streams: `jetstream.py` and `memory.py` give it, `testing.py` proves it."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol

from muster_eventstore.envelope import EventMeta

NO_HEADERS: Mapping[str, str] = {}
NEW = 0  # expected sequence of a subject that must not exist yet


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as a stream keeps it; `time` is when it was stored."""

    stream: str
    sequence: int
    subject: str
    data: bytes
    headers: Mapping[str, str]
    time: datetime


@dataclass(frozen=True, slots=True)
class Appended:
    """Stored, now or by an earlier attempt with the same message id."""

    sequence: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """Not stored: the subject's last sequence is another one (0: it has no message)."""

    last_sequence: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """Messages in stream order; `pending` counts the matching ones stored behind them, 0 when the reader is level."""

    messages: Sequence[StoredMessage]
    pending: int


@dataclass(frozen=True, slots=True)
class StreamState:
    """Where a stream stands, and how many messages it holds. `incarnation` differs after the stream was deleted and
    made again."""

    first_sequence: int
    last_sequence: int
    messages: int
    incarnation: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A message to publish."""

    subject: str
    payload: bytes
    meta: EventMeta


class Start(Enum):
    """What a starting consumer does with messages that an earlier process took and did not finish.

    RESET: it is the only one, so they are delivered again at once and in stream order.
    JOIN: others may be at work on them, so they come back after `ack_wait`, out of order.
    """

    RESET = "reset"
    JOIN = "join"


@dataclass(frozen=True, slots=True)
class ConsumerSpec:
    """A durable consumer; it is created or brought up to date when opened. Times in seconds."""

    stream: str
    durable: str
    subjects: tuple[str, ...]
    start: Start = Start.RESET
    ack_wait: float = 10.0
    max_ack_pending: int = 256


class Delivery(Protocol):
    """A message handed to a durable consumer; it comes again unless acknowledged or terminated."""

    @property
    def message(self) -> StoredMessage:
        """What was delivered."""
        ...

    @property
    def attempt(self) -> int:
        """How often the message was delivered, from 1."""
        ...

    async def ack(self) -> None:
        """Done; a work queue forgets the message."""
        ...

    async def term(self) -> None:
        """Given up; not delivered again."""
        ...

    async def nak(self) -> None:
        """Not handled; deliver it again at once."""
        ...

    async def in_progress(self) -> None:
        """Still at work; `ack_wait` begins anew."""
        ...


class Inbox(Protocol):
    """An open durable consumer."""

    async def fetch(self, wait: float) -> Sequence[Delivery]:
        """The next messages in stream order, as soon as there is one; empty after `wait` seconds."""
        ...

    async def close(self) -> None:
        """Stop taking messages; what was fetched and not acknowledged comes again."""
        ...


class EventStore(Protocol):
    """Streams with an expected version per subject. Every method waits out an absent server; bound it by a timeout."""

    async def append(
        self, subject: str, expected: int, payload: bytes, meta: EventMeta, headers: Mapping[str, str] = NO_HEADERS
    ) -> Appended | Conflict:
        """Store if the last sequence of `subject` is `expected` (0: none), exactly once for `meta.id`.

        Raises PermanentError when the store refuses the message itself (no such stream, too large).
        """
        ...

    async def publish(
        self, subject: str, payload: bytes, meta: EventMeta, headers: Mapping[str, str] = NO_HEADERS
    ) -> Appended:
        """Store without an expectation; a repeat of `meta.id` within the stream's duplicate window is not stored."""
        ...

    async def publish_all(self, drafts: Sequence[Draft]) -> int:
        """Store facts of one stream in order, all of them or none; the sequence of the last. Repeats are stored again,
        so use it only where the newest message of a subject is all that counts."""
        ...

    def read(self, stream: str, subjects: Sequence[str] = (), after: int = 0) -> AsyncGenerator[Chunk, None]:
        """All messages after a sequence, in order and without a gap, then those to come, for ever. The first chunk may
        be empty. Raises StreamRegressed when the stream ends before `after`; work queues cannot be read."""
        ...

    async def last(self, subject: str) -> StoredMessage | None:
        """The newest message of a subject."""
        ...

    async def get(self, stream: str, sequence: int) -> StoredMessage | None:
        """The message at a sequence."""
        ...

    async def delete(self, stream: str, sequence: int) -> None:
        """Take one message out of a stream; nothing happens when it is not there."""
        ...

    async def purge(self, subject: str) -> None:
        """Take all messages of a subject out of its stream."""
        ...

    async def state(self, stream: str) -> StreamState:
        """Where a stream stands."""
        ...

    async def open_inbox(self, spec: ConsumerSpec) -> Inbox:
        """Create the durable consumer or bring it up to date, and take messages from it."""
        ...
