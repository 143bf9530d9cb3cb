"""Gangs of two node groups, by default: every field overridable."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from muster_gang_coordinator.domain.commands import (
    Command,
    RecordArrival,
    RecordBooking,
    RecordBookingRelease,
    RecordConfirmation,
    RecordFill,
    RecordMemberBind,
    RecordNoPlan,
    RecordOrderCancel,
    RecordShortfall,
    RequestGang,
    Timer,
    WakeGang,
)
from muster_gang_coordinator.domain.events import Event
from muster_gang_coordinator.domain.gang import gang_decider
from muster_gang_coordinator.domain.plans import (
    ArrivedNode,
    ExistingNode,
    GroupOrder,
    NewNode,
    NoPlanKind,
    Placement,
    Plan,
    Reason,
    ShapeMismatch,
    ShortfallClass,
)
from muster_gang_coordinator.domain.policy import SagaPolicy
from muster_gang_coordinator.domain.requests import GangSpec
from muster_gang_coordinator.domain.states import Gang, Known, New
from muster_types import GangId, NodeGroupName, NodeName, OrderId, PodSetName

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
GANG = GangId("train-1a2b3c")
H100 = NodeGroupName("h100-r7")
A100 = NodeGroupName("a100-r2")
POLICY = SagaPolicy()
WRONG_NUMA = ShapeMismatch("C5", "4 GPUs on NUMA node 0", "2 GPUs on NUMA node 0", "GPUs lie on other NUMA nodes")


def a_spec(**fields: object) -> GangSpec:
    spec = GangSpec(
        namespace="ml",
        name="train",
        uid="uid-1",
        request_json=b'{"kind":"ProvisioningRequest"}',
        objects_json=(),
        pod_count=4,
        content_hash="hash-1",
        priority=0,
        booking_duration=timedelta(minutes=10),
    )
    return replace(spec, **fields)


def a_node(name: str, *, order: str = "a1-1", group: NodeGroupName = H100, ordinal: int = 0) -> ArrivedNode:
    return ArrivedNode(NodeName(name), group, OrderId(f"{GANG}-{order}"), ordinal)


def a_placement(index: int, target: ExistingNode | NewNode) -> Placement:
    return Placement(PodSetName("workers"), index, target)


def on(*nodes: str) -> tuple[Placement, ...]:
    """One pod on each of these nodes of the cluster."""
    return tuple(a_placement(i, ExistingNode(NodeName(name))) for i, name in enumerate(nodes))


def a_plan(*orders: tuple[NodeGroupName, int], existing: tuple[str, ...] = (), domain: str = "") -> Plan:
    """One pod on each existing node, and one on each ordered one."""
    new = [NewNode(group, n) for group, count in orders for n in range(count)]
    placements = (*on(*existing), *(a_placement(len(existing) + i, target) for i, target in enumerate(new)))
    return Plan(placements, tuple(GroupOrder(g, c, 10.0) for g, c in orders), cost=10.0 * len(new), domain=domain)


def why(code: str = "SHAPE", sentence: str = "4 GPUs on one NUMA node; the closest shape has 2") -> Reason:
    return Reason(code, sentence)


class Story:
    """A gang that is told one thing after another; `at` is the minute after noon."""

    def __init__(self, policy: SagaPolicy = POLICY) -> None:
        self.decider = gang_decider(policy)
        self.gang: Gang = New()
        self.history: list[Event] = []
        self.now = NOON

    def at(self, minute: float) -> "Story":
        self.now = NOON + timedelta(minutes=minute)
        return self

    def tell(self, command: Command) -> list[Event]:
        events = self.decider.decide(command, self.gang)
        self.gang = self.decider.fold(events, self.gang)
        self.history += events
        return events

    @property
    def known(self) -> Known:
        assert not isinstance(self.gang, New)
        return self.gang

    def requested(self, **fields: object) -> "Story":
        self.tell(RequestGang(GANG, a_spec(**fields), "request-1", self.now))
        return self

    def booked(self, plan: Plan, attempt: int = 1) -> "Story":
        self.tell(RecordBooking(attempt, plan, self.now))
        return self

    def refused(self, kind: NoPlanKind, attempt: int = 1) -> list[Event]:
        return self.tell(RecordNoPlan(attempt, kind, (why(),), self.now))

    def filled(self, order: str, *nodes: str) -> "Story":
        self.tell(RecordFill(OrderId(f"{GANG}-{order}"), tuple(map(NodeName, nodes)), self.now))
        return self

    def short(
        self, order: str, *nodes: str, missing: int, reason: ShortfallClass = ShortfallClass.STOCKOUT
    ) -> list[Event]:
        order_id = OrderId(f"{GANG}-{order}")
        return self.tell(
            RecordShortfall(order_id, reason, "out of stock", tuple(map(NodeName, nodes)), missing, self.now)
        )

    def arrived(self, *nodes: ArrivedNode, mismatches: tuple[ShapeMismatch, ...] = ()) -> "Story":
        for node in nodes:
            self.tell(RecordArrival(node, mismatches, self.now))
        return self

    def confirmed(self, *nodes: str, attempt: int = 1) -> "Story":
        self.tell(RecordConfirmation(attempt, on(*nodes), self.now))
        return self

    def bound(self, *pods: str, node: str = "n1") -> list[Event]:
        events: list[Event] = []
        for pod in pods:
            events += self.tell(RecordMemberBind(pod, NodeName(node), self.now))
        return events

    def cancelled(self, order: str, *deleted: str, kept: tuple[str, ...] = ()) -> list[Event]:
        order_id = OrderId(f"{GANG}-{order}")
        nodes = tuple(map(NodeName, deleted))
        return self.tell(RecordOrderCancel(order_id, nodes, tuple(map(NodeName, kept)), self.now))

    def released(self) -> list[Event]:
        return self.tell(RecordBookingRelease(self.now))

    def woken(self, timer: Timer, attempt: int = 1, ready: tuple[tuple[str, str], ...] = ()) -> list[Event]:
        pairs = frozenset((OrderId(f"{GANG}-{o}"), NodeName(n)) for o, n in ready)
        return self.tell(WakeGang(attempt, timer, self.now, pairs))
