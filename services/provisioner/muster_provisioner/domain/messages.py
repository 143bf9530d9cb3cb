"""What an order is asked and what happened to it; the wire form stands in `proto/muster/events/provisioning/v1`."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import NewType

from muster_types import GangId, NodeGroupName, NodeName, OrderId

InstanceId = NewType("InstanceId", str)


class ShortfallClass(Enum):
    """Why nodes of an order do not come."""

    STOCKOUT = "stockout"
    QUOTA = "quota"
    TIMEOUT = "timeout"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class OrderTerms:
    """What is ordered: `count` nodes of one group; their ordinals in the gang's plan count from `first_ordinal`."""

    order: OrderId
    gang: GangId
    group: NodeGroupName
    count: int
    first_ordinal: int


@dataclass(frozen=True, slots=True)
class Baseline:
    """Target size and instances of the group just before the order, in order of their ids (rule N-5.2: T0 and I0)."""

    target: int
    instances: tuple[InstanceId, ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """An instance that the provider runs; `ordinal` is None where the provider cannot carry it."""

    instance: InstanceId
    node: NodeName
    ordinal: int | None


@dataclass(frozen=True, slots=True)
class PlaceOrder:
    """Order nodes; `baseline` was read while no other write of ours was under way in the group."""

    terms: OrderTerms
    baseline: Baseline
    now: datetime


@dataclass(frozen=True, slots=True)
class RefuseOrder:
    """The order cannot even be tried: no such group, no such driver."""

    terms: OrderTerms
    shortfall: ShortfallClass
    message: str
    now: datetime


@dataclass(frozen=True, slots=True)
class RecordAcknowledgement:
    """The provider took the order, as its answer or its state says."""

    target: int
    now: datetime


@dataclass(frozen=True, slots=True)
class RecordLaunches:
    """The provider runs these instances of the order; known ones are repeated."""

    machines: tuple[Machine, ...]
    now: datetime


@dataclass(frozen=True, slots=True)
class RecordShortfall:
    """What has not been launched by now will not be."""

    shortfall: ShortfallClass
    message: str
    now: datetime


@dataclass(frozen=True, slots=True)
class CancelOrder:
    """Give back all nodes of the order except those kept."""

    order: OrderId
    gang: GangId
    group: NodeGroupName
    kept_nodes: frozenset[NodeName]
    now: datetime


@dataclass(frozen=True, slots=True)
class RecordCancellation:
    """The provider has none of the nodes to give back any more, and its target size is `target`."""

    target: int
    now: datetime


Command = (
    PlaceOrder
    | RefuseOrder
    | RecordAcknowledgement
    | RecordLaunches
    | RecordShortfall
    | CancelOrder
    | RecordCancellation
)


@dataclass(frozen=True, slots=True)
class OrderIntended:
    """Recorded before the driver is called; after a crash the driver's state decides."""

    terms: OrderTerms
    baseline: Baseline
    at: datetime


@dataclass(frozen=True, slots=True)
class OrderAcknowledged:
    """The order is with the provider; it is never sent again."""

    order: OrderId
    target: int
    at: datetime


@dataclass(frozen=True, slots=True)
class NodeLaunched:
    """The provider has the machine."""

    order: OrderId
    gang: GangId
    instance: InstanceId
    node: NodeName
    ordinal: int
    at: datetime


@dataclass(frozen=True, slots=True)
class OrderFilled:
    """Every node of the order was launched."""

    order: OrderId
    gang: GangId
    group: NodeGroupName
    nodes: tuple[NodeName, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class OrderShort:
    """`missing` nodes of the order do not come and are no longer waited for; `nodes` were launched all the same."""

    order: OrderId
    gang: GangId
    group: NodeGroupName
    shortfall: ShortfallClass
    message: str
    nodes: tuple[NodeName, ...]
    missing: int
    at: datetime


@dataclass(frozen=True, slots=True)
class OrderCancelIntended:
    """From here on only the kept nodes are wanted."""

    order: OrderId
    kept_nodes: tuple[NodeName, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class OrderCancelled:
    """Nothing of the order is left at the provider except the kept nodes. It can happen again: when fewer nodes are
    kept later, or a node came late and was given back too. `target` is 0 when the order was cancelled unplaced."""

    order: OrderId
    gang: GangId
    group: NodeGroupName
    deleted_nodes: tuple[NodeName, ...]
    kept_nodes: tuple[NodeName, ...]
    target: int
    at: datetime


Event = (
    OrderIntended | OrderAcknowledged | NodeLaunched | OrderFilled | OrderShort | OrderCancelIntended | OrderCancelled
)
