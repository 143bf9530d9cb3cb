"""One order of the gang: what was asked of a node group, what came, what was lost and what went back."""

from dataclasses import dataclass, replace
from enum import Enum, unique

from muster_gang_coordinator.domain.events import NodeOrder
from muster_gang_coordinator.domain.plans import ArrivedNode
from muster_types import NodeGroupName, NodeName, OrderId


@unique
class OrderState(Enum):
    """OPEN until the provider answered; CANCELLING from the wish to give all of it back until that is done."""

    OPEN = "open"
    FILLED = "filled"
    SHORT = "short"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Order:
    """`expected` are nodes that the provider has; `kept` limits what an earlier attempt's order may still hold.

    `closed`: the provider said once that nothing is left; what comes later is an orphan.
    """

    id: OrderId
    attempt: int
    node_group: NodeGroupName
    count: int
    first_ordinal: int
    state: OrderState = OrderState.OPEN
    expected: frozenset[NodeName] = frozenset()
    arrived: tuple[ArrivedNode, ...] = ()
    mismatched: frozenset[NodeName] = frozenset()
    lost: frozenset[NodeName] = frozenset()
    deleted: frozenset[NodeName] = frozenset()
    kept: frozenset[NodeName] | None = None
    closed: bool = False

    @property
    def live(self) -> bool:
        """Something of the order may be left at the provider."""
        return self.state is not OrderState.CANCELLED

    @property
    def known(self) -> frozenset[NodeName]:
        """Every node that the order is known to have brought, gone ones left out."""
        return (self.expected | {a.node for a in self.arrived}) - self.lost - self.deleted

    @property
    def present(self) -> tuple[ArrivedNode, ...]:
        """Arrived nodes that are still there and not on their way back, by ordinal."""
        if self.state in {OrderState.CANCELLING, OrderState.CANCELLED}:
            return ()
        gone = self.lost | self.deleted
        stay = [a for a in self.arrived if a.node not in gone and (self.kept is None or a.node in self.kept)]
        return tuple(sorted(stay, key=lambda a: (a.ordinal, a.node)))

    @property
    def full(self) -> bool:
        """Every node that was asked for is there."""
        return len(self.present) >= self.count

    @property
    def waiting(self) -> bool:
        """Something of it may still come."""
        if self.full:
            return False
        pending = self.expected - self.lost - self.deleted - {a.node for a in self.arrived}
        return self.state is OrderState.OPEN or (self.state is not OrderState.CANCELLED and bool(pending))

    def holds(self, node: NodeName) -> bool:
        """The node came from this order and is not known to be gone."""
        return node in self.known

    def fill(self, nodes: tuple[NodeName, ...]) -> "Order":
        """The provider has them all."""
        return replace(self, state=self._answered(OrderState.FILLED), expected=frozenset(nodes))

    def fall_short(self, nodes: tuple[NodeName, ...]) -> "Order":
        """Only these are waited for."""
        return replace(self, state=self._answered(OrderState.SHORT), expected=frozenset(nodes))

    def arrive(self, node: ArrivedNode, *, mismatched: bool) -> "Order":
        """One more node is there."""
        odd = self.mismatched | {node.node} if mismatched else self.mismatched
        return replace(self, arrived=(*self.arrived, node), mismatched=odd)

    def lose(self, node: NodeName) -> "Order":
        """A node went without our asking; with it the last orphan of a closed order may be gone."""
        after = replace(self, lost=self.lost | {node})
        return replace(after, state=OrderState.CANCELLED) if after.closed and not after.known else after

    def limit(self, kept: tuple[NodeName, ...]) -> "Order":
        """A later plan uses only `kept`; the rest is on its way back."""
        state = self.state if kept else OrderState.CANCELLING
        return replace(self, state=state, expected=frozenset(kept), kept=frozenset(kept))

    def give_back(self) -> "Order":
        """All of it is on its way back."""
        return replace(self, state=OrderState.CANCELLING)

    def stray(self) -> "Order":
        """It has brought a node beyond what is wanted, which is on its way back too."""
        if self.live and self.kept and self.state is not OrderState.CANCELLING:
            return self  # what is kept stays
        return replace(self, state=OrderState.CANCELLING, closed=True)

    def cancel(self, deleted: tuple[NodeName, ...]) -> "Order":
        """These went back; the order is settled when none is left."""
        after = replace(self, deleted=self.deleted | set(deleted))
        return after if after.known else replace(after, state=OrderState.CANCELLED, closed=True)

    def _answered(self, state: OrderState) -> OrderState:
        going = {OrderState.CANCELLING, OrderState.CANCELLED}
        return self.state if self.state in going else state


def open_order(order: NodeOrder, attempt: int) -> Order:
    """The order as it begins."""
    return Order(order.order_id, attempt, order.node_group, order.count, order.first_ordinal)
