"""The streams `observed` and `gangs` come in here."""

from muster.events.gangs.v1 import gangs_pb2
from muster_claim_matcher.handlers.wishes import Wishes
from muster_claim_matcher.handlers.world import World
from muster_claim_matcher.wire.commands import from_spec
from muster_claim_matcher.wire.observed import from_observed
from muster_eventstore import Decoded, InvalidSubject, PermanentError, StoredMessage, parse_event
from muster_types import ClusterId, GangId


class ObservedModel:
    """The world as a read model of `observed`, which keeps the newest fact of each object: its own snapshot."""

    def __init__(self, world: World, clusters: tuple[str, ...]) -> None:
        self._world = world
        self._clusters = frozenset(clusters)

    def apply(self, message: StoredMessage, decoded: Decoded) -> None:
        """Take one message in; one of another cluster, or on a subject that no writer of ours uses, says nothing."""
        subject = parse_event(message.subject)
        if isinstance(subject, InvalidSubject) or subject.cluster not in self._clusters:
            return
        world = self._world.cluster(ClusterId(subject.cluster))
        for event in decoded.batch.events:
            fact = from_observed(event)
            if fact is not None:
                world.apply(fact)


class GangsModel:
    """What open gangs asked for, as a read model of `gangs`; kept as a snapshot, for that stream grows for ever."""

    schema = Wishes.schema

    def __init__(self, wishes: Wishes) -> None:
        self._wishes = wishes

    def apply(self, message: StoredMessage, decoded: Decoded) -> None:
        """A request begins a gang, its end ends it; everything between is the coordinator's own matter."""
        subject = parse_event(message.subject)
        if isinstance(subject, InvalidSubject) or not subject.ids:
            return
        cluster, gang = ClusterId(subject.cluster), GangId(subject.ids[0])
        for event in decoded.batch.events:
            match event:
                case gangs_pb2.GangRequested():
                    try:
                        self._wishes.put(cluster, gang, from_spec(event.spec, gang))
                    except PermanentError:
                        continue  # the BookGang of it is parked with this very reason
                case gangs_pb2.GangEnded():
                    self._wishes.drop(cluster, gang)
                case _:
                    pass

    def dump(self) -> bytes:
        return self._wishes.dump()

    def restore(self, data: bytes) -> None:
        self._wishes.restore(data)
