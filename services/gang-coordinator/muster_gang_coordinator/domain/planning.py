"""From the wish to a booking: waiting for objects, asking the ledger, ordering what the plan needs."""

from dataclasses import replace
from datetime import datetime

from muster_gang_coordinator.domain.again import replan, why_short
from muster_gang_coordinator.domain.commands import (
    Command,
    RecordBooking,
    RecordNoPlan,
    RequestGang,
    RetryGang,
    Timer,
    WakeGang,
)
from muster_gang_coordinator.domain.events import (
    EndState,
    Event,
    GangEnded,
    GangPlanBooked,
    GangRequested,
    GangWaits,
    NodeOrder,
    NodesOrdered,
    PlanningStarted,
    SurplusOrder,
    SurplusReleased,
    VerificationStarted,
)
from muster_gang_coordinator.domain.evolve import fold
from muster_gang_coordinator.domain.facts import member_facts, order_facts
from muster_gang_coordinator.domain.fairness import comes_after
from muster_gang_coordinator.domain.giving_back import end_gang
from muster_gang_coordinator.domain.plans import GroupOrder, NoPlanKind, Reason
from muster_gang_coordinator.domain.policy import SagaPolicy, TrialOrders
from muster_gang_coordinator.domain.refusals import missing_objects, no_plan
from muster_gang_coordinator.domain.saga import Saga
from muster_gang_coordinator.domain.states import Booked, Planning, Received, Waiting
from muster_gang_coordinator.domain.trust import TemplateTrust, not_ordered_from
from muster_types import GangId, OrderId


def decide_request(command: RequestGang) -> list[Event]:
    """The first word about a gang."""
    requested = GangRequested(command.gang_id, command.spec, command.request_id, command.now)
    if command.spec.defects:
        return [requested, GangEnded(EndState.FAILED, command.spec.defects, command.now)]
    if command.spec.missing:
        return [requested]
    return [requested, _first(command)]


def decide_received(policy: SagaPolicy, command: Command, gang: Received) -> list[Event]:
    """Waits for the objects that the request names, bounded (F1)."""
    saga = gang.saga
    match command:
        case RequestGang(spec=spec, now=now) if spec.uid == saga.spec.uid and spec.defects:
            requested = GangRequested(saga.gang_id, spec, saga.request_id, saga.request_time)
            return [requested, GangEnded(EndState.FAILED, spec.defects, now)]
        case RequestGang(spec=spec) if spec.uid == saga.spec.uid and not spec.missing:
            return [GangRequested(saga.gang_id, spec, saga.request_id, saga.request_time), _first(command)]
        case RequestGang(spec=spec) if spec.uid == saga.spec.uid and spec.missing != saga.spec.missing:
            return [GangRequested(saga.gang_id, spec, saga.request_id, saga.request_time)]
        case WakeGang(timer=Timer.TEMPLATES, now=now) if now >= saga.request_time + policy.template_wait:
            return end_gang(saga, EndState.FAILED, missing_objects(saga.spec.missing), now)
        case _:
            return member_facts(command, saga)


def decide_planning(policy: SagaPolicy, command: Command, gang: Planning) -> list[Event]:
    """Takes the ledger's answer to the attempt in flight."""
    saga = gang.saga
    match command:
        case RecordBooking(attempt) if attempt == saga.attempt:
            booked = GangPlanBooked(attempt, command.plan, command.now)
            after = fold(gang, [booked])
            if not isinstance(after, Booked):  # GangPlanBooked leads nowhere else
                return [booked]
            return [booked, *_after_booking(policy, command, after)]
        case RecordNoPlan(attempt, kind, reasons, now) if attempt == saga.attempt:
            reasons = (*reasons, *_left_out(policy, command))
            why = (no_plan(kind), *reasons)
            if saga.booked or saga.live_orders or saga.setbacks:
                return _refused(saga, why, now)
            if kind is NoPlanKind.NOT_NOW:
                return [GangWaits(attempt, kind, reasons, now)]
            return _refused(saga, why, now)
        case _:
            return [*order_facts(command, saga), *member_facts(command, saga)]


