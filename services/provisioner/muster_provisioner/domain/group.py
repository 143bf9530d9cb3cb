"""What a driver shows of one node group, and whose its instances are."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum

from muster_provisioner.domain.messages import InstanceId, ShortfallClass
from muster_provisioner.domain.order import Order
from muster_types import NodeName, OrderId


class InstanceState(Enum):
    """State of an instance at the provider."""

    CREATING = "creating"
    RUNNING = "running"
    DELETING = "deleting"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an instance will not run."""

    kind: ShortfallClass
    message: str


@dataclass(frozen=True, slots=True)
class Instance:
    """A machine of the provider. `node` is empty until its name is known; `order` and `ordinal` are None where the
    provider carries no tags. An instance with a failure never runs and counts into the target size until deleted."""

    id: InstanceId
    node: NodeName
    state: InstanceState
    order: OrderId | None = None
    ordinal: int | None = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Sight:
    """Target size and instances of a group as its driver reports them at one moment."""

    target: int
    instances: tuple[Instance, ...]

    @property
    def existing(self) -> int:
        """Instances that count into the target size: all but those being deleted."""
        return sum(each.state is not InstanceState.DELETING for each in self.instances)

    @property
    def coming(self) -> int:
        """Size that was asked for and that no instance stands for yet."""
        return max(self.target - self.existing, 0)


def attribute(
    sight: Sight, orders: Sequence[Order], claimed: Mapping[InstanceId, OrderId], tidied: Set[OrderId]
) -> "Attribution":
    """Which instances belong to which of `orders` (in order of their intents).

    A tag or a recorded launch decides. An untagged instance that no baseline knows goes to the oldest order that still
    misses nodes. Orders of `tidied` (closed, and their target taken back) get only what exists beyond the target size:
    it came late. Anything else there belongs to another writer.
    """
    by_order: dict[OrderId, list[Instance]] = {order.terms.order: [] for order in orders}
    loose: list[Instance] = []
    for each in sorted(sight.instances, key=lambda instance: instance.id):
        owner = each.order or claimed.get(each.id)
        if owner is None:
            if each.state is not InstanceState.DELETING:
                loose.append(each)
        elif owner in by_order:
            by_order[owner].append(each)
    effective = [order for order in orders if order.may_have_effect]
    loose = _deal(loose, [each for each in effective if each.terms.order not in tidied], by_order, len(loose))
    late = [each for each in effective if each.terms.order in tidied]
    _deal(loose, late, by_order, max(sight.existing - sight.target, 0))
    return Attribution({order: tuple(instances) for order, instances in by_order.items()})


@dataclass(frozen=True, slots=True)
class Attribution:
    """The instances of each order, by instance id."""

    by_order: Mapping[OrderId, tuple[Instance, ...]]

    def of(self, order: Order) -> tuple[Instance, ...]:
        """The instances of one order."""
        return self.by_order.get(order.terms.order, ())

    def unfilled(self, order: Order) -> int:
        """Nodes of an order that no instance stands for, whether launched before or there now."""
        known = {each.instance for each in order.launched} | {each.id for each in self.of(order)}
        return max(order.terms.count - len(known), 0)


def _deal(
    loose: list[Instance], orders: Iterable[Order], by_order: dict[OrderId, list[Instance]], most: int
) -> list[Instance]:
    rest = list(loose)
    for order in orders:
        known = {each.instance for each in order.launched} | {each.id for each in by_order[order.terms.order]}
        room = order.terms.count - len(known)
        old = frozenset(order.baseline.instances)
        for each in tuple(rest):
            if room < 1 or most < 1:
                break
            if each.id not in old:
                by_order[order.terms.order].append(each)
                rest.remove(each)
                room, most = room - 1, most - 1
    return rest
