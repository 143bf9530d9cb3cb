"""What a gang is asked: requests, timers, and the recorded facts of the other services."""

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
from muster_gang_coordinator.domain.trust import ALL_TRUSTED, TemplateTrust
from muster_types import GangId, NodeName, OrderId


@unique
class Timer(Enum):
    """Which deadline a wake-up is about."""

    TEMPLATES = "templates"
    NODE = "node"
    DEVICE = "device"
    BOOKING = "booking"
    RETRY = "retry"
    REQUEST = "request"
    UNREADY = "unready"
    HOLD = "hold"


@dataclass(frozen=True, slots=True)
class RequestGang:
    """Asks for the gang; again with the missing objects when they came, or by another attempt of the same workload.

    `ahead`: the gang that has the floor and is planned before this one.
    """

    gang_id: GangId
    spec: GangSpec
    request_id: str
    now: datetime
    ahead: GangId | None = None


@dataclass(frozen=True, slots=True)
class CancelGang:
    """Gives everything back. With `uid` only as long as the gang serves that request: it may have been adopted.

    `successor`: the workload may ask again soon, so what has arrived is held for it a while.
    """

    cause: str
    now: datetime
    uid: str | None = None
    successor: bool = False


@dataclass(frozen=True, slots=True)
class RecordBooking:
    """The ledger holds every member of `attempt`. `trust`: what is known about the templates it would order on."""

    attempt: int
    plan: Plan
    now: datetime
    trust: TemplateTrust = ALL_TRUSTED


@dataclass(frozen=True, slots=True)
class RecordNoPlan:
    """No plan was found for `attempt`; an earlier booking of the gang stands."""

    attempt: int
    kind: NoPlanKind
    reasons: tuple[Reason, ...]
    now: datetime
    trust: TemplateTrust = ALL_TRUSTED


@dataclass(frozen=True, slots=True)
class RecordFill:
    """The provider launched every node of an order."""

    order_id: OrderId
    nodes: tuple[NodeName, ...]
    now: datetime


@dataclass(frozen=True, slots=True)
class RecordShortfall:
    """The provider launched only `nodes` of an order; `missing` are not coming."""

    order_id: OrderId
    shortfall_class: ShortfallClass
    message: str
    nodes: tuple[NodeName, ...]
    missing: int
    now: datetime


@dataclass(frozen=True, slots=True)
class RecordArrival:
    """An ordered node is Ready with complete pools; `mismatches` tell where it differs from its template."""

    node: ArrivedNode
    mismatches: tuple[ShapeMismatch, ...]
    now: datetime
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class RecordNodeLoss:
    """A node is gone; any node of the cluster may be named. `order_id`: the order that it says it came from."""

    node: NodeName
    now: datetime
    order_id: OrderId | None = None


@dataclass(frozen=True, slots=True)
class RecordNodeUnready:
    """A node of the cluster takes no pod, for a reason."""

    node: NodeName
    reason: str
    now: datetime


@dataclass(frozen=True, slots=True)
class RecordNodeReady:
    """A node of the cluster takes pods (again)."""

    node: NodeName
    now: datetime


@dataclass(frozen=True, slots=True)
class RecordPoolChange:
    """A pool is another one or gone; `change` says how. `sequence`: where that stands in the stream inventory."""

    driver: str
    pool: str
    node: NodeName
    change: str
    sequence: int
    now: datetime


@dataclass(frozen=True, slots=True)
class RecordConfirmation:
    """Allocation ran again on the actual slices and every member has its devices."""

    attempt: int
    placements: tuple[Placement, ...]
    now: datetime
    check: int = 0


@dataclass(frozen=True, slots=True)
class RecordBreak:
    """What arrived does not serve the gang."""

    attempt: int
    reasons: tuple[Reason, ...]
    now: datetime
    check: int = 0


@dataclass(frozen=True, slots=True)
class RecordMemberLoss:
    """A pod is gone or runs no more."""

    pod: str
    now: datetime


@dataclass(frozen=True, slots=True)
class RecordDrift:
    """An object that the request names is shown with another content than was accepted."""

    kind: str
    name: str
    shown_hash: str
    now: datetime


@dataclass(frozen=True, slots=True)
class RecordMemberBind:
    """A pod that consumes the request was bound to a node. `ungrouped`: without its template's scheduling group."""

    pod: str
    node: NodeName
    now: datetime
    ungrouped: bool = False


@dataclass(frozen=True, slots=True)
class RecordOrderCancel:
    """The nodes of an order were given back, except those kept."""

    order_id: OrderId
    deleted: tuple[NodeName, ...]
    kept: tuple[NodeName, ...]
    now: datetime


@dataclass(frozen=True, slots=True)
class RecordBookingRelease:
    """The ledger holds nothing for the gang any more."""

    now: datetime


@dataclass(frozen=True, slots=True)
class WakeGang:
    """A timer of `attempt` fired. `ready`: nodes of its orders that the cluster shows as Ready. `ahead`: as above."""

    attempt: int
    timer: Timer
    now: datetime
    ready: frozenset[tuple[OrderId, NodeName]] = frozenset()
    ahead: GangId | None = None


@dataclass(frozen=True, slots=True)
class RetryGang:
    """Something changed that could help a waiting gang."""

    cause: str
    now: datetime


Command: TypeAlias = (
    RequestGang
    | CancelGang
    | RecordBooking
    | RecordNoPlan
    | RecordFill
    | RecordShortfall
    | RecordArrival
    | RecordNodeLoss
    | RecordNodeUnready
    | RecordNodeReady
    | RecordPoolChange
    | RecordConfirmation
    | RecordBreak
    | RecordMemberLoss
    | RecordDrift
    | RecordMemberBind
    | RecordOrderCancel
    | RecordBookingRelease
    | WakeGang
    | RetryGang
)
