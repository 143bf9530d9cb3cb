"""What a gang is doing or why it ended, in one sentence: the text of GetGang and of the Provisioned condition."""

from muster_gang_coordinator.domain.again import why_short
from muster_gang_coordinator.domain.saga import Saga
from muster_gang_coordinator.domain.sentences import reason_text
from muster_gang_coordinator.domain.states import (
    Arriving,
    Booked,
    Compensating,
    Consumed,
    Ended,
    Held,
    Known,
    Ordered,
    Planning,
    Ready,
    Received,
    Verifying,
    Waiting,
)


def progress(gang: Known) -> str:
    """One sentence without a full stop."""
    match gang:
        case Received(saga):
            missing = ", ".join(f"{key.kind} {key.namespace}/{key.name}" for key in saga.spec.missing)
            return f"waits for {missing}"
        case Planning(saga, cause):
            what = "repairs" if saga.offered else "plans again"
            return "plans" if saga.attempt == 1 else f"{what} (attempt {saga.attempt}): {cause}"
        case Waiting(_, _, reasons):
            return f"no plan now: {reason_text(reasons)}"
        case Booked():
            return "booked"
        case Ordered(saga) | Arriving(saga):
            return _arriving(saga)
        case Verifying():
            return "checks the shape of what is there"
        case Ready(saga):
            return f"capacity is ready; {len(saga.bound)} of {saga.wanted_pods} pods are bound"
        case Held(saga, reasons, deadline):
            count = len(saga.present)
            until = deadline.isoformat(timespec="seconds")
            return f"{reason_text(reasons)}; {count} nodes are held for the next attempt of the workload until {until}"
        case Consumed(saga):
            return f"consumed: all {saga.wanted_pods} pods are bound"
        case Compensating(saga, end_state, reasons):
            open_ = len(saga.live_orders)
            left = f"{open_} orders" if open_ != 1 else "1 order"
            return f"gives back what it holds ({left} open), then ends {end_state.value}: {reason_text(reasons)}"
        case Ended(_, end_state, reasons):
            return f"{end_state.value.lower()}: {reason_text(reasons)}"


def _arriving(saga: Saga) -> str:
    wanted = saga.plan.new_nodes if saga.plan else 0
    came = sum(len(o.present) for o in saga.current)
    groups = ", ".join(dict.fromkeys(str(o.node_group) for o in saga.current))
    text = f"{came} of {wanted} nodes arrived ({groups})"
    short = [o for o in saga.current if not o.full and not o.waiting]
    return f"{text}; {reason_text(why_short(saga))}" if short else text
