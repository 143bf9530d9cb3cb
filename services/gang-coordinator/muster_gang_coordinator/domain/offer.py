"""The last check, the offer, and what becomes of it: consumed, repaired, expired or revoked."""

from muster_gang_coordinator.domain.again import replan, why_short
from muster_gang_coordinator.domain.commands import (
    Command,
    RecordBreak,
    RecordConfirmation,
    Timer,
    WakeGang,
)
from muster_gang_coordinator.domain.details import offer_details
from muster_gang_coordinator.domain.events import (
    EndState,
    Event,
    GangConsumed,
    GangReadied,
    NodeLossRecorded,
    OfferRevised,
)
from muster_gang_coordinator.domain.evolve import fold
from muster_gang_coordinator.domain.facts import loss_of_used_node, member_facts, order_facts
from muster_gang_coordinator.domain.giving_back import end_gang
from muster_gang_coordinator.domain.plans import Reason, existing_nodes
from muster_gang_coordinator.domain.policy import SagaPolicy
from muster_gang_coordinator.domain.refusals import booking_expired, node_lost
from muster_gang_coordinator.domain.saga import Saga
from muster_gang_coordinator.domain.states import Ready, Verifying
from muster_gang_coordinator.domain.watching import loss_of, member_losses, pool_facts, readiness_facts
from muster_types import NodeGroupName, NodeName

_SCATTERED = frozenset({"DOMAIN", "SLICES"})


def decide_verifying(policy: SagaPolicy, command: Command, gang: Verifying) -> list[Event]:
    """Offers what is confirmed; what is broken or lost leads to the next attempt."""
    saga = gang.saga
    planned = () if saga.plan is None else saga.plan.placements
    used = existing_nodes(planned) | {each.node for each in gang.nodes}
    match command:
        case RecordConfirmation(n, placements, now, check) if n == saga.attempt and check in {0, saga.check}:
            if saga.unready:  # verified on what the cluster showed a moment ago
                return _give_up(policy, gang, frozenset(node for node, _ in saga.unready), "is not Ready", command)
            domain, pins = (saga.plan.domain, saga.plan.pins) if saga.plan else ("", ())
            ready = GangReadied(
                n,
                placements,
                offer_details(saga.gang_id, placements, domain, pins),
                now,
                now + saga.spec.booking_duration,
            )
            return [ready, GangConsumed(now)] if _complete(saga) else [ready]
        case RecordBreak(attempt, reasons, now) if attempt == saga.attempt:
            return replan(policy, saga, suspects(saga, reasons), reasons, now)
        case _:
            known = saga.plan.existing_nodes if saga.plan else frozenset()
            noted = [
                *order_facts(command, saga),
                *loss_of_used_node(command, saga, known),
                *member_facts(command, saga),
                *member_losses(command, saga),
                *readiness_facts(policy, command, saga, used),
                *pool_facts(command, saga, used, ()),
            ]
            after = fold(gang, noted)
            if isinstance(after, Verifying) and _incomplete(after.saga):
                return [*noted, *replan(policy, after.saga, frozenset(), why_short(after.saga), command.now)]
            return noted


def decide_ready(policy: SagaPolicy, command: Command, gang: Ready) -> list[Event]:
    """Counts the bound members; what is lost under the others is repaired, the booking clock ends the offer."""
    saga, used = gang.saga, existing_nodes(gang.placements)
    match command:
        case WakeGang(attempt, Timer.BOOKING, now) if attempt == saga.attempt and now >= gang.booking_deadline:
            return end_gang(saga, EndState.EXPIRED, (booking_expired(len(saga.bound), saga.wanted_pods),), now)
        case RecordConfirmation(attempt, placements, _, check) if (attempt, check) == (saga.attempt, saga.check):
            return [OfferRevised(attempt, check, placements)] if check and placements != gang.placements else []
        case RecordBreak(attempt, reasons, now, check) if check and (attempt, check) == (saga.attempt, saga.check):
            broken = (_named(reasons) & used) or (gang.doubted & used)
            if not broken:  # no node of its own is to blame, so none can be replaced
                return end_gang(saga, EndState.REVOKED, reasons, now)
            return _give_up(policy, gang, broken, "; ".join(r.sentence for r in reasons), command)
        case _:
            noted = [
                *order_facts(command, saga),
                *member_facts(command, saga),
                *member_losses(command, saga),
                *readiness_facts(policy, command, saga, used),
                *pool_facts(command, saga, used, gang.placements),
            ]
            noted = noted or loss_of_used_node(command, saga, used)
            after = fold(gang, noted)
            if not noted or not isinstance(after, Ready):
                return noted
            lost = [e for e in noted if isinstance(e, NodeLossRecorded) and e.node in used]
            if lost:
                return [*noted, *replan(policy, after.saga, frozenset(), tuple(map(node_lost, lost)), command.now)]
            if _complete(after.saga):
                return [*noted, GangConsumed(command.now)]
            return noted


def suspects(saga: Saga, reasons: tuple[Reason, ...] = ()) -> frozenset[NodeGroupName]:
    """Groups to leave out after a failed verification: whose nodes differ from their template, else all new ones.

    Nodes that are sound and only lie in several domains are no fault of their group the first time: the difference is
    ordered in one of them, if that can be planned (F16, T25).
    """
    scattered = bool(reasons) and all(each.code in _SCATTERED for each in reasons)
    if scattered and not any(o.attempt < saga.attempt for o in saga.orders):
        return frozenset()
    odd = frozenset(o.node_group for o in saga.current if o.mismatched - o.lost)
    return odd or frozenset(o.node_group for o in saga.current)


def _give_up(
    policy: SagaPolicy, gang: Verifying | Ready, nodes: frozenset[NodeName], cause: str, command: Command
) -> list[Event]:
    """These nodes are there and do not serve."""
    noted: list[Event] = [loss_of(gang.saga, node, cause, command) for node in sorted(nodes)]
    after = fold(gang, noted)
    lost = tuple(node_lost(e) for e in noted if isinstance(e, NodeLossRecorded))
    return (
        [*noted, *replan(policy, after.saga, frozenset(), lost, command.now)]
        if isinstance(after, Verifying | Ready)
        else noted
    )


def _named(reasons: tuple[Reason, ...]) -> frozenset[NodeName]:
    facts = [dict(each.facts) for each in reasons]
    return frozenset(NodeName(name) for each in facts for name in each.get("nodes", "").split(",") if name)


def _complete(saga: Saga) -> bool:
    return len(saga.bound) >= saga.wanted_pods


def _incomplete(saga: Saga) -> bool:
    return saga.lost_a_used_node() or not all(o.full for o in saga.current)
