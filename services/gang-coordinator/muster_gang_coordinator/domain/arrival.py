"""While ordered nodes are on their way: arrivals, shortfalls, losses and the two deadlines."""

from datetime import datetime

from muster_gang_coordinator.domain.again import groups_that_failed, replan, why_short
from muster_gang_coordinator.domain.commands import Command, RecordArrival, Timer, WakeGang
from muster_gang_coordinator.domain.events import Event, NodeLossRecorded, ShortfallRecorded, VerificationStarted
from muster_gang_coordinator.domain.evolve import fold
from muster_gang_coordinator.domain.facts import loss_of_used_node, member_facts, order_facts
from muster_gang_coordinator.domain.orders import Order
from muster_gang_coordinator.domain.planning import order_nodes
from muster_gang_coordinator.domain.plans import GroupOrder, Reason, ShortfallClass
from muster_gang_coordinator.domain.policy import SagaPolicy
from muster_gang_coordinator.domain.saga import Saga
from muster_gang_coordinator.domain.shapes import other_product
from muster_gang_coordinator.domain.states import Arriving, InProgress, Ordered
from muster_gang_coordinator.domain.trust import ALL_TRUSTED
from muster_gang_coordinator.domain.watching import member_losses, readiness_facts
from muster_types import NodeName, OrderId


def decide_arriving(policy: SagaPolicy, command: Command, gang: InProgress) -> list[Event]:
    """Notes the fact, then goes on when nothing more is to be waited for."""
    saga = gang.saga
    match command:
        case WakeGang(attempt, Timer.NODE, now, ready) if attempt == saga.attempt and now >= gang.node_deadline:
            noted = overdue(saga, frozenset(ready), "Ready", now)
        case WakeGang(attempt, Timer.DEVICE, now) if attempt == saga.attempt and now >= gang.device_deadline:
            noted = overdue(saga, None, "complete", now)
        case _:
            used = saga.plan.existing_nodes if saga.plan else frozenset()
            noted = [
                *order_facts(command, saga),
                *loss_of_used_node(command, saga, used),
                *member_facts(command, saga),
                *member_losses(command, saga),
                *readiness_facts(policy, command, saga, used | {a.node for o in saga.current for a in o.present}),
            ]
    if isinstance(command, RecordArrival) and noted and (product := other_product(command.mismatches)):
        noted.append(NodeLossRecorded(command.node.node, command.node.order_id, command.now, product))
    after = fold(gang, noted)
    if not noted or not isinstance(after, Ordered | Arriving):
        return noted
    return [*noted, *_advance(policy, after.saga, command.now)]


def overdue(saga: Saga, ready: frozenset[tuple[OrderId, NodeName]] | None, wanted: str, now: datetime) -> list[Event]:
    """A shortfall for each order whose nodes are late; nodes that are `ready` still get the device deadline (T19)."""
    late: list[Event] = []
    for order in saga.current:
        if not order.waiting:
            continue
        here = {a.node for a in order.present} | {n for o, n in ready or () if o == order.id and n not in order.lost}
        missing = order.count - len(here)
        if missing > 0:
            late.append(_timeout(order, tuple(sorted(here)), missing, wanted, now))
    return late


def _timeout(order: Order, here: tuple[NodeName, ...], missing: int, wanted: str, now: datetime) -> ShortfallRecorded:
    message = f"{missing} of {order.count} nodes of node group {order.node_group} were not {wanted} by the deadline"
    return ShortfallRecorded(order.id, order.node_group, ShortfallClass.TIMEOUT, message, here, missing, now)


def _advance(policy: SagaPolicy, saga: Saga, now: datetime) -> list[Event]:
    wrong = _failed_trial(saga)
    if wrong:
        return replan(policy, saga, frozenset(o.node_group for o in wrong), tuple(map(_wrong_shape, wrong)), now)
    rest = _proved(saga)
    if rest:
        return [order_nodes(policy, saga, rest, now, ALL_TRUSTED)]
    if any(o.waiting for o in saga.current):
        return []
    if saga.lost_a_used_node() or not all(o.full for o in saga.current):
        return replan(policy, saga, groups_that_failed(saga), why_short(saga), now)
    nodes = tuple(a for o in saga.current for a in o.present)
    return [VerificationStarted(saga.attempt, nodes, now)]


def _proved(saga: Saga) -> tuple[GroupOrder, ...]:
    """What is left to order of groups whose trial nodes are all there as promised."""
    open_ = {o.node_group for o in saga.current if not o.full or o.mismatched}
    return tuple(g for g in saga.unordered() if g.node_group not in open_)


def _failed_trial(saga: Saga) -> list[Order]:
    """Trial orders whose node has another shape than promised: nothing more is ordered on that template."""
    open_groups = {g.node_group for g in saga.unordered()}
    return [o for o in saga.current if o.node_group in open_groups and o.mismatched]


def _wrong_shape(order: Order) -> Reason:
    node = min(order.mismatched)
    return Reason(
        "TEMPLATE_WRONG",
        f"node {node} of node group {order.node_group} has another shape than its template promised",
        (("node", str(node)), ("node_group", str(order.node_group))),
    )
