"""Commands, fired timers and the facts of the other services: decoded, told to their gang, acknowledged."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime

from google.protobuf.message import Message

from muster.commands.gangs.v1 import gangs_pb2
from muster_eventstore import (
    Cause,
    Codec,
    Decoded,
    Delivery,
    InvalidSubject,
    PermanentError,
    decode_or_refuse,
    parse_command,
    parse_event,
    parse_timer,
)
from muster_gang_coordinator.domain.commands import (
    CancelGang,
    Command,
    RecordArrival,
    RecordBooking,
    RecordNoPlan,
    RecordPoolChange,
    RequestGang,
    Timer,
    WakeGang,
)
from muster_gang_coordinator.handlers.cluster_view import ClusterView
from muster_gang_coordinator.handlers.desk import Desk
from muster_gang_coordinator.handlers.projections import GangsView
from muster_gang_coordinator.handlers.trust import TrustView
from muster_gang_coordinator.handlers.turns import Turns
from muster_gang_coordinator.wire.commands import from_timer
from muster_gang_coordinator.wire.facts import Fact
from muster_gang_coordinator.wire.plans import from_time
from muster_gang_coordinator.wire.specs import from_spec
from muster_types import ClusterId, GangId

FromWire = Callable[[Message, datetime], Fact | None]
Level = Callable[[], Awaitable[None]]


class FactsConsumer:
    """Events of one foreign stream. `level` waits until `gangs` shows everything that was recorded."""

    def __init__(
        self,
        codec: Codec,
        from_wire: FromWire,
        desk: Desk,
        gangs: GangsView,
        trust: TrustView,
        now: Callable[[], datetime],
        level: Level,
    ) -> None:
        self._codec = codec
        self._from_wire = from_wire
        self._desk = desk
        self._gangs = gangs
        self._trust = trust
        self._now = now
        self._level = level

    def key(self, delivery: Delivery) -> str:
        """The gang that a message is about, so that gangs go side by side; the subject for anything else."""
        decoded = self._codec.decode(delivery.message.headers, delivery.message.data)
        if isinstance(decoded, Decoded):
            for event in decoded.batch.events:
                fact = self._from_wire(event, delivery.message.time)
                if fact is not None and fact.gang_id:
                    return fact.gang_id
        return delivery.message.subject

    async def handle(self, delivery: Delivery) -> None:
        """Tell every fact of a message. Raises PermanentError UNDECODABLE for what cannot be read."""
        decoded = decode_or_refuse(self._codec, delivery)
        place = parse_event(delivery.message.subject)
        if isinstance(place, InvalidSubject):
            raise PermanentError("FOREIGN_SUBJECT", place.reason)
        cluster = ClusterId(place.cluster)
        for index, event in enumerate(decoded.batch.events):
            fact = self._from_wire(event, self._now())
            if fact is None:
                continue
            cause = Cause.of(decoded.meta).step("fact", index)
            for gang_id in await self._concerned(cluster, fact):
                command = self._with_context(cluster, fact.command, delivery.message.sequence)
                await self._desk.tell(cluster, gang_id, command, cause)

    async def _concerned(self, cluster: ClusterId, fact: Fact) -> list[GangId]:
        named = {fact.gang_id} if fact.gang_id else set[GangId]()
        if fact.node is not None or fact.pool is not None:
            await self._level()
        if fact.node is not None:
            named.update(self._gangs.on_node(cluster, fact.node))
        if fact.pool is not None:
            named.update(self._gangs.on_pool(cluster, *fact.pool))
        return sorted(named)

    def _with_context(self, cluster: ClusterId, command: Command, sequence: int) -> Command:
        """What else is known when the fact is taken in; facts of the inventory carry their place in its stream."""
        if isinstance(command, RecordArrival | RecordPoolChange):
            return replace(command, sequence=sequence)
        if isinstance(command, RecordBooking | RecordNoPlan):
            return replace(command, trust=self._trust.trust_of(cluster))
        return command


class CommandsConsumer:
    """Commands to gangs, and fired timers."""

    def __init__(
        self, codec: Codec, desk: Desk, clusters: ClusterView, turns: Turns, now: Callable[[], datetime]
    ) -> None:
        self._codec = codec
        self._desk = desk
        self._clusters = clusters
        self._turns = turns
        self._now = now

    async def handle(self, delivery: Delivery) -> None:
        """Tell the gang. Raises PermanentError for what cannot be read or is no command to a gang."""
        decoded = decode_or_refuse(self._codec, delivery)
        command = parse_command(delivery.message.subject)
        place = parse_timer(delivery.message.subject) if isinstance(command, InvalidSubject) else command
        if isinstance(place, InvalidSubject):
            raise PermanentError("FOREIGN_SUBJECT", place.reason)
        cluster, cause = ClusterId(place.cluster), Cause.of(decoded.meta)
        for index, message in enumerate(decoded.batch.events):
            gang_id, command = self._read(cluster, message)
            await self._desk.tell(cluster, gang_id, command, cause.step("command", index))

    def _read(self, cluster: ClusterId, message: Message) -> tuple[GangId, Command]:
        match message:
            case gangs_pb2.RequestGang() as m:
                gang_id = GangId(m.gang_id)
                spec = from_spec(m.spec)
                ahead = self._turns.ahead_of(cluster, gang_id, spec.priority)
                return gang_id, RequestGang(gang_id, spec, m.request_id, self._now(), ahead)
            case gangs_pb2.CancelGang() as m:
                return GangId(m.gang_id), CancelGang(m.cause or "somebody asked for it", self._now())
            case gangs_pb2.WakeGang() as m:
                # The store's clock has passed the due time, whatever ours says.
                now = max(self._now(), from_time(m.due_time))
                gang_id = GangId(m.gang_id)
                ready = self._clusters.ready_nodes(cluster, gang_id)
                timer = from_timer(m.timer)
                ahead = self._turns.ahead_of(cluster, gang_id, 0) if timer is Timer.RETRY else None
                return gang_id, WakeGang(m.attempt, timer, now, ready, ahead)
            case _:
                raise PermanentError("FOREIGN_COMMAND", f"{message.DESCRIPTOR.full_name} is no command to a gang")
