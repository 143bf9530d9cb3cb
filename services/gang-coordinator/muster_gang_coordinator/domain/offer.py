"""The last check, the offer, and what becomes of it: consumed, expired or revoked."""

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
)
from muster_gang_coordinator.domain.evolve import fold
from muster_gang_coordinator.domain.facts import loss_of_used_node, member_facts, order_facts
from muster_gang_coordinator.domain.giving_back import end_gang
from muster_gang_coordinator.domain.plans import existing_nodes
from muster_gang_coordinator.domain.policy import SagaPolicy
from muster_gang_coordinator.domain.refusals import booking_expired, node_lost
from muster_gang_coordinator.domain.saga import Saga
from muster_gang_coordinator.domain.states import Ready, Verifying
from muster_types import NodeGroupName


def decide_verifying(policy: SagaPolicy, command: Command, gang: Verifying) -> list[Event]:
    """Offers what is confirmed; what is broken or lost leads to the next attempt."""
    saga = gang.saga
    match command:
        case RecordConfirmation(attempt, placements, now) if attempt == saga.attempt:
            domain, pins = (saga.plan.domain, saga.plan.pins) if saga.plan else ("", ())
            ready = GangReadied(
                attempt,
                placements,
                offer_details(saga.gang_id, placements, domain, pins),
                now,
                now + saga.spec.booking_duration,
            )
            return [ready, GangConsumed(now)] if _complete(saga) else [ready]
        case RecordBreak(attempt, reasons, now) if attempt == saga.attempt:
            return replan(policy, saga, suspects(saga), reasons, now)
        case _:
            used = saga.plan.existing_nodes if saga.plan else frozenset()
            lost = loss_of_used_node(command, saga, used)
            noted = [*order_facts(command, saga), *lost, *member_facts(command, saga)]
            after = fold(gang, noted)
            if isinstance(after, Verifying) and _incomplete(after.saga):
                return [*noted, *replan(policy, after.saga, frozenset(), why_short(after.saga), command.now)]
            return noted


def decide_ready(command: Command, gang: Ready) -> list[Event]:
    """Counts the bound members; a lost node revokes the offer, the booking clock ends it."""
    saga = gang.saga
    match command:
        case WakeGang(attempt, Timer.BOOKING, now) if attempt == saga.attempt and now >= gang.booking_deadline:
            return end_gang(saga, EndState.EXPIRED, (booking_expired(len(saga.bound), saga.wanted_pods),), now)
        case _:
            used = existing_nodes(gang.placements)
            noted = [*order_facts(command, saga), *member_facts(command, saga)]
            noted = noted or loss_of_used_node(command, saga, used)
            after = fold(gang, noted)
            if not noted or not isinstance(after, Ready):
                return noted
            lost = [e.node for e in noted if isinstance(e, NodeLossRecorded) and e.node in used]
            if lost:
                reasons = tuple(node_lost(node) for node in lost)
                return [*noted, *end_gang(after.saga, EndState.REVOKED, reasons, command.now)]
            if _complete(after.saga):
                return [*noted, GangConsumed(command.now)]
            return noted


def suspects(saga: Saga) -> frozenset[NodeGroupName]:
    """Groups to leave out after a failed verification: whose nodes differ from their template, else all new ones."""
    odd = frozenset(o.node_group for o in saga.current if o.mismatched - o.lost)
    return odd or frozenset(o.node_group for o in saga.current)


def _complete(saga: Saga) -> bool:
    return len(saga.bound) >= saga.wanted_pods


def _incomplete(saga: Saga) -> bool:
    return saga.lost_a_used_node() or not all(o.full for o in saga.current)
