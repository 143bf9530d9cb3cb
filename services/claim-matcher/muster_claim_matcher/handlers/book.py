"""BookGang: plan the gang on what is observed and promised, and book the whole of it in one event."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import structlog

from muster_claim_matcher.domain.consumption import AllocatedClaims, unshown_claims
from muster_claim_matcher.domain.demand import Supply, demand_of
from muster_claim_matcher.domain.ledger import BookGang, PlanConflicts, is_answered
from muster_claim_matcher.domain.outcomes import to_booked, to_refusal, to_unreadable
from muster_claim_matcher.domain.plans import BookedPlan, Refusal
from muster_claim_matcher.domain.staying import claims_in_parts, lost_from, merged, own_holding, split, without
from muster_claim_matcher.domain.supplying import supply_of
from muster_claim_matcher.domain.view import Holding, view_for
from muster_claim_matcher.domain.wishes import BookingAsked
from muster_claim_matcher.handlers.cluster import Clusters, Seen
from muster_claim_matcher.handlers.holdings import holdings_of
from muster_claim_matcher.handlers.subjects import ledger_subject
from muster_claim_matcher.handlers.wishes import Wishes
from muster_claim_matcher.ports import Ledgers, Work
from muster_eventstore import Cause, TransientError
from muster_plan import Gang, InvalidGang, NoPlan, NoPlanKind, Pod, Policy, Snapshot, plan
from muster_types import ClusterId, GangId, NodeGroupName

log = structlog.get_logger("muster.claim-matcher")
_ROUNDS = 5  # plans for one command, when other writers of the ledger were faster


@dataclass(frozen=True, slots=True)
class Planned:
    """What planning gave, and what the ledger checks it against."""

    outcome: BookedPlan | Refusal
    supply: Supply


class Booker:
    """Plans and books, one command after the other for each cluster."""

    def __init__(
        self,
        clusters: Clusters,
        ledgers: Ledgers,
        wishes: Wishes,
        work: Work,
        now: Callable[[], datetime],
        policy: Policy,
    ) -> None:
        self._clusters = clusters
        self._ledgers = ledgers
        self._wishes = wishes
        self._work = work
        self._now = now
        self._policy = policy

    async def book(self, cluster: ClusterId, asked: BookingAsked, cause: Cause) -> None:
        """Answer an attempt once. Raises TransientError when facts are late or other writers keep winning."""
        subject = ledger_subject(cluster)
        for _ in range(_ROUNDS):
            if is_answered(self._ledgers.state(subject), asked.gang, asked.attempt):
                return
            seen = await self._clusters.seen(cluster, asked.min_observed_sequence)
            self._wishes.put(cluster, asked.gang, asked.wish)
            holdings = holdings_of(cluster, self._ledgers.state(subject), seen.world, self._wishes)
            if asked.lost and asked.gang in holdings:
                check_shown(asked.gang, holdings[asked.gang].pods, seen)
                planned = await self._work(partial(plan_repair, seen, asked, holdings, self._policy))
            else:
                planned = await self._work(partial(plan_gang, seen, asked, holdings, self._policy))
            command = BookGang(asked.gang, asked.attempt, planned.outcome, planned.supply, seen.sequence, self._now())
            try:
                await self._ledgers.handle(subject, command, cause)
            except PlanConflicts as conflicts:
                log.warning("plan met what was promised meanwhile; planning again", reason=str(conflicts))
                continue
            return
        raise TransientError(f"gang {asked.gang}: {_ROUNDS} plans in a row met what was promised meanwhile")


def plan_gang(seen: Seen, asked: BookingAsked, holdings: dict[GangId, Holding], policy: Policy) -> Planned:
    """The plan of a whole gang, or why there is none. Pure; may take seconds."""
    usable = tuple(each.node for each in asked.kept)
    view = view_for(seen.snapshot, asked.gang, asked.wish, holdings, usable)
    gang = Gang.from_request(asked.wish.request, view, gang=asked.gang)
    if isinstance(gang, InvalidGang):
        return Planned(to_unreadable(gang), Supply())
    answer = plan_on(view, gang, asked.excluded, policy)
    if isinstance(answer, Refusal):
        return Planned(answer, Supply())
    return Planned(answer, supply_of(seen.snapshot, demand_of(answer.members, answer.orders), holdings))


def plan_repair(seen: Seen, asked: BookingAsked, holdings: dict[GangId, Holding], policy: Policy) -> Planned:
    """A place for the members whose node is lost, in the domain of the others, which stay. Pure; may take seconds."""
    own = holdings[asked.gang]
    snapshot = lost_from(seen.snapshot, asked.lost)
    parts = split(own.booking, own.pods, snapshot, frozenset(asked.lost))
    usable = tuple(each.node for each in asked.kept)
    view = view_for(snapshot, asked.gang, asked.wish, holdings, usable, own_holding(own, parts.booked))
    gang = Gang.from_request(asked.wish.request, view, gang=asked.gang)
    if isinstance(gang, InvalidGang):
        return Planned(to_unreadable(gang), Supply())
    gang = without(gang, parts.staying)
    in_parts = claims_in_parts(gang) if parts.staying else None
    if in_parts is not None:
        return Planned(Refusal(NoPlanKind.NOT_NOW, (in_parts,), even_empty=False), Supply())
    answer = plan_on(view, gang, asked.excluded, policy) if parts.open else BookedPlan(())
    if isinstance(answer, Refusal):
        return Planned(answer, Supply())
    whole = merged(own.booking, parts, answer)
    return Planned(whole, supply_of(seen.snapshot, demand_of(whole.members, whole.orders), holdings))


def check_shown(gang: GangId, pods: Iterable[Pod], seen: Seen) -> None:
    """Raises TransientError while a bound pod's devices are not to be seen in the cluster yet."""
    unshown = unshown_claims(pods, AllocatedClaims(seen.snapshot.tables.claims))
    if unshown:
        raise TransientError(f"gang {gang}: {unshown[0].sentence()}; what its pods hold must be known first")


def plan_on(view: Snapshot, gang: Gang, excluded: tuple[NodeGroupName, ...], policy: Policy) -> BookedPlan | Refusal:
    """The planner's answer in the ledger's terms."""
    answer = plan(view, gang, _without(policy, excluded))
    return to_refusal(answer) if isinstance(answer, NoPlan) else to_booked(answer, gang, view)


def _without(policy: Policy, excluded: tuple[NodeGroupName, ...]) -> Policy:
    return replace(policy, excluded_groups=policy.excluded_groups | frozenset(excluded))
