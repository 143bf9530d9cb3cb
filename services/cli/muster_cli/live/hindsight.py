"""What was known about a gang at a moment: from the recorded events alone, with the coordinator's own folds."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from muster.events.claims.v1 import claims_pb2
from muster.events.inventory.v1 import inventory_pb2
from muster.type.v1.gang_pb2 import GangState
from muster_cli.live.journal import CODEC, Entry, entries, recorded
from muster_eventstore import Decoded, EventStore
from muster_gang_coordinator.domain.commands import Timer
from muster_gang_coordinator.domain.outgoing import ForgetWake, WakeAt
from muster_gang_coordinator.domain.plans import Plan, Reason
from muster_gang_coordinator.domain.policy import SagaPolicy
from muster_gang_coordinator.domain.progress import progress
from muster_gang_coordinator.domain.react import react
from muster_gang_coordinator.domain.sentences import sentence
from muster_gang_coordinator.domain.states import Compensating, Ended, Held, Known, Waiting
from muster_gang_coordinator.handlers.desk import gang_of
from muster_gang_coordinator.handlers.projections import GangsView, Step
from muster_gang_coordinator.handlers.trust import TrustView
from muster_gang_coordinator.wire.declared_groups import from_group
from muster_gang_coordinator.wire.events import from_wire
from muster_gang_coordinator.wire.states import to_state
from muster_types import ClusterId, GangId, NodeGroupName, NodeName

_LAST = 3


@dataclass(frozen=True, slots=True)
class Holder:
    """What the ledger had promised to a gang, over how many nodes, and since when."""

    gang: str
    members: int
    confirmed: bool
    since: datetime


@dataclass(frozen=True, slots=True)
class Happening:
    """An event of the gang; `sequence` is its place in the stream `gangs`."""

    time: datetime
    sequence: int
    state: GangState.ValueType
    sentence: str


@dataclass(slots=True)
class Hindsight:
    """`observed_sequence`: up to which observation the newest answer of the planner had looked, 0 before any.

    `planned_attempt` is the attempt that it answered. `timers` are those that were set and had not fired, by their
    time; those whose length is a setting are told with its default. `mistrusted` are sentences.
    """

    gang: Known
    at: datetime
    since: datetime
    observed_sequence: int = 0
    planned_attempt: int = 0
    holders: list[Holder] = field(default_factory=list[Holder])
    timers: list[tuple[datetime, Timer]] = field(default_factory=list[tuple[datetime, Timer]])
    mistrusted: list[str] = field(default_factory=list[str])
    last: list[Happening] = field(default_factory=list[Happening])

    @property
    def state(self) -> GangState.ValueType:
        """The state at that moment."""
        return to_state(self.gang)

    @property
    def message(self) -> str:
        """What the gang was doing, in a sentence."""
        return progress(self.gang)

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why it waited, or why it had ended."""
        return self.gang.reasons if isinstance(self.gang, Waiting | Compensating | Ended | Held) else ()

    @property
    def plan(self) -> Plan | None:
        """The newest plan."""
        return self.gang.saga.plan

    def document(self) -> Mapping[str, object]:
        """As JSON-able data."""
        saga = self.gang.saga
        return {
            "gang_id": saga.gang_id,
            "at": self.at.isoformat(),
            "state": GangState.Name(self.state).removeprefix("GANG_STATE_"),
            "since": self.since.isoformat(),
            "message": self.message,
            "reasons": [{"code": r.code, "sentence": r.sentence, "facts": dict(r.facts)} for r in self.reasons],
            "request": {
                "namespace": saga.spec.namespace,
                "name": saga.spec.name,
                "uid": saga.spec.uid,
                "content_hash": saga.spec.content_hash,
                "pod_count": saga.spec.pod_count,
                "priority": saga.spec.priority,
                "objects": len(saga.spec.objects_json),
            },
            "attempt": saga.attempt,
            "observed_sequence": self.observed_sequence,
            "planned_attempt": self.planned_attempt,
            "excluded_node_groups": list(saga.excluded),
            "mistrusted_templates": self.mistrusted,
            "plan": None
            if self.plan is None
            else {
                "cost": self.plan.cost,
                "lower_bound": self.plan.lower_bound,
                "domain": self.plan.domain,
                "members": len(self.plan.placements),
                "orders": [{"node_group": o.node_group, "count": o.count} for o in self.plan.orders],
                "alternatives": [
                    {"description": a.description, "cost": a.cost, "why_not": a.why_not} for a in self.plan.alternatives
                ],
            },
            "orders": [
                {
                    "order_id": o.id,
                    "node_group": o.node_group,
                    "count": o.count,
                    "state": o.state.value,
                    "nodes": sorted(o.known),
                }
                for o in saga.orders
            ],
            "holders": [
                {"gang_id": h.gang, "members": h.members, "confirmed": h.confirmed, "since": h.since.isoformat()}
                for h in self.holders
            ],
            "timers": [{"timer": timer.value, "due": due.isoformat()} for due, timer in self.timers],
            "last_events": [
                {
                    "time": h.time.isoformat(),
                    "sequence": h.sequence,
                    "state": GangState.Name(h.state).removeprefix("GANG_STATE_"),
                    "sentence": h.sentence,
                }
                for h in self.last
            ],
        }


