"""What may go wrong under members that have their place: nodes that turn NotReady, pools that change, pods that go."""

from muster_gang_coordinator.domain.commands import (
    Command,
    RecordMemberLoss,
    RecordNodeReady,
    RecordNodeUnready,
    RecordPoolChange,
    Timer,
    WakeGang,
)
from muster_gang_coordinator.domain.events import (
    Event,
    MemberLossRecorded,
    MemberNodeRecovered,
    MemberNodeUnreadied,
    MemberPoolChanged,
    NodeLossRecorded,
)
from muster_gang_coordinator.domain.plans import Placement
from muster_gang_coordinator.domain.policy import SagaPolicy
from muster_gang_coordinator.domain.saga import Saga
from muster_types import NodeName, OrderId


def readiness_facts(policy: SagaPolicy, command: Command, saga: Saga, used: frozenset[NodeName]) -> list[Event]:
    """A node of `used` has a grace period to become Ready again; after that it counts as gone."""
    known = dict(saga.unready)
    match command:
        case RecordNodeUnready(node, reason, now) if node in used - known.keys():
            deadline = now + policy.unready_grace
            return [MemberNodeUnreadied(node, reason, now, deadline, min([deadline, *known.values()]))]
        case RecordNodeReady(node) if node in known:
            return [MemberNodeRecovered(node)]
        case WakeGang(timer=Timer.UNREADY, now=now) if known:
            due = [node for node, deadline in saga.unready if deadline <= now]
            if due:
                return [loss_of(saga, node, f"it was not Ready for {policy.unready_grace}", command) for node in due]
            first = min(known.values())
            node = min(node for node, deadline in saga.unready if deadline == first)
            return [MemberNodeUnreadied(node, "it has not recovered", first - policy.unready_grace, first, first)]
        case _:
            return []


def pool_facts(
    command: Command, saga: Saga, used: frozenset[NodeName], placements: tuple[Placement, ...]
) -> list[Event]:
    """A pool under members that is another one than at their verification asks for a further check (F17)."""
    match command:
        case RecordPoolChange(driver, pool, node, change, sequence) if sequence > saga.as_of:
            if node in used or _on_pool(placements, driver, pool):
                return [MemberPoolChanged(saga.attempt, driver, pool, node, change, saga.check + 1, sequence)]
            return []
        case _:
            return []


def member_losses(command: Command, saga: Saga) -> list[Event]:
    """A pod that counted as bound and is gone (F21): the pod that follows it finds its place kept."""
    match command:
        case RecordMemberLoss(pod) if pod in dict(saga.bound):
            return [MemberLossRecorded(pod)]
        case _:
            return []


def loss_of(saga: Saga, node: NodeName, cause: str, command: Command) -> NodeLossRecorded:
    """The node is given up although it may still be there."""
    order = saga.order_of(node)
    return NodeLossRecorded(node, OrderId("") if order is None else order.id, command.now, cause)


def _on_pool(placements: tuple[Placement, ...], driver: str, pool: str) -> bool:
    devices = (result.device for each in placements for claim in each.claims for result in claim.results)
    return any((device.driver, device.pool) == (driver, pool) for device in devices)
