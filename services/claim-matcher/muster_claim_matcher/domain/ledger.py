"""The ledger of one cluster: what is promised to which gang. One writer, one decision a message.

A booking of attempt n takes the place of that of attempt n-1 of its gang in one event. Each attempt is answered
once; what comes later about it is a repeat. A released gang stays released: commands may overtake each other after a
crash, and a booking that nobody would release again must not come of that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from muster_claim_matcher.domain.demand import Conflict, Demand, Supply, demand_of, find_conflicts
from muster_claim_matcher.domain.plans import BookedPlan, Member, Order, Reason, Refusal
from muster_decider import CorruptHistory, Decider, DomainError
from muster_types import GangId


class PlanConflicts(DomainError):
    """The plan promises what is promised already: it was made on an older ledger, so plan again."""

    reason = "PLAN_CONFLICTS"

    def __init__(self, gang: GangId, conflicts: tuple[Conflict, ...]) -> None:
        super().__init__(f"gang {gang}: {'; '.join(conflict.sentence() for conflict in conflicts)}")
        self.conflicts = conflicts


@dataclass(frozen=True, slots=True)
class BookGang:
    """Record what planning gave for an attempt, made on the cluster as of `observed_sequence`."""

    gang: GangId
    attempt: int
    outcome: BookedPlan | Refusal
    supply: Supply
    observed_sequence: int
    now: datetime


@dataclass(frozen=True, slots=True)
class Unfit:
    """What arrived does not serve the gang."""

    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class ConfirmGang:
    """Record what allocation on the actual slices gave: the members on real nodes and devices, or why not."""

    gang: GangId
    attempt: int
    outcome: tuple[Member, ...] | Unfit
    supply: Supply
    observed_sequence: int
    check: int = 0


@dataclass(frozen=True, slots=True)
class ReleaseGang:
    """`cause`: consumed, cancelled, expired, failed or superseded."""

    gang: GangId
    cause: str


LedgerCommand = BookGang | ConfirmGang | ReleaseGang


@dataclass(frozen=True, slots=True)
class GangBooked:
    gang: GangId
    attempt: int
    plan: BookedPlan
    observed_sequence: int
    book_time: datetime


@dataclass(frozen=True, slots=True)
class GangNotBooked:
    gang: GangId
    attempt: int
    refusal: Refusal
    observed_sequence: int


@dataclass(frozen=True, slots=True)
class GangConfirmed:
    gang: GangId
    attempt: int
    members: tuple[Member, ...]
    observed_sequence: int
    check: int = 0


@dataclass(frozen=True, slots=True)
class GangBroken:
    gang: GangId
    attempt: int
    reasons: tuple[Reason, ...]
    check: int = 0


@dataclass(frozen=True, slots=True)
class GangReleased:
    gang: GangId
    cause: str


LedgerEvent = GangBooked | GangNotBooked | GangConfirmed | GangBroken | GangReleased


@dataclass(frozen=True, slots=True)
class Booking:
    """What a gang holds: by plan until confirmed, then as it really stands. `demand` follows from `members`."""

    attempt: int
    plan: BookedPlan
    members: tuple[Member, ...]
    confirmed: bool
    demand: Demand

    @property
    def orders(self) -> tuple[Order, ...]:
        return self.plan.orders


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a gang stands: the last attempt that was answered, the last one that was verified and the last check of
    what it was confirmed on, what it holds.

    `release_cause` is empty until it was released, and for ever set from then on.
    """

    answered: int = 0
    verified: int = 0
    booking: Booking | None = None
    release_cause: str = ""
    checked: int = 0


@dataclass(frozen=True, slots=True)
class Ledger:
    gangs: Mapping[GangId, Standing] = field(default_factory=dict)

    def standing(self, gang: GangId) -> Standing:
        return self.gangs.get(gang, _UNKNOWN)

    def bookings(self) -> dict[GangId, Booking]:
        """What is promised, by gang, sorted."""
        return {gang: standing.booking for gang, standing in sorted(self.gangs.items()) if standing.booking is not None}

    def demands(self, without: GangId) -> dict[GangId, Demand]:
        """What all gangs but one hold."""
        return {gang: booking.demand for gang, booking in self.bookings().items() if gang != without}


