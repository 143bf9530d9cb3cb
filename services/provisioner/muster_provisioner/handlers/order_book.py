"""The orders as a read model of their stream, for queries and for what a starting process must know."""

from collections.abc import Callable, Iterable
from typing import cast

import orjson
from google.protobuf.message import Message

from muster_eventstore import Cause, Decoded, StoredMessage
from muster_provisioner.domain.messages import Event, OrderIntended
from muster_provisioner.domain.order import ORDER, Order, Unplaced
from muster_provisioner.handlers.order_json import Json, export_orders, from_json, to_json
from muster_provisioner.handlers.subjects import cluster_of
from muster_types import ClusterId, OrderId

Key = tuple[ClusterId, OrderId]


class OrderBook:
    """Every order of every cluster, with the last event of each as the cause of what follows."""

    def __init__(self, from_wire: Callable[[Message], Event]) -> None:
        self._from_wire = from_wire
        self._orders: dict[Key, Order] = {}
        self._trails: dict[Key, Cause] = {}

    @property
    def schema(self) -> int:
        """Number of the form that `dump` writes."""
        return 1

    def apply(self, message: StoredMessage, decoded: Decoded) -> None:
        """Take one batch of an order in."""
        cluster = cluster_of(message.subject)
        if cluster is None:
            return
        for event in map(self._from_wire, decoded.batch.events):
            key = (cluster, order_of(event))
            state = ORDER.evolve(self._orders.get(key, Unplaced()), event)
            if isinstance(state, Order):
                self._orders[key] = state
                self._trails[key] = Cause.of(decoded.meta)

    def get(self, cluster: ClusterId, order: OrderId) -> Order | None:
        """One order."""
        return self._orders.get((cluster, order))

    def of_cluster(self, cluster: ClusterId) -> tuple[Order, ...]:
        """The orders of a cluster in order of their intents."""
        found = (order for (of, _), order in self._orders.items() if of == cluster)
        return tuple(sorted(found, key=lambda order: (order.intended_at, order.terms.order)))

    def trail(self, cluster: ClusterId, order: OrderId) -> Cause | None:
        """The last event of an order, as a cause."""
        return self._trails.get((cluster, order))

    def dump(self) -> bytes:
        """The whole model as JSON."""
        rows = [
            {"cluster": cluster, "order": to_json(order), "trail": [trail.id, trail.correlation_id, trail.traceparent]}
            for (cluster, id), order in sorted(self._orders.items())
            for trail in (self._trails[cluster, id],)
        ]
        return orjson.dumps(rows, option=orjson.OPT_SORT_KEYS)

    def restore(self, data: bytes) -> None:
        """Become the model that was dumped."""
        self._orders.clear()
        self._trails.clear()
        for row in cast("list[Json]", orjson.loads(data)):
            order = from_json(cast("Json", row["order"]))
            key = (ClusterId(str(row["cluster"])), order.terms.order)
            id, correlation, traceparent = cast("tuple[str, str, str]", row["trail"])
            self._orders[key] = order
            self._trails[key] = Cause(id, correlation, traceparent)


def order_of(event: Event) -> OrderId:
    """The order that an event belongs to."""
    return event.terms.order if isinstance(event, OrderIntended) else event.order


def replay(batches: Iterable[Iterable[Event]]) -> bytes:
    """The export of the orders that recorded batches lead to; nothing is sent, nothing is called."""
    orders: dict[OrderId, Order] = {}
    for batch in batches:
        for event in batch:
            state = ORDER.evolve(orders.get(order_of(event), Unplaced()), event)
            if isinstance(state, Order):
                orders[order_of(event)] = state
    return export_orders(orders.values())