async def look_back(store: EventStore, cluster: ClusterId, gang_id: GangId, at: datetime) -> Hindsight | None:
    """What the events up to `at` tell; None when nobody had asked for the gang by then."""
    view, timers, happened = GangsView(), dict[Timer, datetime](), list[Happening]()
    async for message in recorded(store, "gangs"):
        decoded = CODEC.decode(message.headers, message.data)
        if gang_of(message.subject) != (cluster, gang_id):
            continue
        if not isinstance(decoded, Decoded) or decoded.meta.time > at:
            continue
        events = list(map(from_wire, decoded.batch.events))
        for step in view.apply(cluster, gang_id, events, decoded.meta.time):
            _set_timers(step, timers)
            told = sentence(step.event)
            happened.append(Happening(decoded.meta.time, message.sequence, to_state(step.entry.gang), told))
    entry = view.get(cluster, gang_id)
    if entry is None:
        return None
    state = to_state(entry.gang)
    since = next((h.time for h in reversed(_leading(happened, state))), entry.change_time)
    found = Hindsight(entry.gang, at, since, last=happened[-_LAST:])
    found.timers = sorted(((due, timer) for timer, due in timers.items() if due > at), key=lambda t: (t[0], t[1].value))
    await _add_ledger(store, gang_id, at, found)
    await _add_trust(store, cluster, at, found)
    return found


def _leading(happened: list[Happening], state: GangState.ValueType) -> list[Happening]:
    """The events since the gang is in a state, newest first."""
    found: list[Happening] = []
    for each in reversed(happened):
        if each.state != state:
            break
        found.append(each)
    return found


def _set_timers(step: Step, timers: dict[Timer, datetime]) -> None:
    for item in react(SagaPolicy(), step.event, step.entry.gang.saga):
        match item:
            case WakeAt(timer=timer, due=due):
                timers[timer] = due
            case ForgetWake(timer=timer):
                timers.pop(timer, None)
            case _:
                pass
    if step.entry.over:
        timers.clear()


async def _add_ledger(store: EventStore, gang_id: GangId, at: datetime, found: Hindsight) -> None:
    holders: dict[str, Holder] = {}
    async for entry in _until(store, "claims", at):
        match entry.event:
            case claims_pb2.GangBooked() as m:
                holders[m.gang_id] = Holder(m.gang_id, len(m.plan.placements), confirmed=False, since=entry.time)
                if m.gang_id == gang_id:
                    found.observed_sequence, found.planned_attempt = m.observed_sequence, m.attempt
            case claims_pb2.GangNotBooked() as m if m.gang_id == gang_id:
                found.observed_sequence, found.planned_attempt = m.observed_sequence, m.attempt
            case claims_pb2.GangConfirmed() as m:
                since = holders[m.gang_id].since if m.gang_id in holders else entry.time
                holders[m.gang_id] = Holder(m.gang_id, len(m.placements), confirmed=True, since=since)
            case claims_pb2.GangReleased() as m:
                holders.pop(m.gang_id, None)
            case _:
                pass
    found.holders = [holders[name] for name in sorted(holders)]


async def _add_trust(store: EventStore, cluster: ClusterId, at: datetime, found: Hindsight) -> None:
    trust = TrustView()
    async for entry in _until(store, "inventory", at):
        match entry.event:
            case inventory_pb2.NodeGroupDeclared() as m:
                trust.declare(cluster, NodeGroupName(m.name), *from_group(m.json))
            case inventory_pb2.TemplateTrusted() as m:
                trust.trust(cluster, NodeGroupName(m.node_group))
            case inventory_pb2.TemplateMistrusted() as m:
                evidence = "; ".join(f"{each.check} {each.sentence}" for each in m.mismatches)
                trust.mistrust(cluster, NodeGroupName(m.node_group), NodeName(m.node), evidence)
            case _:
                pass
    wrong = trust.trust_of(cluster).mistrusted
    found.mistrusted = [f"{each.node_group}: node {each.node} differs: {each.evidence}" for each in wrong]


async def _until(store: EventStore, stream: str, at: datetime) -> AsyncGenerator[Entry, None]:
    async for message in recorded(store, stream):
        for entry in entries(message):
            if entry.time <= at:
                yield entry
