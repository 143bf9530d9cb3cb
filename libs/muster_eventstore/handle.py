"""Load, fold, decide, append at the expected version: the one way a command becomes events."""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, Protocol, TypeVar

import structlog
from google.protobuf.message import Message

from muster_decider import Decider
from muster_eventstore import metrics
from muster_eventstore.codec import BATCH, Batch, Codec, Decoded, UnknownType
from muster_eventstore.envelope import Cause, caused, derived_id
from muster_eventstore.errors import Fenced, TransientError, UndecodableHistory
from muster_eventstore.port import NEW, Conflict, EventStore, StoredMessage

log = structlog.get_logger("muster.handler")

C = TypeVar("C")
S = TypeVar("S")
E = TypeVar("E")
_ROUNDS = 20  # lost races for one subject before the command is handed back as transient


class Wire(Protocol[E]):
    """A service's translation of its own events, total in both directions."""

    def to_wire(self, event: E) -> Message:
        """The event as a message of a registered type."""
        ...

    def from_wire(self, message: Message) -> E:
        """The inverse of `to_wire`."""
        ...


@dataclass(frozen=True, slots=True)
class Recorded(Generic[S, E]):
    """The command's outcome, recorded now or by an earlier delivery of it. `sequence` is where its batch stands in the
    stream, `version` counts the aggregate's events after it; `state` is the aggregate as it is now."""

    sequence: int
    version: int
    events: tuple[E, ...]
    state: S


@dataclass(frozen=True, slots=True)
class Unchanged(Generic[S]):
    """Nothing to record: a repeat, or a stale message. `sequence` is that of the aggregate's last batch."""

    sequence: int
    state: S


@dataclass(slots=True)
class _Aggregate(Generic[S]):
    state: S
    sequence: int = NEW
    version: int = 0
    token: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True)
class _Outcome(Generic[E]):
    sequence: int
    version: int
    events: tuple[E, ...]


