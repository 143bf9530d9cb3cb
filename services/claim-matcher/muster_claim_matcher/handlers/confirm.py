"""ConfirmGang: allocation runs again on the actual slices of what arrived."""

from dataclasses import dataclass, replace
from functools import partial

from muster_claim_matcher.domain.demand import Supply, demand_of
from muster_claim_matcher.domain.ledger import (
    Booking,
    ConfirmGang,
    PlanConflicts,
    Unfit,
    awaits_verification,
    is_verifiable,
)
from muster_claim_matcher.domain.outcomes import to_members, to_plan, to_unfit
from muster_claim_matcher.domain.plans import Member, Reason
from muster_claim_matcher.domain.staying import split, vanished, without
from muster_claim_matcher.domain.supplying import supply_of
from muster_claim_matcher.domain.view import Holding, view_for
from muster_claim_matcher.domain.wishes import ConfirmationAsked, Wish
from muster_claim_matcher.handlers.book import check_shown
from muster_claim_matcher.handlers.cluster import Clusters, Seen
from muster_claim_matcher.handlers.holdings import holdings_of
from muster_claim_matcher.handlers.subjects import ledger_subject
from muster_claim_matcher.handlers.wishes import Wishes
from muster_claim_matcher.ports import Ledgers, Work
from muster_eventstore import Cause, TransientError
from muster_plan import Broken, ExistingNode, Gang, InvalidGang, NewNode
from muster_plan.verifying import verify
from muster_types import ClusterId, GangId

_ROUNDS = 5  # verifications for one command, when other gangs' bookings were faster


@dataclass(frozen=True, slots=True)
class Judged:
    """What verification gave, and what the ledger checks it against."""

    outcome: tuple[Member, ...] | Unfit
    supply: Supply


class Confirmer:
    """Verifies gangs side by side; the ledger decides when two want the same."""

    def __init__(self, clusters: Clusters, ledgers: Ledgers, wishes: Wishes, work: Work) -> None:
        self._clusters = clusters
        self._ledgers = ledgers
        self._wishes = wishes
        self._work = work

    async def confirm(self, cluster: ClusterId, asked: ConfirmationAsked, cause: Cause) -> None:
        """Answer an attempt once. Raises TransientError when facts are late or the gang's request is not known yet."""
        subject = ledger_subject(cluster)
        if self._ledgers.state(subject).standing(asked.gang).answered < asked.attempt:
            # Who asks has seen this attempt booked, so the ledger is not up to date: it may be asked before the booking
            # command, whose answer was lost, comes again.
            await self._ledgers.refresh(subject)
        for last in (*[False] * (_ROUNDS - 1), True):
            if asked.check and awaits_verification(self._ledgers.state(subject), asked.gang, asked.attempt):
                raise TransientError(f"gang {asked.gang}: attempt {asked.attempt} has not been verified yet")
            if not is_verifiable(self._ledgers.state(subject), asked.gang, asked.attempt, asked.check):
                return
            wish = self._wishes.get(cluster, asked.gang)
            if wish is None:
                raise TransientError(f"gang {asked.gang}: its request is not in the stream 'gangs' yet")
            seen = await self._clusters.seen(cluster, asked.min_observed_sequence)
            holdings = holdings_of(cluster, self._ledgers.state(subject), seen.world, self._wishes)
            own = holdings.get(asked.gang)
            if own is None:
                return  # released meanwhile
            check_shown(asked.gang, own.pods, seen)
            judged = await self._work(partial(judge, seen, asked, own.booking, wish, holdings))
            try:
                await self._record(subject, asked, judged, seen.sequence, cause)
            except PlanConflicts as conflicts:  # somebody booked meanwhile what this verification chose
                if last:
                    reasons = tuple(Reason("CONFLICT", each.sentence()) for each in conflicts.conflicts)
                    await self._record(subject, asked, Judged(Unfit(reasons), Supply()), seen.sequence, cause)
            else:
                return

    async def _record(
        self, subject: str, asked: ConfirmationAsked, judged: Judged, sequence: int, cause: Cause
    ) -> None:
        command = ConfirmGang(asked.gang, asked.attempt, judged.outcome, judged.supply, sequence, asked.check)
        await self._ledgers.handle(subject, command, cause)


def judge(
    seen: Seen, asked: ConfirmationAsked, booking: Booking, wish: Wish, holdings: dict[GangId, Holding]
) -> Judged:
    """Whether the gang's claims can be allocated on what arrived, all together. Pure; may take seconds."""
    arrived = {NewNode(each.group, each.ordinal): each.node for each in asked.nodes}
    pods = holdings[asked.gang].pods if asked.gang in holdings else ()
    parts = split(booking, pods, seen.snapshot, frozenset())
    gone = vanished(parts.bound, pods, seen.snapshot)
    if gone:
        return Judged(Unfit(gone), Supply())
    anew = replace(booking, members=(*parts.booked, *parts.open))
    existing = {member.target.name for member in booking.members if isinstance(member.target, ExistingNode)}
    usable = sorted({*arrived.values(), *existing})
    view = view_for(seen.snapshot, asked.gang, wish, holdings, usable)
    gang = Gang.from_request(wish.request, view, gang=asked.gang)
    if isinstance(gang, InvalidGang):
        return Judged(to_unfit(gang), Supply())
    if not anew.members:
        return Judged(parts.staying, Supply())
    answer = verify(view, without(gang, parts.bound), to_plan(asked.gang, anew), arrived)
    if isinstance(answer, Broken):
        return Judged(to_unfit(answer), Supply())
    placed = {(m.pod_set, m.index): m for m in to_members(answer.plan.placements, gang)}
    bound = {(m.pod_set, m.index): m for m in replace(parts, booked=()).staying}
    members = tuple((placed | bound)[m.pod_set, m.index] for m in booking.members)
    return Judged(members, supply_of(seen.snapshot, demand_of(members), holdings))
