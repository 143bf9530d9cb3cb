"""A ledger, a provider and a cluster that answer a gang honestly, in any order, late and twice."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from muster_gang_coordinator.domain.commands import (
    Command,
    RecordArrival,
    RecordBooking,
    RecordBookingRelease,
    RecordBreak,
    RecordConfirmation,
    RecordDrift,
    RecordFill,
    RecordMemberBind,
    RecordMemberLoss,
    RecordNodeLoss,
    RecordNodeReady,
    RecordNodeUnready,
    RecordNoPlan,
    RecordOrderCancel,
    RecordPoolChange,
    RecordShortfall,
    WakeGang,
)
from muster_gang_coordinator.domain.outgoing import (
    BookGang,
    CancelOrder,
    ConfirmGang,
    ForgetWake,
    LiftHolds,
    Outgoing,
    PlaceOrder,
    ReleaseGang,
    WakeAt,
)
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
from muster_gang_coordinator.domain.trust import Mistrusted, TemplateTrust, Unconfirmed
from muster_types import NodeGroupName, NodeName, OrderId, PodSetName

GROUPS = (NodeGroupName("a"), NodeGroupName("b"), NodeGroupName("c"))
MEMBERS = 3
ODD = ShapeMismatch("C2", "8", "7", "7 devices where 8 were promised")


@dataclass
class OrderAtProvider:
    """What the provider did for an order."""

    order: PlaceOrder
    nodes: dict[NodeName, int] = field(default_factory=dict)  # those that exist, with their ordinal
    ever: list[NodeName] = field(default_factory=list)
    kept: frozenset[NodeName] | None = None


@dataclass
class World:
    """`pick(n)` chooses a number below n. `pending` are messages to the gang, delivered in any order; `outbox` is what
    the gang asks of others."""

    pick: Callable[[int], int]
    now: datetime
    pending: list[Command] = field(default_factory=list)
    outbox: dict[str, list[Outgoing]] = field(default_factory=dict)  # commands on their way, in order per addressee
    timers: list[WakeAt] = field(default_factory=list)
    orders: dict[OrderId, OrderAtProvider] = field(default_factory=dict)
    placed: list[OrderId] = field(default_factory=list)
    booked: Plan | None = None
    booked_attempt: int = 0
    answered: int = 0
    verified: int = 0
    released: int = 0
    confirmed: dict[int, tuple[Placement, ...]] = field(default_factory=dict)
    lifted: tuple[NodeName, ...] = ()
    stray: set[NodeName] = field(default_factory=set)  # came late, and the gang has not been told yet
    sequence: int = 0
    calm: bool = False  # no more faults

    def nodes(self) -> set[NodeName]:
        """Every node that the provider has for the gang."""
        return {n for o in self.orders.values() for n in o.nodes}

    def send(self, item: Outgoing) -> None:
        """Take a command on; timers are set at once."""
        match item:
            case WakeAt():
                self.timers.append(item)
            case ForgetWake(timer=timer):
                self.timers = [t for t in self.timers if t.timer is not timer]
            case LiftHolds(nodes=nodes):
                self.lifted = nodes
            case PlaceOrder() | CancelOrder():
                self.outbox.setdefault(item.order_id, []).append(item)
            case BookGang() | ConfirmGang() | ReleaseGang():
                self.outbox.setdefault("ledger", []).append(item)

    def deliver_one(self) -> bool:
        """One addressee does what it was asked first; False when nothing is asked."""
        waiting = sorted(key for key, items in self.outbox.items() if items)
        if not waiting:
            return False
        self._do(self.outbox[waiting[self.pick(len(waiting))]].pop(0))
        return True

    def _do(self, item: Outgoing) -> None:
        match item:
            case BookGang():
                self._book(item)
            case ConfirmGang():
                self._confirm(item)
            case ReleaseGang():
                self._release()
            case PlaceOrder():
                self._place(item)
            case CancelOrder():
                self._cancel(item)
            case WakeAt() | ForgetWake() | LiftHolds():
                pass

    def lose_a_node(self) -> None:
        """Somebody deletes a node."""
        nodes = sorted(self.nodes())
        if nodes:
            gone = nodes[self.pick(len(nodes))]
            order = next(o for o in self.orders.values() if gone in o.nodes)
            del order.nodes[gone]
            self.pending.append(RecordNodeLoss(gone, self.now, order.order.order_id))

    def launch_late(self) -> None:
        """A node of an order that was closed short or given back comes after all (F27)."""
        ids = sorted(self.orders)
        if not ids:
            return
        order = self.orders[ids[self.pick(len(ids))]]
        if len(order.ever) < order.order.count:
            node = self._launch(order)
            self.stray.add(node)
            self.pending.append(self._arrival(order, node))
            if order.kept is not None and self.pick(2):
                self._sweep(order)  # the provider notices by itself; else the gang must

    def wake(self, index: int) -> WakeGang:
        """A timer fires."""
        timer = self.timers.pop(index)
        ready = frozenset((o.order.order_id, n) for o in self.orders.values() for n in o.nodes)
        self.now = max(self.now, timer.due)
        return WakeGang(timer.attempt, timer.timer, self.now, ready)

    def bind_members(self, placements: tuple[Placement, ...]) -> None:
        """The pods come, some or all of them."""
        for index, placement in enumerate(placements):
            if isinstance(placement.target, ExistingNode) and self.pick(4):
                self.pending.append(RecordMemberBind(f"pod-{index}", placement.target.name, self.now))

    def chance(self) -> bool:
        """Whether a fault happens; never once it is calm."""
        return not self.calm and self.pick(8) == 0

    def _book(self, ask: BookGang) -> None:
        if self.released or ask.attempt <= self.answered:
            return
        self.answered = ask.attempt
        if ask.lost_nodes:
            self._repair(ask)
            return
        groups = [g for g in GROUPS if g not in ask.excluded_node_groups]
        if self.chance() or not groups:
            kind = (NoPlanKind.NEVER, NoPlanKind.LIMIT, NoPlanKind.NOT_NOW)[self.pick(3)]
            self.pending.append(RecordNoPlan(ask.attempt, kind, (Reason("SHAPE", "does not fit"),), self.now))
            return
        kept = [n.node for n in ask.kept_nodes][: self.pick(MEMBERS + 1)]
        used = [ExistingNode(n) for n in kept]
        rest = MEMBERS - len(used)
        orders: list[GroupOrder] = []
        if rest and self.pick(3):
            first = groups[self.pick(len(groups))]
            second = groups[self.pick(len(groups))]
            split = {first: rest} if first == second or rest == 1 else {first: 1, second: rest - 1}
            orders = [GroupOrder(g, n) for g, n in sorted(split.items())]
        else:
            used += [ExistingNode(NodeName(f"n{i}")) for i in range(rest)]
        new = [NewNode(o.node_group, n) for o in orders for n in range(o.count)]
        targets = [*used, *new]
        placements = tuple(Placement(PodSetName("w"), i, t) for i, t in enumerate(targets))
        self.booked, self.booked_attempt = Plan(placements, tuple(orders)), ask.attempt
        open_ = [Unconfirmed(g) for g in GROUPS if self.pick(2)]
        wrong = [Mistrusted(g, NodeName("elsewhere"), "C2 seven") for g in GROUPS if self.chance()]
        self.pending.append(
            RecordBooking(ask.attempt, self.booked, self.now, TemplateTrust(tuple(open_), tuple(wrong)))
        )

    def _repair(self, ask: BookGang) -> None:
        """Members on nodes that are there stay, the others are placed anew."""
        before = () if self.booked is None else self.booked.placements
        ordered = {n for o in self.orders.values() for n in o.ever}
        gone = (ordered - self.nodes()) | set(ask.lost_nodes)
        stay = [p for p in before if isinstance(p.target, ExistingNode) and p.target.name not in gone]
        groups = [g for g in GROUPS if g not in ask.excluded_node_groups]
        if self.chance() or not groups:
            self.pending.append(RecordNoPlan(ask.attempt, NoPlanKind.NOT_NOW, (Reason("SHAPE", "no"),), self.now))
            return
        homes = {p.target for p in stay}
        spare = [n.node for n in ask.kept_nodes if n.node not in gone and ExistingNode(n.node) not in homes]
        rest = MEMBERS - len(stay)
        reused = [ExistingNode(n) for n in spare[: min(rest, self.pick(MEMBERS + 1))]]
        new = rest - len(reused)
        group = groups[self.pick(len(groups))]
        targets = [*(p.target for p in stay), *reused, *(NewNode(group, n) for n in range(new))]
        placements = tuple(Placement(PodSetName("w"), i, t) for i, t in enumerate(targets))
        orders = (GroupOrder(group, new),) if new else ()
        self.booked, self.booked_attempt = Plan(placements, orders), ask.attempt
        self.pending.append(RecordBooking(ask.attempt, self.booked, self.now))

    def trouble(self, placements: tuple[Placement, ...]) -> None:
        """Something happens under members that have their place."""
        nodes = sorted(p.target.name for p in placements if isinstance(p.target, ExistingNode))
        if not nodes:
            return
        node = nodes[self.pick(len(nodes))]
        self.sequence += 1
        what: tuple[Command, ...] = (
            RecordNodeUnready(node, "kubelet stopped posting", self.now),
            RecordNodeReady(node, self.now),
            RecordPoolChange("gpu.example.com", node, node, "complete, 7 devices", self.sequence, self.now),
            RecordMemberLoss(f"pod-{self.pick(MEMBERS)}", self.now),
            RecordDrift("PodTemplate", "w", f"hash-{self.pick(3)}", self.now),
        )
        self.pending.append(what[self.pick(len(what))])

    def _check(self, ask: ConfirmGang) -> None:
        """What an offer stands on, once more."""
        placements = self.confirmed.get(ask.attempt)
        if placements is None or self.booked is None or ask.attempt != self.booked_attempt:
            return
        if self.chance():
            facts = (("nodes", str(p.target.name)) for p in placements[:1] if isinstance(p.target, ExistingNode))
            why = Reason("SHAPE", "gpu-7 is gone", tuple(facts) if self.pick(2) else ())
            self.pending.append(RecordBreak(ask.attempt, (why,), self.now, ask.check))
        else:
            self.pending.append(RecordConfirmation(ask.attempt, placements, self.now, ask.check))

    def _confirm(self, ask: ConfirmGang) -> None:
        if ask.check:
            self._check(ask)
            return
        if self.booked is None or ask.attempt != self.booked_attempt or ask.attempt <= self.verified:
            return
        self.verified = ask.attempt
        by_ordinal = {(n.node_group, n.ordinal): n.node for n in ask.nodes}
        real = [
            p.target.name if isinstance(p.target, ExistingNode) else by_ordinal[p.target.node_group, p.target.ordinal]
            for p in self.booked.placements
        ]
        ordered = {n for o in self.orders.values() for n in o.ever}
        there = all(n in self.nodes() for n in real if n in ordered)
        if self.chance() or not there:
            self.pending.append(RecordBreak(ask.attempt, (Reason("SHAPE", "gpu-7 is missing"),), self.now))
            return
        placements = tuple(Placement(PodSetName("w"), i, ExistingNode(n)) for i, n in enumerate(real))
        self.confirmed[ask.attempt] = placements
        self.booked = Plan(placements, self.booked.orders)
        self.pending.append(RecordConfirmation(ask.attempt, placements, self.now))

    def _release(self) -> None:
        if self.released:
            return
        self.released += 1
        self.booked = None
        self.pending.append(RecordBookingRelease(self.now))

    def _place(self, ask: PlaceOrder) -> None:
        self.placed.append(ask.order_id)
        if ask.order_id in self.orders:
            return
        order = self.orders[ask.order_id] = OrderAtProvider(ask)
        launched = self.pick(ask.count + 1) if self.chance() else ask.count
        nodes = tuple(self._launch(order) for _ in range(launched))
        if launched == ask.count:
            if not self.chance():  # else the provider never answers
                self.pending.append(RecordFill(ask.order_id, nodes, self.now))
        else:
            missing = ask.count - launched
            short = RecordShortfall(ask.order_id, ShortfallClass.STOCKOUT, "no stock", nodes, missing, self.now)
            self.pending.append(short)
        for node in nodes:
            if not self.chance():  # else its slices never come
                self.pending.append(self._arrival(order, node))

    def _cancel(self, ask: CancelOrder) -> None:
        order = self.orders.setdefault(
            ask.order_id, OrderAtProvider(PlaceOrder(ask.order_id, ask.gang_id, ask.node_group, 0, 0))
        )
        kept = frozenset(ask.kept_nodes)
        if order.kept is not None and order.kept <= kept and set(order.nodes) <= order.kept:
            return
        order.kept = kept if order.kept is None else order.kept & kept
        self._sweep(order)

    def _sweep(self, order: OrderAtProvider) -> None:
        kept = order.kept or frozenset[NodeName]()
        order.nodes = {n: i for n, i in order.nodes.items() if n in kept}
        deleted = tuple(n for n in order.ever if n not in kept)
        self.pending.append(RecordOrderCancel(order.order.order_id, deleted, tuple(sorted(kept)), self.now))

    def _launch(self, order: OrderAtProvider) -> NodeName:
        ordinal = len(order.ever)
        node = NodeName(f"{order.order.order_id}-{ordinal}")
        order.ever.append(node)
        order.nodes[node] = order.order.first_ordinal + ordinal
        return node

    def _arrival(self, order: OrderAtProvider, node: NodeName) -> RecordArrival:
        ordinal = order.order.first_ordinal + order.ever.index(node)
        odd = (ODD,) if self.chance() else ()
        return RecordArrival(ArrivedNode(node, order.order.node_group, order.order.order_id, ordinal), odd, self.now)
