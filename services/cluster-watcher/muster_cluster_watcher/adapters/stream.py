"""The stream `observed` over an event store."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

import structlog

from muster.events.observed.v1 import observed_pb2
from muster_cluster_watcher.domain.difference import evolve
from muster_cluster_watcher.domain.facts import Known
from muster_cluster_watcher.domain.observations import Observation
from muster_cluster_watcher.wire.observed import CONTEXT, from_wire, subject_of, to_wire
from muster_eventstore import (
    Codec,
    Decoded,
    Draft,
    EventMeta,
    EventStore,
    InvalidSubject,
    StoredMessage,
    derived_id,
    event_filter,
    parse_event,
)
from muster_servicekit.clock import Clock
from muster_servicekit.leadership import ALONE, Leadership
from muster_types import ClusterId

SOURCE = "/muster/cluster-watcher"
_TOGETHER = 500  # observations of one commit
log = structlog.get_logger("muster.watcher")


class StoredObservations:
    """Publishes in bulk; each event's id follows from the one before it on its subject, so an object that goes back to
    an earlier form is told under a new id, and a repeat after a crash under the same."""

    def __init__(self, store: EventStore, clock: Clock, leadership: Leadership = ALONE) -> None:
        self._store = store
        self._clock = clock
        self._leadership = leadership
        self._codec = Codec.of_modules(observed_pb2)
        self._last_ids: dict[str, str] = {}

    async def known(self, cluster: ClusterId) -> Known:
        """Read the stream from its beginning; it keeps one message for each subject."""
        known = Known()
        async for chunk in self._store.read(CONTEXT, [event_filter(CONTEXT, cluster)]):
            for message in chunk.messages:
                self._take(known, message)
            if not chunk.pending:
                break
        return known

    async def publish(self, cluster: ClusterId, observations: Sequence[Observation]) -> None:
        """Store in order, hundreds with one commit; the next hundreds are written while one is flushed to the disk."""
        time = self._clock.now()
        sending: asyncio.Task[None] | None = None
        try:
            for start in range(0, len(observations), _TOGETHER):
                part = observations[start : start + _TOGETHER]
                drafts = [self._draft(cluster, observation, time) for observation in part]
                if sending is not None:
                    await sending
                sending = asyncio.create_task(self._store_part(drafts))
                await asyncio.sleep(0)  # let it begin
            if sending is not None:
                await sending
        finally:
            if sending is not None and not sending.done():
                sending.cancel()

    async def _store_part(self, drafts: Sequence[Draft]) -> None:
        await self._leadership.wait_held()  # another watcher may tell of this cluster by now
        await self._store.publish_all(drafts)
        for draft in drafts:
            self._last_ids[draft.subject] = draft.meta.id

    def _take(self, known: Known, message: StoredMessage) -> None:
        subject = parse_event(message.subject)
        decoded = self._codec.decode(message.headers, message.data)
        if isinstance(subject, InvalidSubject) or not isinstance(decoded, Decoded):
            reason = subject.reason if isinstance(subject, InvalidSubject) else str(decoded)
            log.warning("foreign message on the stream is passed over", subject=message.subject, reason=reason)
            return
        self._last_ids[message.subject] = decoded.meta.id
        for event in decoded.batch.events:
            observation = from_wire(event, subject.ids)
            if observation is not None:
                evolve(known, observation)

    def _draft(self, cluster: ClusterId, observation: Observation, time: datetime) -> Draft:
        message = to_wire(observation, time)
        type_name = message.DESCRIPTOR.full_name
        subject = subject_of(cluster, observation)
        written = str(subject)
        id = derived_id(self._last_ids.get(written, ""), written, type_name)
        name = "/".join(part for part in (subject.kind, *subject.ids) if part)
        # An observation follows from nothing but the cluster, so readers take its own id for both; headers cost time.
        meta = EventMeta(id, type_name, SOURCE, name, time, correlation_id="", causation_id="")
        return Draft(written, message.SerializeToString(deterministic=True), meta)
