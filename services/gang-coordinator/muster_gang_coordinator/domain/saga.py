"""What the saga of a gang holds and has learned: the same in every state after the request."""

from dataclasses import dataclass, replace
from datetime import datetime

from muster_gang_coordinator.domain.orders import Order
from muster_gang_coordinator.domain.plans import ArrivedNode, GroupOrder, Plan
from muster_gang_coordinator.domain.requests import GangSpec
from muster_types import GangId, NodeGroupName, NodeName, OrderId


@dataclass(frozen=True, slots=True)
class Saga:
    """`answered` is the newest attempt whose planning outcome is known; a newer one is in flight at the ledger.

    `orders` holds every order ever placed, in order. `lost` are nodes of the present plan that are gone.
    `setbacks` counts replannings after a shortfall, a loss or a failed verification. `bound` maps pods to nodes.
    `released`: the ledger let go of the gang, which is for good: no booking can follow.
    `offered`: the cluster was told that the capacity is there, which can be repaired and revoked, not taken back.
    `gone` are nodes that a repair has given up for good. `unready` are nodes with members that take no pod, each with
    the moment from which it counts as gone. `check` counts the checks after the first verification, `as_of` is the
    newest fact of the inventory that the gang knows. `drift`: contents of named objects that were seen and not taken.
    """

    gang_id: GangId
    spec: GangSpec
    request_id: str
    request_time: datetime
    attempt: int = 0
    answered: int = 0
    booked: bool = False
    plan: Plan | None = None
    orders: tuple[Order, ...] = ()
    excluded: tuple[NodeGroupName, ...] = ()
    setbacks: int = 0
    lost: frozenset[NodeName] = frozenset()
    released: bool = False
    offered: bool = False
    gone: frozenset[NodeName] = frozenset()
    unready: tuple[tuple[NodeName, datetime], ...] = ()
    check: int = 0
    as_of: int = 0
    drift: tuple[str, ...] = ()
    bound: tuple[tuple[str, NodeName], ...] = ()

    @property
    def wanted_pods(self) -> int:
        """Pods that make the gang whole: all but those beyond the minimum of a PodGroup that got no place."""
        return self.spec.pod_count - (len(self.plan.unplaced) if self.plan else 0)

    @property
    def in_flight(self) -> bool:
        """The ledger was asked and its answer is not known."""
        return self.attempt > self.answered

    @property
    def current(self) -> tuple[Order, ...]:
        """Orders of the present attempt."""
        return tuple(o for o in self.orders if o.attempt == self.attempt)

    @property
    def live_orders(self) -> tuple[Order, ...]:
        """Orders of which something may be left."""
        return tuple(o for o in self.orders if o.live)

    @property
    def present(self) -> tuple[ArrivedNode, ...]:
        """Every ordered node that is there and wanted."""
        return tuple(sorted(a for o in self.orders for a in o.present))

    @property
    def holds_nothing(self) -> bool:
        """No booking, no order, and no planning in flight that could bring one."""
        return not self.booked and not self.live_orders and (self.released or not self.in_flight)

    def order(self, order_id: OrderId) -> Order | None:
        """The order of that id, if this gang ever placed it."""
        return next((o for o in self.orders if o.id == order_id), None)

    def order_of(self, node: NodeName) -> Order | None:
        """The order that brought a node, if it still counts as here."""
        return next((o for o in self.orders if o.holds(node)), None)

    def with_order(self, order: Order) -> "Saga":
        """The saga with one order changed."""
        return replace(self, orders=tuple(order if o.id == order.id else o for o in self.orders))

    def unordered(self) -> tuple[GroupOrder, ...]:
        """What the plan needs beyond the orders of this attempt: the rest behind a trial order."""
        if self.plan is None:
            return ()
        placed: dict[NodeGroupName, int] = {}
        for order in self.current:
            placed[order.node_group] = placed.get(order.node_group, 0) + order.count
        left = [replace(g, count=g.count - placed.get(g.node_group, 0)) for g in self.plan.orders]
        return tuple(g for g in left if g.count > 0)

    def lost_a_used_node(self) -> bool:
        """A node of the cluster, or one kept from an earlier attempt, that the plan uses is gone."""
        if self.plan is None:
            return False
        gone = self.lost | {n for o in self.orders for n in o.lost}
        return bool(gone & self.plan.existing_nodes)
