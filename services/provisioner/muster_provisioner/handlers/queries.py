"""Questions about orders and about what the drivers show now."""

from collections.abc import Mapping

from muster_provisioner.domain.order import Order
from muster_provisioner.handlers.order_book import OrderBook
from muster_provisioner.handlers.order_json import export_orders
from muster_provisioner.ports import DriverError, Drivers, GroupOperation, Unserved
from muster_servicekit.errors import NotFound
from muster_types import ClusterId, GangId, NodeGroupName, OrderId


class Queries:
    """Answers from the read model and the drivers; raises NotFound for what is not known."""

    def __init__(self, book: OrderBook, drivers: Mapping[ClusterId, Drivers]) -> None:
        self._book = book
        self._drivers = drivers

    def orders(self, cluster: ClusterId, gang: GangId) -> tuple[Order, ...]:
        """Orders of a cluster in order of their intents; of one gang, or of all when it is empty."""
        return tuple(order for order in self._book.of_cluster(cluster) if gang in ("", order.terms.gang))

    def order(self, cluster: ClusterId, id: OrderId) -> Order:
        """One order."""
        found = self._book.get(cluster, id)
        if found is None:
            raise NotFound(f"cluster {cluster!r} has no order {id!r}", "ORDER_NOT_FOUND")
        return found

    async def operations(self, cluster: ClusterId) -> tuple[GroupOperation, ...]:
        """All groups of a cluster, by name."""
        drivers = self._drivers.get(cluster)
        if drivers is None:
            raise NotFound(f"cluster {cluster!r} is not served here", "CLUSTER_NOT_FOUND")
        return tuple([await self._operation(drivers, group) for group in drivers.groups])

    def export(self, cluster: ClusterId) -> bytes:
        """The orders of a cluster as canonical JSON."""
        return export_orders(self._book.of_cluster(cluster))

    async def _operation(self, drivers: Drivers, group: NodeGroupName) -> GroupOperation:
        kind = drivers.type_of(group)
        keeper, serving = drivers.keeper_of(group), drivers.of(group)
        problem = serving.reason if isinstance(serving, Unserved) else ""
        if keeper is None:
            return GroupOperation(group, kind, 0, (), problem)
        try:
            instances = await keeper.instances(group)
            target = await keeper.target_size(group)
        except DriverError as error:
            return GroupOperation(group, kind, 0, (), error.message)
        return GroupOperation(group, kind, target, tuple(each.id for each in instances), problem)
