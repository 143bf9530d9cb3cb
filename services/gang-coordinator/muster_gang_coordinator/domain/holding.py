"""A request that goes away while its workload may ask again: what has arrived is held a while (F23, T28)."""

from muster_gang_coordinator.domain.commands import CancelGang, Command, RequestGang, Timer, WakeGang
from muster_gang_coordinator.domain.events import (
    EndState,
    Event,
    GangRequested,
    HoldStarted,
    PlanningStarted,
    SurplusOrder,
)
from muster_gang_coordinator.domain.facts import order_facts
from muster_gang_coordinator.domain.giving_back import end_gang
from muster_gang_coordinator.domain.policy import SagaPolicy
from muster_gang_coordinator.domain.refusals import cancelled
from muster_gang_coordinator.domain.states import Arriving, Held, Live, Ready, Verifying


def cancel(policy: SagaPolicy, command: CancelGang, gang: Live) -> list[Event]:
    """Gives everything back, at once or after a hold. With a plan in flight, or members that run, nothing is held."""
    if isinstance(gang, Held) and command.successor:
        return []  # the next attempt is what is waited for
    saga, why = gang.saga, (cancelled(command.cause),)
    holds = command.successor and policy.successor_hold and saga.spec.workload_key and saga.present and not saga.bound
    if not holds or not isinstance(gang, Arriving | Verifying | Ready):
        return end_gang(saga, EndState.CANCELLED, why, command.now)
    held = tuple(SurplusOrder(o.id, tuple(a.node for a in o.present)) for o in saga.live_orders)
    return [HoldStarted(why, held, command.now, command.now + policy.successor_hold)]


def decide_held(command: Command, gang: Held) -> list[Event]:
    """The next attempt takes over, or the hold ends."""
    saga = gang.saga
    match command:
        case RequestGang(spec=spec, now=now) if spec.uid != saga.spec.uid:
            adopted = GangRequested(saga.gang_id, spec, command.request_id, now)
            cause = f"{spec.namespace}/{spec.name} takes over what was held"
            return [adopted, PlanningStarted(saga.attempt + 1, saga.excluded, saga.present, cause, now)]
        case WakeGang(timer=Timer.HOLD, now=now) if now >= gang.deadline:
            return end_gang(saga, EndState.CANCELLED, gang.reasons, now)
        case _:
            return order_facts(command, saga)