_UNKNOWN = Standing()


def is_answered(ledger: Ledger, gang: GangId, attempt: int) -> bool:
    """Whether planning this attempt is pointless: it was answered, overtaken, or its gang was released."""
    standing = ledger.standing(gang)
    return bool(standing.release_cause) or attempt <= standing.answered


def is_verifiable(ledger: Ledger, gang: GangId, attempt: int, check: int = 0) -> bool:
    """Whether the booking of this attempt stands and has not been verified; or, for a later check, was confirmed."""
    standing = ledger.standing(gang)
    if standing.booking is None or standing.booking.attempt != attempt:
        return False
    return standing.booking.confirmed and check > standing.checked if check else standing.verified < attempt


def awaits_verification(ledger: Ledger, gang: GangId, attempt: int) -> bool:
    """Whether a later check of this attempt comes before its first verification was answered."""
    standing = ledger.standing(gang)
    return standing.booking is not None and standing.booking.attempt == attempt and standing.verified < attempt


def decide(command: LedgerCommand, ledger: Ledger) -> list[LedgerEvent]:
    """Raises PlanConflicts when the members of a plan meet what other gangs hold or exceed what there is."""
    match command:
        case BookGang(gang, attempt, outcome, supply, sequence, now) if not is_answered(ledger, gang, attempt):
            if isinstance(outcome, Refusal):
                return [GangNotBooked(gang, attempt, outcome, sequence)]
            _refuse_conflicts(gang, demand_of(outcome.members, outcome.orders), ledger, supply)
            return [GangBooked(gang, attempt, outcome, sequence, now)]
        case ConfirmGang(gang, attempt, outcome, supply, sequence, check) if is_verifiable(
            ledger, gang, attempt, check
        ):
            if isinstance(outcome, Unfit):
                return [GangBroken(gang, attempt, outcome.reasons, check)]
            _refuse_conflicts(gang, demand_of(outcome), ledger, supply)  # its nodes were counted when they were booked
            return [GangConfirmed(gang, attempt, outcome, sequence, check)]
        case ReleaseGang(gang, cause) if not ledger.standing(gang).release_cause:
            return [GangReleased(gang, cause)]  # also for a gang never seen: its booking may still be on its way
        case _:
            return []  # repeated, stale or overtaken


def evolve(ledger: Ledger, event: LedgerEvent) -> Ledger:
    standing = ledger.standing(event.gang)
    if standing.release_cause:
        raise CorruptHistory(standing, event)
    match event:
        case GangBooked(_, attempt, plan) if attempt > standing.answered:
            booking = Booking(attempt, plan, plan.members, confirmed=False, demand=demand_of(plan.members, plan.orders))
            after = replace(standing, answered=attempt, booking=booking, checked=0)
        case GangNotBooked(_, attempt) if attempt > standing.answered:
            after = replace(standing, answered=attempt)  # what an earlier attempt holds stays until released
        case GangConfirmed(_, attempt, members, _, check) if standing.booking is not None:
            demand = demand_of(members, standing.booking.orders)
            booking = replace(standing.booking, members=members, confirmed=True, demand=demand)
            after = replace(standing, verified=attempt, booking=booking, checked=check)
        case GangBroken(_, attempt, _, check) if standing.booking is not None:
            after = replace(standing, verified=attempt, checked=check)
        case GangReleased(_, cause):
            after = replace(standing, booking=None, release_cause=cause)
        case _:
            raise CorruptHistory(standing, event)
    return Ledger({**ledger.gangs, event.gang: after})


def _refuse_conflicts(gang: GangId, demand: Demand, ledger: Ledger, supply: Supply) -> None:
    conflicts = find_conflicts(demand, ledger.demands(gang), supply)
    if conflicts:
        raise PlanConflicts(gang, conflicts)


LEDGER: Decider[LedgerCommand, Ledger, LedgerEvent] = Decider(Ledger(), decide, evolve)
