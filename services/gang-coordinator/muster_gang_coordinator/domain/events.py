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
    """A plan is wanted; the booking of an earlier attempt is replaced by it.

    With `lost_nodes` it repairs an offer: members on these nodes are placed anew, all others stay where they are.
    """

    attempt: int
    excluded_node_groups: tuple[NodeGroupName, ...]
    kept_nodes: tuple[ArrivedNode, ...]
    cause: str
    start_time: datetime
    lost_nodes: tuple[NodeName, ...] = ()


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
    """Nodes asked of one group; they become the ordinals from `first_ordinal` on.

    `trial`: the rest of the group follows when these have the promised shape.
    """

    order_id: OrderId
    node_group: NodeGroupName
    count: int
    first_ordinal: int
    trial: bool = False


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
    """An ordered node is Ready with complete pools. `inventory_sequence`: where that stands in the stream inventory."""

    node: ArrivedNode
    mismatches: tuple[ShapeMismatch, ...]
    arrive_time: datetime
    inventory_sequence: int = 0


@dataclass(frozen=True, slots=True)
class NodeLossRecorded:
    """A node of the gang is gone, or counts as gone for a `cause`; `order_id` is empty for one that was not ordered."""

    node: NodeName
    order_id: OrderId
    loss_time: datetime
    cause: str = ""


@dataclass(frozen=True, slots=True)
class MemberNodeUnreadied:
    """A node with members takes no pod; it counts as gone from `deadline` on, and is looked at again at `wake_time`."""

    node: NodeName
    reason: str
    unready_time: datetime
    deadline: datetime
    wake_time: datetime


@dataclass(frozen=True, slots=True)
class MemberNodeRecovered:
    """A node with members is Ready again."""

    node: NodeName


@dataclass(frozen=True, slots=True)
class MemberPoolChanged:
    """What a driver publishes for members changed after they were verified; the `check`-th check follows.

    `node` is empty for a pool that several nodes reach.
    """

    attempt: int
    driver: str
    pool: str
    node: NodeName
    change: str
    check: int
    inventory_sequence: int


@dataclass(frozen=True, slots=True)
class OfferRevised:
    """A check after the offer gave other devices on the same nodes."""

    attempt: int
    check: int
    placements: tuple[Placement, ...]


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
    """A member runs. `ungrouped`: its template names a scheduling group and the pod has none (T38)."""

    pod: str
    node: NodeName
    ungrouped: bool = False


@dataclass(frozen=True, slots=True)
class MemberLossRecorded:
    """A member that was bound is gone again; its place is kept for the pod that follows it."""

    pod: str


@dataclass(frozen=True, slots=True)
class TemplateDriftRecorded:
    """An object that the request names is another one now; the gang goes on with what was accepted (T3)."""

    kind: str
    name: str
    accepted_hash: str
    shown_hash: str
    drift_time: datetime


@dataclass(frozen=True, slots=True)
class HoldStarted:
    """The request is gone; what has arrived is held until `deadline` for the workload's next attempt (F23, T28)."""

    reasons: tuple[Reason, ...]
    orders: tuple[SurplusOrder, ...]
    start_time: datetime
    deadline: datetime


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


Watched: TypeAlias = (
    MemberNodeUnreadied
    | MemberNodeRecovered
    | MemberPoolChanged
    | OfferRevised
    | MemberLossRecorded
    | TemplateDriftRecorded
    | HoldStarted
)
Event: TypeAlias = (
    Watched
    | GangRequested
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
