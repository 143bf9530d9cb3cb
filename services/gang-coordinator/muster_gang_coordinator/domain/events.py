"""What happened to a gang: the facts of its stream, as in muster.events.gangs.v1."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, unique
from typing import TypeAlias

from muster_gang_coordinator.domain.plans import (
    ArrivedNode,
    NoPlanKind,
    Placement,
    Plan,
    Reason,
    ShapeMismatch,
    ShortfallClass,
)
from muster_gang_coordinator.domain.requests import GangSpec
from muster_types import GangId, NodeGroupName, NodeName, OrderId

NO_NODE = NodeName("")


@unique
class EndState(Enum):
    """Where a gang ends that is not consumed."""

    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"
    REVOKED = "REVOKED"


@dataclass(frozen=True, slots=True)
class GangRequested:
    """The request was taken in; once more when its missing objects came or when another attempt adopted the gang."""

    gang_id: GangId
    spec: GangSpec
    request_id: str
    request_time: datetime


@dataclass(frozen=True, slots=True)
class PlanningStarted:
    """A plan is wanted; the booking of an earlier attempt is replaced by it."""

    attempt: int
    excluded_node_groups: tuple[NodeGroupName, ...]
    kept_nodes: tuple[ArrivedNode, ...]
    cause: str
    start_time: datetime


@dataclass(frozen=True, slots=True)
class GangPlanBooked:
    """Every member has its place in the ledger."""

    attempt: int
    plan: Plan
    book_time: datetime


@dataclass(frozen=True, slots=True)
class GangWaits:
    """No plan now; nothing is held meanwhile."""

    attempt: int
    kind: NoPlanKind
    reasons: tuple[Reason, ...]
    wait_time: datetime


@dataclass(frozen=True, slots=True)
class NodeOrder:
    """Nodes asked of one group; they become the ordinals from `first_ordinal` on."""

    order_id: OrderId
    node_group: NodeGroupName
    count: int
    first_ordinal: int


@dataclass(frozen=True, slots=True)
class NodesOrdered:
    """New nodes are wanted until the node deadline, with complete pools until the device deadline."""

    attempt: int
    orders: tuple[NodeOrder, ...]
    order_time: datetime
    node_deadline: datetime
    device_deadline: datetime


@dataclass(frozen=True, slots=True)
class OrderFillRecorded:
    """The provider launched the whole order."""

    order_id: OrderId
    nodes: tuple[NodeName, ...]
    fill_time: datetime


@dataclass(frozen=True, slots=True)
class ShortfallRecorded:
    """An order brings `nodes` at most; `missing` more are not waited for."""

    order_id: OrderId
    node_group: NodeGroupName
    shortfall_class: ShortfallClass
    message: str
    nodes: tuple[NodeName, ...]
    missing: int
    shortfall_time: datetime


@dataclass(frozen=True, slots=True)
class NodeArrivalRecorded:
    """An ordered node is Ready with complete pools."""

    node: ArrivedNode
    mismatches: tuple[ShapeMismatch, ...]
    arrive_time: datetime


@dataclass(frozen=True, slots=True)
class NodeLossRecorded:
    """A node of the gang is gone; `order_id` is empty for a node that Muster did not order."""

    node: NodeName
    order_id: OrderId
    loss_time: datetime


@dataclass(frozen=True, slots=True)
class VerificationStarted:
    """Every node is there; allocation runs again on the actual slices. `nodes` fill the plan's new nodes."""

    attempt: int
    nodes: tuple[ArrivedNode, ...]
    start_time: datetime


@dataclass(frozen=True, slots=True)
class SurplusOrder:
    """An order of an earlier attempt keeps only these nodes."""

    order_id: OrderId
    kept_nodes: tuple[NodeName, ...]


@dataclass(frozen=True, slots=True)
class SurplusReleased:
    """Nodes that the new plan does not use go back."""

    orders: tuple[SurplusOrder, ...]


@dataclass(frozen=True, slots=True)
class GangReadied:
    """Offered: Provisioned=True, and the booking clock runs until `booking_deadline`."""

    attempt: int
    placements: tuple[Placement, ...]
    details: tuple[tuple[str, str], ...]
    ready_time: datetime
    booking_deadline: datetime


@dataclass(frozen=True, slots=True)
class MemberBindRecorded:
    """A member runs."""

    pod: str
    node: NodeName


@dataclass(frozen=True, slots=True)
class GangConsumed:
    """Every member is bound; the booking and the reservation of the nodes are lifted."""

    consume_time: datetime


@dataclass(frozen=True, slots=True)
class CompensationStarted:
    """What was taken is given back; `end_state` tells where this leads."""

    end_state: EndState
    reasons: tuple[Reason, ...]
    order_ids: tuple[OrderId, ...]
    booking_held: bool
    start_time: datetime


@dataclass(frozen=True, slots=True)
class OrderCancelRecorded:
    """These nodes of an order went back; with all of them gone the order is settled. `kept_nodes` stay."""

    order_id: OrderId
    deleted_nodes: tuple[NodeName, ...]
    kept_nodes: tuple[NodeName, ...] = ()


@dataclass(frozen=True, slots=True)
class BookingReleaseRecorded:
    """The ledger holds nothing for the gang."""


@dataclass(frozen=True, slots=True)
class GangEnded:
    """FAILED, CANCELLED, EXPIRED or REVOKED; nothing of the gang is left."""

    end_state: EndState
    reasons: tuple[Reason, ...]
    end_time: datetime


@dataclass(frozen=True, slots=True)
class OrphanFound:
    """Something came that the gang no longer wants: a node of `order_id`, or a booking (`order_id` empty).

    `node` is empty where none is known by name; of several that came at once it is the first by name.
    """

    order_id: OrderId
    booking: bool
    node: NodeName = NO_NODE


Event: TypeAlias = (
    GangRequested
    | PlanningStarted
    | GangPlanBooked
    | GangWaits
    | NodesOrdered
    | OrderFillRecorded
    | ShortfallRecorded
    | NodeArrivalRecorded
    | NodeLossRecorded
    | VerificationStarted
    | SurplusReleased
    | GangReadied
    | MemberBindRecorded
    | GangConsumed
    | CompensationStarted
    | OrderCancelRecorded
    | BookingReleaseRecorded
    | GangEnded
    | OrphanFound
)
