"""What was recorded, read back from the stored messages alone: the witnesses of the invariants.

Nothing of the services' own folds is used here; a fault in them would hide itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import orjson
from google.protobuf.message import Message

from muster.commands.claims.v1 import claims_pb2 as claim_commands
from muster.commands.gangs.v1 import gangs_pb2 as gang_commands
from muster.commands.provisioning.v1 import provisioning_pb2 as order_commands
from muster.events.claims.v1 import claims_pb2 as claims
from muster.events.gangs.v1 import gangs_pb2 as gangs
from muster.events.inventory.v1 import inventory_pb2 as inventory
from muster.events.observed.v1 import observed_pb2 as observed
from muster.events.provisioning.v1 import provisioning_pb2 as provisioning
from muster.type.v1.gang_pb2 import GangState
from muster.type.v1.plan_pb2 import Placement
from muster_eventstore import Codec, Decoded, StoredMessage, parse_event
from muster_eventstore.subjects import EventSubject
from muster_types import ObjectKey
from simulation.objects import Json

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)  # virtual time 0
CODEC = Codec.of_modules(
    claims, gangs, inventory, observed, provisioning, claim_commands, gang_commands, order_commands
)
_ENDS = {
    GangState.GANG_STATE_FAILED: "FAILED",
    GangState.GANG_STATE_CANCELLED: "CANCELLED",
    GangState.GANG_STATE_EXPIRED: "EXPIRED",
    GangState.GANG_STATE_REVOKED: "REVOKED",
}


@dataclass(slots=True)
class GangRecord:
    """One gang: `state` is the name of its state; `placements` those of its offer."""

    id: str
    name: str = ""
    uid: str = ""
    uids: set[str] = field(default_factory=set[str])  # of every request that it ever served
    pods: int = 0
    state: str = "RECEIVED"
    attempt: int = 0
    events: int = 0
    orders: dict[str, tuple[int, str, int]] = field(default_factory=dict[str, tuple[int, str, int]])
    placements: Sequence[Message] = ()
    released: bool = False
    lost: set[str] = field(default_factory=set[str])
    bound: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def over(self) -> bool:
        """In an end state."""
        return self.state in ("CONSUMED", "FAILED", "CANCELLED", "EXPIRED", "REVOKED")

    def apply(self, event: Message) -> None:
        """Take one event in."""
        self.events += 1
        match event:
            case gangs.GangRequested():
                self.name, self.uid, self.pods = event.spec.name, event.spec.uid, event.spec.pod_count
                self.uids.add(self.uid)
            case gangs.PlanningStarted():
                self.state, self.attempt = "PLANNING", event.attempt
            case gangs.GangWaits():
                self.state = "WAITING"
            case gangs.NodesOrdered():
                self.state = "ORDERED"
                for order in event.orders:
                    self.orders[order.order_id] = (event.attempt, order.node_group, order.count)
            case gangs.VerificationStarted():
                self.state = "VERIFYING"
            case gangs.GangReadied():
                self.state, self.placements = "READY", tuple(event.placements)
            case gangs.OfferRevised():
                self.placements = tuple(event.placements)
            case gangs.HoldStarted():
                self.state = "HELD"
            case gangs.MemberLossRecorded():
                self.bound.pop(event.pod, None)
            case gangs.MemberBindRecorded():
                self.bound[event.pod] = event.node
            case gangs.NodeLossRecorded():
                self.lost.add(event.node)
            case gangs.GangConsumed():
                self.state = "CONSUMED"
            case gangs.CompensationStarted():
                self.state = "COMPENSATING"
            case gangs.GangEnded():
                self.state = _ENDS.get(event.end_state, "ENDED")
            case _:
                pass


@dataclass(slots=True)
class BookingRecord:
    """What the ledger says about one gang."""

    attempt: int = 0
    placements: Sequence[Placement] = ()
    orders: Mapping[str, int] = field(default_factory=dict[str, int])
    confirmed: int = 0
    released: str = ""
    released_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Shown:
    """A fact of the stream `observed`: the object, None when it is gone."""

    sequence: int
    key: ObjectKey
    obj: Json | None


@dataclass(slots=True)
class Record:
    """Everything stored so far."""

    gangs: dict[str, GangRecord] = field(default_factory=dict[str, GangRecord])
    ledger: dict[str, BookingRecord] = field(default_factory=dict[str, BookingRecord])
    shown: list[Shown] = field(default_factory=list[Shown])
    intended: dict[str, list[Message]] = field(default_factory=dict[str, list[Message]])
    cancelled_at: dict[str, float] = field(default_factory=dict[str, float])
    gone: dict[str, int] = field(default_factory=dict[str, int])  # nodes, by the sequence of their NodeGone
    messages: list[StoredMessage] = field(default_factory=list[StoredMessage])

    def apply(self, message: StoredMessage) -> tuple[str, Sequence[Message]]:
        """Take a message in; its gang ("" for none) and its events."""
        self.messages.append(message)
        decoded = CODEC.decode(message.headers, message.data)
        if not isinstance(decoded, Decoded):
            return "", ()
        events = decoded.batch.events
        subject = parse_event(message.subject)
        gang = ""
        if isinstance(subject, EventSubject) and message.stream == "gangs":
            gang = subject.ids[0]
            record = self.gangs.setdefault(gang, GangRecord(gang))
            for event in events:
                record.apply(event)
        elif message.stream == "claims":
            for event in events:
                self._ledger(event, message.time.timestamp() - EPOCH.timestamp())
        elif message.stream == "observed":
            for event in events:
                self._observed(message.sequence, event)
        elif message.stream == "inventory":
            for event in events:
                if isinstance(event, inventory.NodeGone):
                    self.gone[event.node] = message.sequence
                elif isinstance(event, inventory.NodeRegistered):
                    self.gone.pop(event.node, None)
        elif message.stream == "provisioning":
            for event in events:
                self._order(event, message)
        return gang, events

    def cluster_at(self, sequence: int) -> dict[ObjectKey, Json]:
        """The cluster as the stream showed it at a sequence."""
        cluster: dict[ObjectKey, Json] = {}
        for fact in self.shown:
            if fact.sequence > sequence:
                break
            if fact.obj is None:
                cluster.pop(fact.key, None)
            else:
                cluster[fact.key] = fact.obj
        return cluster

    def _ledger(self, event: Message, at: float) -> None:
        match event:
            case claims.GangBooked():
                booking = self.ledger.setdefault(event.gang_id, BookingRecord())
                booking.attempt, booking.placements = event.attempt, tuple(event.plan.placements)
                booking.orders = {order.node_group: order.count for order in event.plan.orders}
                booking.confirmed = 0
            case claims.GangConfirmed():
                booking = self.ledger.setdefault(event.gang_id, BookingRecord())
                booking.placements, booking.confirmed = tuple(event.placements), event.attempt
            case claims.GangReleased():
                booking = self.ledger.setdefault(event.gang_id, BookingRecord())
                booking.placements, booking.orders = (), {}
                booking.released, booking.released_at = event.cause or "released", at
            case _:
                pass

    def _observed(self, sequence: int, event: Message) -> None:
        match event:
            case observed.ObjectObserved():
                key = ObjectKey(event.object.kind, event.object.namespace, event.object.name)
                self.shown.append(Shown(sequence, key, orjson.loads(event.json)))
            case observed.ObjectRemoved():
                key = ObjectKey(event.object.kind, event.object.namespace, event.object.name)
                self.shown.append(Shown(sequence, key, None))
            case _:
                pass

    def _order(self, event: Message, message: StoredMessage) -> None:
        match event:
            case provisioning.OrderIntended():
                self.intended.setdefault(event.order_id, []).append(event)
            case provisioning.OrderCancelled():
                self.cancelled_at[event.order_id] = message.time.timestamp()
            case _:
                pass
