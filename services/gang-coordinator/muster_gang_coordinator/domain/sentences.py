"""Each event as a plain sentence, for the audit trail."""

from collections.abc import Iterable
from datetime import timedelta

from muster_gang_coordinator.domain.events import (
    BookingReleaseRecorded,
    CompensationStarted,
    Event,
    GangConsumed,
    GangEnded,
    GangPlanBooked,
    GangReadied,
    GangRequested,
    GangWaits,
    HoldStarted,
    MemberBindRecorded,
    MemberLossRecorded,
    MemberNodeRecovered,
    MemberNodeUnreadied,
    MemberPoolChanged,
    NodeArrivalRecorded,
    NodeLossRecorded,
    NodeOrder,
    NodesOrdered,
    OfferRevised,
    OrderCancelRecorded,
    OrderFillRecorded,
    OrphanFound,
    PlanningStarted,
    ShortfallRecorded,
    SurplusReleased,
    TemplateDriftRecorded,
    VerificationStarted,
    Watched,
)
from muster_gang_coordinator.domain.plans import Reason, existing_nodes

_LISTED = 8


def sentence(event: Event) -> str:
    """What happened, in one sentence without a full stop."""
    match event:
        case GangRequested(_, spec):
            asked = f"asked for {_count(spec.pod_count, 'pod')} by {spec.namespace}/{spec.name}"
            missing = ", ".join(f"{key.kind} {key.namespace}/{key.name}" for key in spec.missing)
            return f"{asked}; waits for {missing}" if missing else asked
        case PlanningStarted(attempt, excluded, kept, cause, lost_nodes=lost):
            again = "repairs, all other members stay" if lost else "plans again"
            text = "plans" if attempt == 1 else f"{again} (attempt {attempt}): {cause}"
            text += f"; without node group {_list(excluded)}" if excluded else ""
            return text + (f"; keeps {_list(n.node for n in kept)}" if kept else "")
        case GangPlanBooked(_, plan):
            places = f"booked {_count(len(plan.placements), 'member')}"
            old = len(plan.existing_nodes)
            new = ", ".join(f"{o.count} new of {o.node_group}" for o in plan.orders)
            where = " and ".join(p for p in (f"{_count(old, 'existing node')}" if old else "", new) if p)
            text = f"{places} on {where or 'no node'}" + (f", cost {plan.cost:g}" if plan.orders else "")
            left = len(plan.unplaced)
            text += f"; {_count(left, 'pod')} beyond the minimum got no place" if left else ""
            return text + ("; kube-scheduler must be told where the pods go" if plan.pins else "")
        case GangWaits(reasons=reasons):
            return f"no plan now: {reason_text(reasons)}"
        case NodesOrdered(orders=orders):
            return "ordered " + ", ".join(map(_order_text, orders))
        case OrderFillRecorded(order_id, nodes):
            return f"order {order_id} is filled: {_list(nodes)} on the way"
        case ShortfallRecorded() as e:
            came = f"; {_list(e.nodes)} came" if e.nodes else ""
            what = f"{e.missing} short ({e.shortfall_class.value}): {e.message}"
            return f"order {e.order_id} of {e.node_group} is {what}{came}"
        case NodeArrivalRecorded(node, mismatches):
            odd = "; ".join(f"{m.check} {m.sentence}" for m in mismatches)
            return f"node {node.node} of {node.node_group} arrived" + (f" in another shape: {odd}" if odd else "")
        case NodeLossRecorded(node, order_id, cause=cause):
            text = f"node {node} is given up: {cause}" if cause else f"node {node} is gone"
            return text + (f" (order {order_id})" if order_id else "")
        case VerificationStarted(_, nodes):
            return (
                "every node is there; allocation runs again on the actual slices"
                if nodes
                else ("the plan needs no new node; allocation runs again on the actual slices")
            )
        case SurplusReleased(orders):
            return "gives back what the new plan does not use: " + ", ".join(
                f"{o.order_id} except {_list(o.kept_nodes)}" if o.kept_nodes else f"{o.order_id}" for o in orders
            )
        case GangReadied(_, placements, _, ready_time, deadline):
            nodes = _list(sorted(existing_nodes(placements)))
            return f"ready on {nodes}: offered for {_duration(deadline - ready_time)}"
        case MemberBindRecorded(pod, node, ungrouped):
            odd = "; it lacks the scheduling group of its template, so the cluster does not enforce the gang"
            return f"pod {pod} is bound to {node}{odd if ungrouped else ''}"
        case GangConsumed():
            return "every member is bound: consumed"
        case CompensationStarted(end_state, reasons, order_ids, booking_held):
            what = [f"order {o}" for o in order_ids] + (["the booking"] if booking_held else [])
            given = _list(what) if what else "what the plan in flight may book"
            return f"will end {end_state.value}: {reason_text(reasons)}; gives back {given}"
        case OrderCancelRecorded(order_id, deleted, kept):
            nothing = "nothing more" if kept else "nothing, for it had brought nothing"
            text = f"order {order_id} gave back {_list(deleted) if deleted else nothing}"
            return f"{text}, and keeps {_list(kept)}" if kept else text
        case BookingReleaseRecorded():
            return "the ledger holds nothing for it"
        case GangEnded(end_state, reasons):
            return f"ended {end_state.value}: {reason_text(reasons)}"
        case OrphanFound(booking=True):
            return "a booking came too late and is given back"
        case OrphanFound(order_id, node=node):
            what = f"node {node} of order {order_id}" if node else f"a node of order {order_id}"
            return f"{what} came too late and is given back"
        case _:
            return _watched(event)


def _watched(event: Watched) -> str:
    """What went wrong under members that have their place."""
    match event:
        case MemberNodeUnreadied(node, reason, unready, deadline):
            span = _duration(deadline - unready)
            return f"node {node} is not Ready: {reason}; unless it recovers it is given up in {span}"
        case MemberNodeRecovered(node):
            return f"node {node} is Ready again"
        case MemberPoolChanged(driver=driver, pool=pool, node=node, change=change):
            where = f" of node {node}" if node else ""
            return f"pool {driver}/{pool}{where} changed ({change}); allocation is checked again"
        case OfferRevised():
            return "after the change the members have other devices on the same nodes"
        case MemberLossRecorded(pod):
            return f"pod {pod} is gone; its place is kept"
        case TemplateDriftRecorded(kind, name):
            return f"{kind} {name} was edited after the request was accepted; the gang goes on with what was accepted"
        case HoldStarted(reasons, orders, start, deadline):
            nodes = [node for order in orders for node in order.kept_nodes]
            held = f"holds {_list(nodes)} for the next attempt of the workload for {_duration(deadline - start)}"
            return f"{reason_text(reasons)}; {held}, and gives back the rest"


def reason_text(reasons: Iterable[Reason]) -> str:
    """The sentences of reasons, in order; proofs and what would help stay in the list of reasons."""
    told = [r.sentence for r in reasons if r.code != "PROOF" and not r.code.startswith("HELP_")]
    return "; ".join(told) or "no reason was given"


def _order_text(order: NodeOrder) -> str:
    first = ", as a trial, for no arrival has confirmed its template: the rest follows" if order.trial else ""
    return f"{_count(order.count, 'node')} of {order.node_group} ({order.order_id}){first}"


def _list(items: Iterable[object]) -> str:
    texts = [str(i) for i in items]
    if len(texts) > _LISTED:
        return ", ".join(texts[:_LISTED]) + f" and {len(texts) - _LISTED} more"
    return ", ".join(texts)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _duration(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    return f"{seconds // 60} min" if seconds % 60 == 0 else f"{seconds} s"
