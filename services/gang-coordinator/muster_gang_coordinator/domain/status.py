"""The status of the ProvisioningRequest as a fold of the gang's events (group-capacity §1.12)."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from muster_gang_coordinator.domain.events import (
    CompensationStarted,
    EndState,
    Event,
    GangConsumed,
    GangEnded,
    GangReadied,
    GangRequested,
    GangWaits,
    HoldStarted,
    PlanningStarted,
)
from muster_gang_coordinator.domain.plans import Reason
from muster_gang_coordinator.domain.progress import progress
from muster_gang_coordinator.domain.sentences import reason_text
from muster_gang_coordinator.domain.states import (
    Arriving,
    Booked,
    Known,
    Ordered,
    Planning,
    Received,
    Verifying,
    Waiting,
)

# Order of the conditions in the status, and the limit of a message (metav1.Condition).
TYPES = ("Accepted", "Provisioned", "Failed", "BookingExpired", "CapacityRevoked")
_MESSAGE_LIMIT = 32768
_FOR_GOOD = TYPES  # no condition goes back from True


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition; `changed` is when its status last changed, in the time of the events, in whole seconds."""

    type: str
    status: bool
    reason: str
    message: str
    changed: datetime


@dataclass(frozen=True, slots=True)
class RequestStatus:
    """`details` are sorted by key and must be visible before Provisioned is True (N-1.2, T31)."""

    conditions: tuple[Condition, ...] = ()
    details: tuple[tuple[str, str], ...] = ()

    def find(self, type_: str) -> Condition | None:
        """The condition of that type."""
        return next((c for c in self.conditions if c.type == type_), None)

    def true(self, type_: str) -> bool:
        """Whether that condition is there and True."""
        found = self.find(type_)
        return found is not None and found.status


EMPTY = RequestStatus()


def evolve_status(status: RequestStatus, event: Event, gang: Known) -> RequestStatus:
    """The status after `event`, which led to `gang`. Equal histories give equal statuses, times included."""
    match event:
        case GangRequested():
            return status if not isinstance(gang, Received) else EMPTY
        case HoldStarted():
            return EMPTY  # the request is gone; the next attempt begins anew
        case PlanningStarted(start_time=time) if not status.true("Accepted"):
            return _accept(status, Condition("Provisioned", False, "Planning", progress(gang), time))
        case GangWaits(wait_time=time) if not status.true("Accepted"):
            return _accept(status, Condition("Provisioned", False, "CapacityIsNotFound", progress(gang), time))
        case GangReadied(details=details, ready_time=time):
            provisioned = Condition("Provisioned", True, "CapacityIsProvisioned", "Capacity is ready and held", time)
            return replace(_set(status, provisioned), details=details)
        case GangConsumed(consume_time=time):
            text = "Capacity booking consumed: all pods are bound"
            return _set(status, Condition("BookingExpired", True, "CapacityBookingConsumed", text, time))
        case CompensationStarted(end_state=end_state, reasons=reasons, start_time=time):
            if end_state is EndState.REVOKED or (end_state is EndState.CANCELLED and status.true("Provisioned")):
                return _revoke(status, reasons, time)
            return _progressed(status, gang)
        case GangEnded():
            return _ended(status, event)
        case _:
            return _progressed(status, gang)


def _ended(status: RequestStatus, event: GangEnded) -> RequestStatus:
    """Failed is never written beside Provisioned=True or for a gang of which pods run (T30)."""
    time, text = event.end_time, reason_text(event.reasons)
    nothing = Condition("Provisioned", False, "CapacityIsNotFound", text, time)
    if not status.true("Accepted"):
        status = _accept(status, nothing)
    if not status.true("Provisioned"):
        status = _set(status, nothing)
    if event.end_state is EndState.EXPIRED:
        return _set(status, Condition("BookingExpired", True, "CapacityReservationTimeExpired", text, time))
    if event.end_state is EndState.REVOKED or status.true("Provisioned"):
        return status if status.true("CapacityRevoked") else _revoke(status, event.reasons, time)
    return _set(status, Condition("Failed", True, _reason(event.reasons), text, time))


