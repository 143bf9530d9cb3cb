"""Enums of a gang's life <-> muster.type.v1 and muster.events.gangs.v1."""

from muster.events.gangs.v1 import gangs_pb2
from muster.type.v1 import gang_pb2
from muster_eventstore import PermanentError
from muster_gang_coordinator.domain.events import EndState
from muster_gang_coordinator.domain.plans import ShortfallClass
from muster_gang_coordinator.domain.states import (
    Arriving,
    Booked,
    Compensating,
    Consumed,
    Ended,
    Gang,
    Held,
    New,
    Ordered,
    Planning,
    Ready,
    Received,
    Verifying,
    Waiting,
)

_TO_END = {
    EndState.FAILED: gang_pb2.GANG_STATE_FAILED,
    EndState.CANCELLED: gang_pb2.GANG_STATE_CANCELLED,
    EndState.EXPIRED: gang_pb2.GANG_STATE_EXPIRED,
    EndState.REVOKED: gang_pb2.GANG_STATE_REVOKED,
}
_FROM_END = {number: end for end, number in _TO_END.items()}
_TO_SHORTFALL = {
    ShortfallClass.STOCKOUT: gangs_pb2.SHORTFALL_CLASS_STOCKOUT,
    ShortfallClass.QUOTA: gangs_pb2.SHORTFALL_CLASS_QUOTA,
    ShortfallClass.TIMEOUT: gangs_pb2.SHORTFALL_CLASS_TIMEOUT,
    ShortfallClass.OTHER: gangs_pb2.SHORTFALL_CLASS_OTHER,
}
_FROM_SHORTFALL = {number: reason for reason, number in _TO_SHORTFALL.items()}


def to_end(end: EndState) -> gang_pb2.GangState.ValueType:
    return _TO_END[end]


def from_end(number: gang_pb2.GangState.ValueType) -> EndState:
    """PermanentError for a state that is no end."""
    end = _FROM_END.get(number)
    if end is None:
        raise PermanentError("UNKNOWN_ENUM", f"GangState {number} is no end state")
    return end


def to_shortfall(reason: ShortfallClass) -> gangs_pb2.ShortfallClass.ValueType:
    return _TO_SHORTFALL[reason]


def from_shortfall(number: gangs_pb2.ShortfallClass.ValueType) -> ShortfallClass:
    """A class that this code does not know is OTHER: the order is short all the same."""
    return _FROM_SHORTFALL.get(number, ShortfallClass.OTHER)


def to_state(gang: Gang) -> gang_pb2.GangState.ValueType:
    """The state of a gang as the outside knows it."""
    match gang:
        case New():
            return gang_pb2.GANG_STATE_UNSPECIFIED
        case Received():
            return gang_pb2.GANG_STATE_RECEIVED
        case Planning():
            return gang_pb2.GANG_STATE_PLANNING
        case Waiting():
            return gang_pb2.GANG_STATE_WAITING
        case Booked():
            return gang_pb2.GANG_STATE_BOOKED
        case Ordered():
            return gang_pb2.GANG_STATE_ORDERED
        case Arriving():
            return gang_pb2.GANG_STATE_ARRIVING
        case Verifying():
            return gang_pb2.GANG_STATE_VERIFYING
        case Ready():
            return gang_pb2.GANG_STATE_READY
        case Consumed():
            return gang_pb2.GANG_STATE_CONSUMED
        case Compensating() | Held():  # on its way to CANCELLED, unless the next attempt comes
            return gang_pb2.GANG_STATE_COMPENSATING
        case Ended(end_state=end):
            return _TO_END[end]
