"""The reasons that the saga itself gives, and the commands that it refuses."""

from datetime import datetime

from muster_decider import DomainError
from muster_gang_coordinator.domain.events import NodeLossRecorded
from muster_gang_coordinator.domain.plans import NoPlanKind, Reason
from muster_types import ObjectKey

NO_PLAN_CODES = {
    NoPlanKind.NEVER: "NO_PLAN_NEVER",
    NoPlanKind.LIMIT: "NO_PLAN_LIMIT",
    NoPlanKind.NOT_NOW: "NO_PLAN_NOT_NOW",
}
_NO_PLAN_SENTENCES = {
    NoPlanKind.NEVER: "no plan, never: no number of further nodes helps",
    NoPlanKind.LIMIT: "no plan: only a maximum or a quota is in the way",
    NoPlanKind.NOT_NOW: "no plan now: something is held that may become free",
}


class UnknownGang(DomainError):
    """Nobody asked for this gang."""

    reason = "GANG_UNKNOWN"


class GangAlreadyRequested(DomainError):
    """The same gang was asked for with another content."""

    reason = "GANG_ALREADY_REQUESTED"


def no_plan(kind: NoPlanKind) -> Reason:
    """The head of a list of planner's reasons."""
    return Reason(NO_PLAN_CODES[kind], _NO_PLAN_SENTENCES[kind])


def missing_objects(missing: tuple[ObjectKey, ...]) -> tuple[Reason, ...]:
    """One reason a missing object; the code is the condition reason of the autoscaler for the same case."""
    return tuple(
        Reason(
            "TEMPLATE_MISSING",
            f"{key.kind} {key.namespace}/{key.name} does not exist: create it, then submit the request again",
            (("kind", key.kind), ("name", key.name), ("namespace", key.namespace)),
        )
        for key in missing
    )


def cancelled(cause: str) -> Reason:
    """Somebody asked for it."""
    return Reason("CANCELLED", cause)


def attempts_spent(setbacks: int) -> Reason:
    """The gang met too many shortfalls, losses and wrong shapes."""
    return Reason("ATTEMPTS_SPENT", f"gave up after {setbacks} plans that did not hold", (("setbacks", str(setbacks)),))


def request_expired(requested: datetime) -> Reason:
    """The request never became ready within its lifetime."""
    return Reason("REQUEST_EXPIRED", f"no capacity since the request at {requested.isoformat()}")


def booking_expired(bound: int, pods: int) -> Reason:
    """The pods did not come, or not all."""
    come = "no pod was bound" if not bound else f"only {bound} of {pods} pods were bound"
    return Reason("BOOKING_EXPIRED", f"{come} before the booking ended", (("bound", str(bound)), ("pods", str(pods))))


def node_lost(loss: NodeLossRecorded) -> Reason:
    """A node of an offered gang is gone, or counts as gone."""
    text = f"node {loss.node} is given up: {loss.cause}" if loss.cause else f"node {loss.node} is gone"
    return Reason("NODE_LOST", text, (("node", str(loss.node)),))
