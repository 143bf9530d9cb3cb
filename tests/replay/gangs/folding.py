"""Recorded histories of gangs: what was stored, the state it folds to, and what it asked of others."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message

from muster.events.gangs.v1 import gangs_pb2
from muster_eventstore import CancelWake, SendCommand, WakeAt
from muster_gang_coordinator.domain.events import Event
from muster_gang_coordinator.domain.outgoing import LiftHolds
from muster_gang_coordinator.domain.policy import SagaPolicy
from muster_gang_coordinator.domain.react import react
from muster_gang_coordinator.handlers.export import export_state
from muster_gang_coordinator.handlers.projections import GangsView
from muster_gang_coordinator.wire.commands import to_outgoing
from muster_gang_coordinator.wire.events import from_wire, to_wire
from muster_types import ClusterId, GangId

HISTORIES = Path(__file__).parent / "histories"
LOCAL = ClusterId("local")
GANG = GangId("train-1a2b3c")
BEGIN = datetime(2026, 5, 4, 12, tzinfo=UTC)
Json = dict[str, object]


def to_json(events: Iterable[Event]) -> list[Json]:
    """Events as they are stored, readable."""
    messages = [to_wire(event) for event in events]
    return [{"type": m.DESCRIPTOR.name, "event": plain(m)} for m in messages]


def from_json(stored: Iterable[Json]) -> list[Event]:
    """The events of a recorded history."""
    events: list[Event] = []
    for each in stored:
        message = getattr(gangs_pb2, str(each["type"]))()
        ParseDict(each["event"], message)
        events.append(from_wire(message))
    return events


def outcome(events: Iterable[Event]) -> Json:
    """The canonical state after the events, and everything that they ask of others, in order."""
    gangs = GangsView()
    asked: list[Json] = []
    for number, event in enumerate(events):
        for step in gangs.apply(LOCAL, GANG, [event], BEGIN + timedelta(seconds=number)):
            for item in react(SagaPolicy(), step.event, step.entry.gang.saga):
                if isinstance(item, LiftHolds):
                    asked.append({"lift": list(item.nodes)})
                    continue
                match to_outgoing(item, LOCAL, 0):
                    case SendCommand(to, message):
                        asked.append({"to": str(to), "command": plain(message)})
                    case WakeAt(timer, due, message):
                        asked.append({"at": due.isoformat(), "timer": timer.key, "command": plain(message)})
                    case CancelWake(timer):
                        asked.append({"forget": timer.key})
    return {"state": orjson.loads(export_state(LOCAL, gangs.all(LOCAL))), "asked": asked}


def plain(message: Message) -> Json:
    """A message as JSON with the field names of the schema."""
    return MessageToDict(message, preserving_proto_field_name=True)
