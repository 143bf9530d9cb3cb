"""Events of the ledger: domain <-> protobuf."""

from datetime import UTC, datetime

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from muster.events.claims.v1 import claims_pb2 as pb
from muster_claim_matcher.domain import ledger
from muster_claim_matcher.domain.plans import Refusal
from muster_claim_matcher.wire.plans import (
    from_kind,
    from_placement,
    from_plan,
    from_reasons,
    to_kind,
    to_placement,
    to_plan,
    to_reasons,
)
from muster_eventstore import PermanentError
from muster_types import GangId


class LedgerWire:
    """Every event of a ledger, both ways."""

    def to_wire(self, event: ledger.LedgerEvent) -> Message:
        match event:
            case ledger.GangBooked(gang, attempt, plan, sequence, time):
                return pb.GangBooked(
                    gang_id=gang,
                    attempt=attempt,
                    plan=to_plan(plan),
                    observed_sequence=sequence,
                    book_time=_to_time(time),
                )
            case ledger.GangNotBooked(gang, attempt, refusal, sequence):
                return pb.GangNotBooked(
                    gang_id=gang,
                    attempt=attempt,
                    kind=to_kind(refusal.kind),
                    reasons=to_reasons(refusal.reasons),
                    even_empty=refusal.even_empty,
                    observed_sequence=sequence,
                )
            case ledger.GangConfirmed(gang, attempt, members, sequence, check):
                return pb.GangConfirmed(
                    gang_id=gang,
                    attempt=attempt,
                    placements=map(to_placement, members),
                    observed_sequence=sequence,
                    check=check,
                )
            case ledger.GangBroken(gang, attempt, reasons, check):
                return pb.GangBroken(gang_id=gang, attempt=attempt, reasons=to_reasons(reasons), check=check)
            case ledger.GangReleased(gang, cause):
                return pb.GangReleased(gang_id=gang, cause=cause)

    def from_wire(self, message: Message) -> ledger.LedgerEvent:
        match message:
            case pb.GangBooked():
                return ledger.GangBooked(
                    GangId(message.gang_id),
                    message.attempt,
                    from_plan(message.plan),
                    message.observed_sequence,
                    _from_time(message.book_time),
                )
            case pb.GangNotBooked():
                refusal = Refusal(from_kind(message.kind), from_reasons(message.reasons), message.even_empty)
                return ledger.GangNotBooked(
                    GangId(message.gang_id), message.attempt, refusal, message.observed_sequence
                )
            case pb.GangConfirmed():
                members = tuple(map(from_placement, message.placements))
                return ledger.GangConfirmed(
                    GangId(message.gang_id), message.attempt, members, message.observed_sequence, message.check
                )
            case pb.GangBroken():
                reasons = from_reasons(message.reasons)
                return ledger.GangBroken(GangId(message.gang_id), message.attempt, reasons, message.check)
            case pb.GangReleased():
                return ledger.GangReleased(GangId(message.gang_id), message.cause)
            case _:
                raise PermanentError("FOREIGN_EVENT", f"{message.DESCRIPTOR.full_name} is no event of a ledger")


def _to_time(time: datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(time)
    return stamp


def _from_time(stamp: Timestamp) -> datetime:
    return stamp.ToDatetime(tzinfo=UTC)
