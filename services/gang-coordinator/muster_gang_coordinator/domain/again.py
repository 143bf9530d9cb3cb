"""The next attempt after a setback: which groups are left out, which nodes stay, and when enough is enough."""

from datetime import datetime

from muster_gang_coordinator.domain.events import EndState, Event, PlanningStarted
from muster_gang_coordinator.domain.giving_back import end_gang
from muster_gang_coordinator.domain.orders import Order, OrderState
from muster_gang_coordinator.domain.plans import Reason
from muster_gang_coordinator.domain.policy import SagaPolicy
from muster_gang_coordinator.domain.refusals import attempts_spent
from muster_gang_coordinator.domain.saga import Saga
from muster_types import NodeGroupName, NodeName


def replan(
    policy: SagaPolicy, saga: Saga, exclude: frozenset[NodeGroupName], why: tuple[Reason, ...], now: datetime
) -> list[Event]:
    """The next attempt without `exclude`, keeping what arrived; or the end when the tries are spent.

    After an offer it is a repair: only members whose node is gone are placed anew, in the domain of the others.
    """
    if saga.setbacks >= policy.max_setbacks:
        return end_gang(saga, EndState.FAILED, (attempts_spent(saga.setbacks + 1), *why), now)
    excluded = tuple(sorted({*saga.excluded, *exclude}))
    cause = "; ".join(r.sentence for r in why)
    lost = tuple(sorted(saga.gone | _gone(saga) | {node for node, _ in saga.unready})) if saga.offered else ()
    kept = tuple(a for a in saga.present if a.node not in lost)
    return [PlanningStarted(saga.attempt + 1, excluded, kept, cause, now, lost)]


def groups_that_failed(saga: Saga) -> frozenset[NodeGroupName]:
    """Groups of this attempt that ran short; one that only lost nodes is left out when it lost some before
    (F22), or when they were of another product than promised (T24)."""
    short = [o for o in saga.current if not o.full]
    return frozenset(
        o.node_group for o in short if o.state is OrderState.SHORT or o.mismatched & o.lost or _lost_before(saga, o)
    )


def why_short(saga: Saga) -> tuple[Reason, ...]:
    """A sentence for each order that did not bring its nodes, and for used nodes that are gone."""
    reasons = [_order_reason(o) for o in saga.current if not o.full and not o.waiting]
    used = saga.plan.existing_nodes if saga.plan else frozenset()
    gone = _gone(saga)
    reasons += [Reason("NODE_LOST", f"node {node} is gone", (("node", node),)) for node in sorted(gone & used)]
    return tuple(reasons)


def _gone(saga: Saga) -> frozenset[NodeName]:
    return saga.lost | {n for o in saga.orders for n in o.lost}


def _order_reason(order: Order) -> Reason:
    facts = (("node_group", str(order.node_group)), ("order", str(order.id)))
    if order.state is not OrderState.SHORT:
        return Reason("NODE_LOST", f"node group {order.node_group} lost {', '.join(sorted(order.lost))}", facts)
    came = len(order.present)
    return Reason("ORDER_SHORT", f"node group {order.node_group} gave {came} of {order.count} nodes", facts)


def _lost_before(saga: Saga, order: Order) -> bool:
    return any(o.lost and o.node_group == order.node_group and o.attempt < saga.attempt for o in saga.orders)