class CommandHandler(Generic[C, S, E]):
    """All aggregates of one kind that this process writes, in memory.

    `fence` gives the fencing token of the lease under which this process writes, 0 without a lease. `remember` bounds
    how many outcomes a repeated command can get back; older repeats are for the aggregate to decide `[]` on.
    """

    def __init__(
        self,
        store: EventStore,
        codec: Codec,
        decider: Decider[C, S, E],
        wire: Wire[E],
        *,
        stream: str,
        source: str,
        now: Callable[[], datetime],
        fence: Callable[[], int] = lambda: 0,
        remember: int = 20_000,
    ) -> None:
        self._store = store
        self._codec = codec
        self._decider = decider
        self._wire = wire
        self._stream = stream
        self._source = source
        self._now = now
        self._fence = fence
        self._remember = remember
        self._aggregates: dict[str, _Aggregate[S]] = {}
        self._outcomes: OrderedDict[str, _Outcome[E]] = OrderedDict()
        self._position = 0
        self._newest_token = 0

    @property
    def newest_token(self) -> int:
        """The greatest fencing token among the events that the aggregates reflect."""
        return self._newest_token

    @property
    def position(self) -> int:
        """The highest stream sequence that the aggregates reflect."""
        return self._position

    def state(self, subject: str) -> S:
        """The aggregate of a subject as it is; the initial state when it has no events."""
        aggregate = self._aggregates.get(subject)
        return self._decider.initial if aggregate is None else aggregate.state

    def states(self) -> Iterator[tuple[str, S]]:
        """All aggregates with events, by subject."""
        for subject in sorted(self._aggregates):
            if self._aggregates[subject].sequence != NEW:
                yield subject, self._aggregates[subject].state

    async def load(self, subjects: Sequence[str]) -> int:
        """Fold everything stored under the filters `subjects`; the number of batches. Once, before the first command.

        Raises UndecodableHistory when the stream holds a type that this code does not know.
        """
        count = 0
        stream = self._store.read(self._stream, subjects, self._position)
        async with contextlib.aclosing(stream) as chunks:
            async for chunk in chunks:
                for message in chunk.messages:
                    self._fold(message)
                    count += 1
                if chunk.pending == 0:
                    break
        return count

    async def handle(self, subject: str, command: C, cause: Cause) -> Recorded[S, E] | Unchanged[S]:
        """Decide `command` on the aggregate of `subject` and record what it decided, exactly once for `cause.id`.

        Raises DomainError (refused, nothing recorded), Fenced (another holder writes), TransientError (races lost).
        """
        aggregate = self._aggregate(subject)
        message_id = derived_id(cause.id, subject)
        async with aggregate.lock:
            for _ in range(_ROUNDS):
                outcome = self._outcomes.get(message_id)
                if outcome is not None:
                    return Recorded(outcome.sequence, outcome.version, outcome.events, aggregate.state)
                events = self._decider.decide(command, aggregate.state)
                if not events:
                    return Unchanged(aggregate.sequence, aggregate.state)
                recorded = await self._append(subject, aggregate, tuple(events), cause, message_id)
                if recorded is not None:
                    return recorded
        raise TransientError(f"{subject}: lost {_ROUNDS} races against another writer")

    async def refresh(self, subject: str) -> None:
        """Read what another process has appended: one that ended may have had an append under way, which the store
        took after this process had loaded."""
        aggregate = self._aggregate(subject)
        async with aggregate.lock:
            await self._catch_up(subject, aggregate)

    async def take_over(self, is_open: Callable[[S], bool] = lambda _: True) -> int:
        """Fence every open aggregate: an empty batch with this holder's token moves each subject on, so that the store
        refuses what a former holder still tries to append. The number of aggregates fenced."""
        count = 0
        for subject in sorted(self._aggregates):
            aggregate = self._aggregates[subject]
            async with aggregate.lock:
                while aggregate.sequence != NEW and aggregate.token < self._fence() and is_open(aggregate.state):
                    cause = Cause.first(derived_id("fence", subject, self._fence()))
                    if await self._append(subject, aggregate, (), cause, derived_id(cause.id, subject)) is not None:
                        count += 1
        return count

    async def _append(
        self, subject: str, aggregate: _Aggregate[S], events: tuple[E, ...], cause: Cause, message_id: str
    ) -> Recorded[S, E] | None:
        token = self._fence()
        if token < aggregate.token:
            raise Fenced(subject, token, aggregate.token)
        state = self._decider.fold(events, aggregate.state)  # an event that cannot follow fails before it is stored
        version = aggregate.version + len(events)
        batch = Batch(tuple(map(self._wire.to_wire, events)), version, token, cause.id)
        meta = caused(cause, message_id, type=BATCH, source=self._source, subject=subject, time=self._now())
        answer = await self._store.append(subject, aggregate.sequence, self._codec.encode(batch), meta)
        if isinstance(answer, Conflict):
            metrics.CONFLICTS.labels(self._stream).inc()
            await self._catch_up(subject, aggregate)
            return None
        metrics.APPENDED.labels(self._stream).inc()
        if answer.sequence <= aggregate.sequence:
            # The store knows the command from an earlier delivery that is forgotten here.
            return await self._recorded_at(answer.sequence, aggregate)
        aggregate.state, aggregate.sequence, aggregate.version = state, answer.sequence, version
        aggregate.token = max(aggregate.token, token)
        self._newest_token = max(self._newest_token, token)
        self._position = max(self._position, answer.sequence)
        self._record(message_id, _Outcome(answer.sequence, version, events))
        return Recorded(answer.sequence, version, events, state)

    async def _recorded_at(self, sequence: int, aggregate: _Aggregate[S]) -> Recorded[S, E]:
        message = await self._store.get(self._stream, sequence)
        decoded = None if message is None else self._codec.decode(message.headers, message.data)
        if not isinstance(decoded, Decoded):
            raise UndecodableHistory(self._stream, sequence, "the outcome of a repeated command cannot be read")
        events = tuple(map(self._wire.from_wire, decoded.batch.events))
        return Recorded(sequence, decoded.batch.version, events, aggregate.state)

    async def _catch_up(self, subject: str, aggregate: _Aggregate[S]) -> None:
        stream = self._store.read(self._stream, [subject], aggregate.sequence)
        async with contextlib.aclosing(stream) as chunks:
            async for chunk in chunks:
                for message in chunk.messages:
                    self._fold(message)
                if chunk.pending == 0:
                    return

    def _fold(self, message: StoredMessage) -> None:
        aggregate = self._aggregate(message.subject)
        self._position = max(self._position, message.sequence)
        if message.sequence <= aggregate.sequence:
            return
        decoded = self._codec.decode(message.headers, message.data)
        aggregate.sequence = message.sequence
        if isinstance(decoded, UnknownType) and message.headers.get("ce-type") == BATCH:
            raise UndecodableHistory(message.stream, message.sequence, str(decoded))
        if not isinstance(decoded, Decoded) or decoded.meta.type != BATCH:
            # Somebody else's bytes on our subject: they are no fact of ours, but they move the expected sequence.
            metrics.UNREADABLE.labels(self._source).inc()
            log.error("unreadable message on own stream skipped", subject=message.subject, reason=str(decoded))
            return
        events = tuple(map(self._wire.from_wire, decoded.batch.events))
        aggregate.state = self._decider.fold(events, aggregate.state)
        aggregate.version = decoded.batch.version
        aggregate.token = max(aggregate.token, decoded.batch.token)
        self._newest_token = max(self._newest_token, decoded.batch.token)
        self._record(decoded.meta.id, _Outcome(message.sequence, aggregate.version, events))

    def _aggregate(self, subject: str) -> _Aggregate[S]:
        aggregate = self._aggregates.get(subject)
        if aggregate is None:
            aggregate = self._aggregates[subject] = _Aggregate(self._decider.initial)
        return aggregate

    def _record(self, message_id: str, outcome: _Outcome[E]) -> None:
        self._outcomes[message_id] = outcome
        while len(self._outcomes) > self._remember:
            self._outcomes.popitem(last=False)