def _accept(status: RequestStatus, provisioned: Condition) -> RequestStatus:
    """Accepted never stands without a Provisioned condition (N-2.2)."""
    accepted = Condition("Accepted", True, "Accepted", "Muster owns this request", provisioned.changed)
    return _set(_set(status, accepted), provisioned)


def _revoke(status: RequestStatus, reasons: tuple[Reason, ...], time: datetime) -> RequestStatus:
    return _set(status, Condition("CapacityRevoked", True, _reason(reasons), reason_text(reasons), time))


def _progressed(status: RequestStatus, gang: Known) -> RequestStatus:
    """Progress is told in the message of Provisioned=False; its status stays, and so does its time."""
    found = status.find("Provisioned")
    if found is None or found.status:
        return status
    match gang:
        case Planning():
            reason = "Planning"
        case Waiting():
            reason = "CapacityIsNotFound"
        case Booked() | Ordered() | Arriving():
            reason = "Provisioning"
        case Verifying():
            reason = "VerifyingShape"
        case _:
            reason = found.reason
    return _set(status, replace(found, reason=reason, message=progress(gang)))


def _set(status: RequestStatus, condition: Condition) -> RequestStatus:
    """A condition that keeps its status keeps its time."""
    before = status.find(condition.type)
    changed = before.changed if before is not None and before.status == condition.status else condition.changed
    after = replace(condition, message=condition.message[:_MESSAGE_LIMIT], changed=changed.replace(microsecond=0))
    others = [c for c in status.conditions if c.type != condition.type]
    return replace(status, conditions=tuple(sorted([*others, after], key=lambda c: TYPES.index(c.type))))


def _reason(reasons: tuple[Reason, ...]) -> str:
    """The condition reason in the words of the autoscaler (§1.4)."""
    code = reasons[0].code if reasons else ""
    known = {
        "CANCELLED": "Cancelled",
        "TEMPLATE_MISSING": "FailedToCreatePods",
        "REQUEST_EXPIRED": "Expired",
        "NODE_LOST": "NodeLost",
        "BOOKING_EXPIRED": "BookingExpired",
        "INVALID_REQUEST": "InvalidRequest",
    }
    return known.get(code, "CapacityIsNotFound")


def plan_writes(current: RequestStatus, wanted: RequestStatus) -> tuple[RequestStatus, ...]:
    """The writes, in order, that bring the object from `current` to `wanted`; none when nothing is to be done.

    What turns true once stays so. A status in which more of it is true was written by a later reader of the same
    events, so it is left alone. Details come in a write of their own before Provisioned=True (T31). A condition whose
    time somebody has renewed since (N-1.7) keeps that time.
    """
    wanted = _with_renewed_times(current, wanted)
    if current == wanted or any(current.true(t) and not wanted.true(t) for t in _FOR_GOOD):
        return ()
    offers = wanted.true("Provisioned") and not current.true("Provisioned")
    if offers and wanted.details != current.details:
        return (replace(current, details=wanted.details), wanted)
    return (wanted,)


def renewed(shown: RequestStatus, wanted: RequestStatus, now: datetime, after: timedelta) -> RequestStatus | None:
    """`wanted` with the time of Provisioned=False set to now, when what is shown is as old as `after`; else None.

    The Cluster Autoscaler deletes a request of any class a week after that time (group-capacity §1.9, N-1.7, T1).
    """
    seen, ours = shown.find("Provisioned"), wanted.find("Provisioned")
    if seen is None or ours is None or seen.status or ours.status or now - seen.changed < after:
        return None
    fresh = replace(ours, changed=now.replace(microsecond=0))
    return replace(wanted, conditions=tuple(fresh if each is ours else each for each in wanted.conditions))


def _with_renewed_times(current: RequestStatus, wanted: RequestStatus) -> RequestStatus:
    return replace(wanted, conditions=tuple(_renewed(current.find(each.type), each) for each in wanted.conditions))


def _renewed(shown: Condition | None, wanted: Condition) -> Condition:
    if shown is None or shown.status is not wanted.status or shown.changed <= wanted.changed:
        return wanted
    return replace(wanted, changed=shown.changed)
