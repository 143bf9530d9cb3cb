"""A small aggregate for tests of the store's machinery: which gangs were released, on a ledger."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from google.protobuf.message import Message

from muster.commands.claims.v1 import claims_pb2 as commands_pb2
from muster.events.claims.v1 import claims_pb2 as events_pb2
from muster_decider import Decider, DomainError
from muster_eventstore import Codec, CommandHandler, EventStore, event_subject

LEDGER = event_subject("claims", "c1", "ledger")
CODEC = Codec.of_modules(commands_pb2, events_pb2)


@dataclass(frozen=True, slots=True)
class Release:
    gang: str


@dataclass(frozen=True, slots=True)
class Released:
    gang: str


class Forbidden(DomainError):
    reason = "FORBIDDEN"


def decide(command: Release, state: tuple[str, ...]) -> list[Released]:
    if command.gang == "forbidden":
        raise Forbidden("this gang is not released")
    return [] if command.gang in state else [Released(command.gang)]


def evolve(state: tuple[str, ...], event: Released) -> tuple[str, ...]:
    return (*state, event.gang)


TALLY: Decider[Release, tuple[str, ...], Released] = Decider((), decide, evolve)


class TallyWire:
    def to_wire(self, event: Released) -> Message:
        return events_pb2.GangReleased(gang_id=event.gang)

    def from_wire(self, message: Message) -> Released:
        assert isinstance(message, events_pb2.GangReleased)
        return Released(message.gang_id)


def a_handler(
    store: EventStore, now: Callable[[], datetime], *, fence: Callable[[], int] = lambda: 0, remember: int = 1000
) -> CommandHandler[Release, tuple[str, ...], Released]:
    return CommandHandler(
        store,
        CODEC,
        TALLY,
        TallyWire(),
        stream="claims",
        source="/test/tally",
        now=now,
        fence=fence,
        remember=remember,
    )
