"""The saga of a gang as a decider (docs/saga.md): one function per state, and what is the same in all of them."""

from functools import partial

from muster_decider import Decider
from muster_gang_coordinator.domain.arrival import decide_arriving
from muster_gang_coordinator.domain.commands import CancelGang, Command, RecordDrift, RequestGang, Timer, WakeGang
from muster_gang_coordinator.domain.events import EndState, Event, GangRequested, TemplateDriftRecorded
from muster_gang_coordinator.domain.evolve import evolve
from muster_gang_coordinator.domain.giving_back import decide_compensating, decide_over, end_gang
from muster_gang_coordinator.domain.holding import cancel, decide_held
from muster_gang_coordinator.domain.offer import decide_ready, decide_verifying
from muster_gang_coordinator.domain.planning import (
    decide_planning,
    decide_received,
    decide_request,
    decide_waiting,
)
from muster_gang_coordinator.domain.policy import SagaPolicy
from muster_gang_coordinator.domain.refusals import GangAlreadyRequested, UnknownGang, request_expired
from muster_gang_coordinator.domain.states import (
    Arriving,
    Booked,
    Compensating,
    Consumed,
    Ended,
    Gang,
    Held,
    Known,
    Live,
    New,
    Ordered,
    Planning,
    Ready,
    Received,
    Verifying,
    Waiting,
)


def decide(policy: SagaPolicy, command: Command, gang: Gang) -> list[Event]:
    """The events that `command` causes; none for a repeat or a stale fact. Raises UnknownGang, GangAlreadyRequested."""
    match gang:
        case New():
            if isinstance(command, RequestGang):
                return decide_request(command)
            if isinstance(command, CancelGang):
                raise UnknownGang("no such gang: see the list of gangs")
            return []  # a fact about a gang that was never asked for
        case Consumed() | Ended():
            _refuse_other_content(command, gang)
            return decide_over(command, gang)
        case Compensating():
            _refuse_other_content(command, gang)
            return decide_compensating(command, gang)
        case _:
            return _decide_live(policy, command, gang)


def _decide_live(policy: SagaPolicy, command: Command, gang: Live) -> list[Event]:
    saga = gang.saga
    match command:
        case CancelGang(uid=uid):
            if uid not in {None, saga.spec.uid}:
                return []  # another attempt of the workload has adopted the gang
            return cancel(policy, command, gang)
        case WakeGang(timer=Timer.REQUEST, now=now) if not saga.offered and not isinstance(gang, Held):
            due = saga.request_time + policy.request_lifetime
            return end_gang(saga, EndState.FAILED, (request_expired(saga.request_time),), now) if now >= due else []
        case RecordDrift(kind, name, shown, now):
            known = shown in {saga.spec.content_hash, *saga.drift}
            return [] if known else [TemplateDriftRecorded(kind, name, saga.spec.content_hash, shown, now)]
        case RequestGang() if not isinstance(gang, Received | Held):
            _refuse_other_content(command, gang)
            return _adopt(command, gang)
        case _:
            return _decide_state(policy, command, gang)


def _decide_state(policy: SagaPolicy, command: Command, gang: Live) -> list[Event]:
    match gang:
        case Received():
            return decide_received(policy, command, gang)
        case Planning():
            return decide_planning(policy, command, gang)
        case Waiting():
            return decide_waiting(command, gang)
        case Booked():  # passed through within one decision, so nothing is ever asked of it
            return []
        case Ordered() | Arriving():
            return decide_arriving(policy, command, gang)
        case Verifying():
            return decide_verifying(policy, command, gang)
        case Ready():
            return decide_ready(policy, command, gang)
        case Held():
            _refuse_other_content(command, gang)
            return decide_held(command, gang)


def _adopt(command: RequestGang, gang: Live) -> list[Event]:
    saga = gang.saga
    if command.spec.uid == saga.spec.uid:
        return []
    return [GangRequested(saga.gang_id, command.spec, command.request_id, saga.request_time)]


def _refuse_other_content(command: Command, gang: Known) -> None:
    asked = gang.saga.spec.content_hash
    if isinstance(command, RequestGang) and command.spec.content_hash != asked:
        raise GangAlreadyRequested(f"gang {command.gang_id} was requested with other content: use another request_id")


def gang_decider(policy: SagaPolicy) -> Decider[Command, Gang, Event]:
    """The decider of every gang under one policy."""
    return Decider(New(), partial(decide, policy), evolve)
