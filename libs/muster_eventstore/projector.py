"""Stream -> read model, by the checkpointed reader: strict order, no acknowledgements, position kept with the model."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

import structlog

from muster_eventstore import metrics
from muster_eventstore.codec import Codec, Decoded, Undecodable
from muster_eventstore.parked import park
from muster_eventstore.port import Chunk, EventStore, StoredMessage
from muster_eventstore.snapshots import Snapshot, SnapshotStore

log = structlog.get_logger("muster.projector")


class ReadModel(Protocol):
    """A fold of a stream. `apply` is called once for each message, in order, and must not fail on a known type."""

    def apply(self, message: StoredMessage, decoded: Decoded) -> None:
        """Take one message in."""
        ...


@runtime_checkable
class SnapshotModel(ReadModel, Protocol):
    """A read model that can be kept. `schema` changes whenever the form of its dump or the meaning of a fold does."""

    @property
    def schema(self) -> int:
        """The number of the form that `dump` writes."""
        ...

    def dump(self) -> bytes:
        """The whole model; equal models give equal bytes."""
        ...

    def restore(self, data: bytes) -> None:
        """Become the model that was dumped under the same schema number."""
        ...


class Projector:
    """Keeps `model` level with a stream.

    A message that cannot be decoded is parked under the projector's name, counted, and passed over: the rest goes on.
    With `snapshots` the model must be a SnapshotModel; it is saved every `snapshot_every` messages, and on stop.
    """

    def __init__(
        self,
        store: EventStore,
        codec: Codec,
        model: ReadModel | SnapshotModel,
        *,
        name: str,
        stream: str,
        subjects: Sequence[str] = (),
        now: Callable[[], datetime],
        snapshots: SnapshotStore | None = None,
        snapshot_every: int = 50_000,
    ) -> None:
        if snapshots is not None and not isinstance(model, SnapshotModel):
            raise TypeError(f"{type(model).__name__} has no schema, dump and restore, so it cannot be kept")
        self._store = store
        self._codec = codec
        self._model = model
        self._name = name
        self._stream = stream
        self._subjects = tuple(subjects)
        self._now = now
        self._snapshots = snapshots
        self._snapshot_every = snapshot_every
        self._incarnation = ""
        self._position = 0
        self._saved = 0
        self._level = asyncio.Event()
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []

    @property
    def position(self) -> int:
        """The stream sequence up to which the model is complete."""
        return self._position

    async def wait_ready(self) -> None:
        """Until everything that was stored at the start has been applied."""
        await self._level.wait()

    async def wait_for(self, sequence: int, deadline: float) -> bool:
        """Until the model covers `sequence`; False when it does not within `deadline` seconds.

        The sequence must be that of a message that this projector reads.
        """
        if self._position >= sequence:
            return True
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (sequence, waiter)
        self._waiters.append(entry)
        try:
            async with asyncio.timeout(deadline):
                await waiter
        except TimeoutError:
            return False
        finally:
            if entry in self._waiters:
                self._waiters.remove(entry)
        return True

    async def run(self) -> None:
        """Restore, replay, then follow, until cancelled; saves on the way out."""
        await self._restore()
        reader = self._store.read(self._stream, self._subjects, self._position)
        try:
            async with contextlib.aclosing(reader) as chunks:
                async for chunk in chunks:
                    await self._apply(chunk)
        finally:
            # A projection that is cancelled is whole: messages are applied between awaits.
            await asyncio.shield(self._save())

    async def _apply(self, chunk: Chunk) -> None:
        for message in chunk.messages:
            decoded = self._codec.decode(message.headers, message.data)
            if isinstance(decoded, Decoded):
                self._model.apply(message, decoded)
            else:
                await self._pass_over(message, decoded)
            self._position = message.sequence
        metrics.POSITION.labels(self._name).set(self._position)
        self._wake()
        if chunk.pending == 0:
            self._level.set()
        if self._position - self._saved >= self._snapshot_every:
            await self._save()

    async def _pass_over(self, message: StoredMessage, why: Undecodable) -> None:
        metrics.UNREADABLE.labels(self._name).inc()
        log.error(
            "unreadable message passed over",
            projection=self._name,
            stream=message.stream,
            sequence=message.sequence,
            subject=message.subject,
            reason=str(why),
        )
        await park(self._store, self._name, message, f"UNDECODABLE: {why}", attempts=1, now=self._now())

    def _wake(self) -> None:
        for sequence, waiter in self._waiters:
            if sequence <= self._position and not waiter.done():
                waiter.set_result(None)

    async def _restore(self) -> None:
        state = await self._store.state(self._stream)
        self._incarnation = state.incarnation
        if self._snapshots is None or not isinstance(self._model, SnapshotModel):
            return
        snapshot = await self._snapshots.load(self._name)
        if snapshot is None:
            return
        wanted = (self._stream, state.incarnation, self._model.schema)
        if (
            snapshot.stream,
            snapshot.incarnation,
            snapshot.schema,
        ) != wanted or snapshot.sequence > state.last_sequence:
            log.info("snapshot does not match, replaying", projection=self._name, stream=self._stream)
            return
        self._model.restore(snapshot.data)
        self._position = self._saved = snapshot.sequence

    async def _save(self) -> None:
        if self._snapshots is None or not isinstance(self._model, SnapshotModel) or self._position == self._saved:
            return
        model = self._model
        snapshot = Snapshot(self._stream, self._incarnation, self._position, model.schema, model.dump())
        await self._snapshots.save(self._name, snapshot)
        self._saved = snapshot.sequence
