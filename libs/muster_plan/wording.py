"""Words for what the allocator and eligibility answer."""

from collections.abc import Mapping

from muster_dra import Fatal, NodeError, NoFit
from muster_plan.eligibility import Barrier
from muster_plan.plan_types import ReasonCode

CODES: Mapping[Barrier, ReasonCode] = {
    Barrier.NOT_READY: ReasonCode.NOT_READY,
    Barrier.UNSCHEDULABLE: ReasonCode.NOT_READY,
    Barrier.TAINT: ReasonCode.TAINT,
    Barrier.SELECTOR: ReasonCode.SELECTOR,
    Barrier.ANTI_AFFINITY: ReasonCode.ANTI_AFFINITY,
    Barrier.AFFINITY: ReasonCode.AFFINITY,
    Barrier.HOST_PORT: ReasonCode.HOST_PORT,
    Barrier.PINNED: ReasonCode.PINNED,
    Barrier.NO_CLASS: ReasonCode.INVALID,
    Barrier.RESERVED: ReasonCode.BOOKED,
}


def refusal_text(outcome: NoFit | NodeError | Fatal) -> str:
    match outcome:
        case Fatal(_, message):
            return message
        case NoFit() | NodeError():
            return outcome.reasons[0].sentence()