def decide_waiting(command: Command, gang: Waiting) -> list[Event]:
    """Tries again when something changed that could help, or when the last try is long ago."""
    saga = gang.saga
    match command:
        case RetryGang(cause, now):
            return [_next_attempt(saga, cause, now)]
        case WakeGang(attempt, Timer.RETRY, now, ahead=ahead) if attempt == saga.attempt and ahead is not None:
            kept = [r for r in gang.reasons if r.code != comes_after(ahead).code]
            return [GangWaits(attempt, gang.kind, (*kept, comes_after(ahead)), now)]
        case WakeGang(attempt, Timer.RETRY, now) if attempt == saga.attempt:
            return [_next_attempt(saga, "a while has passed since the last try", now)]
        case _:
            return [*order_facts(command, saga), *member_facts(command, saga)]


def _after_booking(policy: SagaPolicy, command: RecordBooking, gang: Booked) -> list[Event]:
    saga, now = gang.saga, command.now
    if saga.lost_a_used_node():
        return replan(policy, saga, frozenset(), why_short(saga), now)
    surplus = surplus_orders(saga, command.plan.existing_nodes)
    released: list[Event] = [SurplusReleased(surplus)] if surplus else []
    if not command.plan.orders:
        return [*released, VerificationStarted(saga.attempt, (), now)]
    wrong = command.trust.refused(o.node_group for o in command.plan.orders) if _tried(policy) else ()
    if wrong:  # the judgement came while the plan was made
        return replan(policy, saga, frozenset(w.node_group for w in wrong), tuple(map(not_ordered_from, wrong)), now)
    return [*released, order_nodes(policy, saga, saga.unordered(), now, command.trust)]


def order_nodes(
    policy: SagaPolicy, saga: Saga, groups: tuple[GroupOrder, ...], now: datetime, trust: TemplateTrust
) -> NodesOrdered:
    """Orders of `groups` what the plan still needs; where the template is unconfirmed the smallest unit first."""
    placed = {o.node_group: o.first_ordinal + o.count for o in saga.current}
    orders: list[NodeOrder] = []
    for n, group in enumerate(groups, len(saga.current) + 1):
        count = trust.trial_size(group.node_group, group.count) if _tried(policy) else group.count
        number, first = order_id(saga.gang_id, saga.attempt, n), placed.get(group.node_group, 0)
        orders.append(NodeOrder(number, group.node_group, count, first, trial=count < group.count))
    return NodesOrdered(saga.attempt, tuple(orders), now, now + policy.node_deadline, now + policy.device_deadline)


def order_id(gang_id: GangId, attempt: int, number: int) -> OrderId:
    """The id of the number-th order, from 1, of an attempt: the same after any crash."""
    return OrderId(f"{gang_id}-a{attempt}-{number}")


def surplus_orders(saga: Saga, used: frozenset[str]) -> tuple[SurplusOrder, ...]:
    """Earlier orders of which the plan uses less than they may still bring, with what it uses."""
    surplus: list[SurplusOrder] = []
    for order in saga.live_orders:
        if order.attempt == saga.attempt:
            continue
        kept = tuple(a.node for a in order.present if a.node in used)
        whole = not order.waiting and order.full and len(kept) == len(order.known)
        if not whole and (order.kept is None or order.kept != frozenset(kept)):
            surplus.append(SurplusOrder(order.id, kept))
    return tuple(surplus)


def _tried(policy: SagaPolicy) -> bool:
    return policy.trial_orders is TrialOrders.ONE_NODE_FIRST


def _left_out(policy: SagaPolicy, command: RecordNoPlan) -> tuple[Reason, ...]:
    return tuple(map(not_ordered_from, command.trust.mistrusted)) if _tried(policy) else ()


def _refused(saga: Saga, why: tuple[Reason, ...], now: datetime) -> list[Event]:
    return end_gang(replace(saga, answered=saga.attempt), EndState.FAILED, why, now)


def _first(command: RequestGang) -> PlanningStarted | GangWaits:
    if command.ahead is not None:
        return GangWaits(0, NoPlanKind.NOT_NOW, (comes_after(command.ahead),), command.now)
    return PlanningStarted(1, (), (), "the request", command.now)


def _next_attempt(saga: Saga, cause: str, now: datetime) -> PlanningStarted:
    return PlanningStarted(saga.attempt + 1, saga.excluded, saga.present, cause, now)
