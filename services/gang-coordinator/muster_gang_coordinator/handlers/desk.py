"""The one way to tell a gang something."""

from collections.abc import Iterator

from muster_eventstore import (
    Cause,
    CommandHandler,
    InvalidSubject,
    Recorded,
    Unchanged,
    event_filter,
    event_subject,
    parse_event,
)
from muster_gang_coordinator.domain.commands import Command
from muster_gang_coordinator.domain.events import Event
from muster_gang_coordinator.domain.states import Gang
from muster_types import ClusterId, GangId

STREAM = "gangs"
KIND = "gang"


def gang_subject(cluster: ClusterId, gang_id: GangId) -> str:
    """Where a gang's events stand."""
    return event_subject(STREAM, cluster, KIND, gang_id)


def gang_of(subject: str) -> tuple[ClusterId, GangId] | None:
    """The inverse of `gang_subject`; None for another subject."""
    parsed = parse_event(subject)
    if isinstance(parsed, InvalidSubject) or parsed.context != STREAM or parsed.kind != KIND or len(parsed.ids) != 1:
        return None
    return ClusterId(parsed.cluster), GangId(parsed.ids[0])


class Desk:
    """All gangs of this process."""

    def __init__(self, handler: CommandHandler[Command, Gang, Event]) -> None:
        self._handler = handler

    @property
    def position(self) -> int:
        """The highest sequence of the stream that the gangs reflect."""
        return self._handler.position

    async def load(self, clusters: tuple[str, ...]) -> int:
        """Fold what is recorded; once, before the first command."""
        return await self._handler.load([event_filter(STREAM, cluster, KIND) for cluster in clusters])

    async def tell(
        self, cluster: ClusterId, gang_id: GangId, command: Command, cause: Cause
    ) -> Recorded[Gang, Event] | Unchanged[Gang]:
        """Decide and record, once for `cause`. Raises DomainError, TransientError, Fenced."""
        return await self._handler.handle(gang_subject(cluster, gang_id), command, cause)

    def gang(self, cluster: ClusterId, gang_id: GangId) -> Gang:
        """The gang as it is."""
        return self._handler.state(gang_subject(cluster, gang_id))

    def gangs(self, cluster: ClusterId) -> Iterator[Gang]:
        """All gangs of a cluster, by subject."""
        for subject, gang in self._handler.states():
            found = gang_of(subject)
            if found is not None and found[0] == cluster:
                yield gang
