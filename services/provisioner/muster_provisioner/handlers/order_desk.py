"""The orders that this process writes: decided and recorded here, found by group, each with its trail of causes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from muster_eventstore import Cause, CommandHandler, Recorded, derived_id
from muster_provisioner.domain.messages import Command, Event, InstanceId
from muster_provisioner.domain.order import Order, OrderState, Stage
from muster_provisioner.handlers.subjects import cluster_of, order_subject, orders_filter
from muster_types import ClusterId, NodeGroupName, OrderId

Trail = Callable[[ClusterId, OrderId], Cause | None]


@dataclass(frozen=True, slots=True, order=True)
class GroupKey:
    """A node group of one cluster."""

    cluster: ClusterId
    group: NodeGroupName


@dataclass(slots=True)
class _Shelf:
    """The orders of one group that may still have something to do, and whose every launched instance is."""

    active: dict[OrderId, Order] = field(default_factory=dict[OrderId, Order])
    claimed: dict[InstanceId, OrderId] = field(default_factory=dict[InstanceId, OrderId])


class OrderDesk:
    """Decides commands on orders, and keeps those of a group at hand. `trail` gives the last stored event of an order
    from before this process."""

    def __init__(self, handler: CommandHandler[Command, OrderState, Event], trail: Trail) -> None:
        self._handler = handler
        self._stored_trail = trail
        self._trails: dict[tuple[ClusterId, OrderId], Cause] = {}
        self._sequences: dict[tuple[ClusterId, OrderId], int] = {}
        self._shelves: dict[GroupKey, _Shelf] = {}

    async def load(self) -> int:
        """Fold the stream; the number of batches. Once, after the stored trails are complete."""
        count = await self._handler.load([orders_filter()])
        for subject, state in self._handler.states():
            cluster = cluster_of(subject)
            if cluster is not None and isinstance(state, Order):
                self._put(cluster, state)
        return count

    def get(self, cluster: ClusterId, order: OrderId) -> Order | None:
        """One order."""
        state = self._handler.state(order_subject(cluster, order))
        return state if isinstance(state, Order) else None

    @property
    def groups(self) -> tuple[GroupKey, ...]:
        """Groups with orders, in order of their names."""
        return tuple(sorted(self._shelves))

    def watched(self, key: GroupKey, now: datetime, window: timedelta) -> tuple[Order, ...]:
        """The orders of a group that are open, or were closed within the window, in order of their intents."""
        shelf = self._shelves.get(key)
        if shelf is None:
            return ()
        shelf.active = {id: order for id, order in shelf.active.items() if not _is_over(order, now, window)}
        return tuple(sorted(shelf.active.values(), key=lambda order: (order.intended_at, order.terms.order)))

    def claimed(self, key: GroupKey) -> Mapping[InstanceId, OrderId]:
        """Every instance of a group whose launch was ever recorded, with its order."""
        shelf = self._shelves.get(key)
        return {} if shelf is None else shelf.claimed

    async def record(
        self, cluster: ClusterId, order: OrderId, command: Command, cause: Cause | None = None
    ) -> tuple[Event, ...]:
        """Decide a command and record its events; without a cause it follows from the order's last event.

        Raises DomainError, TransientError, Fenced.
        """
        key = (cluster, order)
        if cause is None:
            trail = self._trails.get(key) or self._stored_trail(cluster, order) or Cause.first(order)
            cause = trail.step(type(command).__name__)
        subject = order_subject(cluster, order)
        outcome = await self._handler.handle(subject, command, cause)
        if isinstance(outcome.state, Order):
            self._put(cluster, outcome.state)
        if not isinstance(outcome, Recorded):
            return ()
        if outcome.sequence > self._sequences.get(key, 0):  # not for what an earlier delivery had recorded
            self._sequences[key] = outcome.sequence
            self._trails[key] = Cause(derived_id(cause.id, subject), cause.correlation_id, cause.traceparent)
        return outcome.events

    def _put(self, cluster: ClusterId, order: Order) -> None:
        shelf = self._shelves.setdefault(GroupKey(cluster, order.terms.group), _Shelf())
        shelf.active[order.terms.order] = order
        shelf.claimed |= {each.instance: order.terms.order for each in order.launched}


def _is_over(order: Order, now: datetime, window: timedelta) -> bool:
    closed = order.stage in (Stage.FILLED, Stage.SHORT, Stage.CANCELLED)
    return closed and order.closed_at is not None and now >= order.closed_at + window
