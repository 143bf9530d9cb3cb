"""What the other services say about a gang, as values: plans, placements, reasons, arrivals."""

from dataclasses import dataclass
from enum import Enum, unique
from typing import TypeAlias

from muster_types import DeviceId, NodeGroupName, NodeName, OrderId, PodSetName


@dataclass(frozen=True, slots=True)
class Reason:
    """Why not: an UPPER_SNAKE_CASE code for programs, a sentence for people, facts sorted by key."""

    code: str
    sentence: str
    facts: tuple[tuple[str, str], ...] = ()


@unique
class NoPlanKind(Enum):
    """How final a refusal is (muster.type.v1.NoPlanKind)."""

    NEVER = "never"
    LIMIT = "limit"
    NOT_NOW = "not now"


@unique
class ShortfallClass(Enum):
    """Why a node group gave fewer nodes than asked."""

    STOCKOUT = "stockout"
    QUOTA = "quota"
    TIMEOUT = "timeout"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ExistingNode:
    """A placement on a node that the cluster shows."""

    name: NodeName


@dataclass(frozen=True, slots=True)
class NewNode:
    """The ordinal-th node, from 0, of those that the plan orders in a node group."""

    node_group: NodeGroupName
    ordinal: int


Target: TypeAlias = ExistingNode | NewNode


@dataclass(frozen=True, slots=True)
class DeviceResult:
    """One device chosen for one request ("request" or "request/subrequest") of a claim."""

    request: str
    device: DeviceId
    admin_access: bool = False
    shared: bool = False
    consumed_capacity: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedClaim:
    """A claim of a pod (`shared_claim` empty), or one that several pods share, with its devices.

    `existing`: it has its allocation already, and nothing of it is promised here.
    """

    name: str
    shared_claim: str
    results: tuple[DeviceResult, ...]
    existing: bool = False


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one pod goes, with its devices and effective resource requests."""

    pod_set: PodSetName
    index: int
    target: Target
    claims: tuple[PlannedClaim, ...] = ()
    resources: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class GroupOrder:
    """Nodes that a plan needs from one node group."""

    node_group: NodeGroupName
    count: int
    price_per_node: float = 0.0


@dataclass(frozen=True, slots=True)
class Alternative:
    """A way that was not taken, and why not."""

    description: str
    cost: float
    why_not: str


@unique
class PinKind(Enum):
    """What must be told to kube-scheduler: the node, the order of a node's pods, or the devices too."""

    NODE = "node"
    ORDER = "order"
    DEVICES = "devices"


@dataclass(frozen=True, slots=True)
class Pin:
    """Something that has to be fixed so that the scheduler's own choice cannot spoil the plan.

    `position`: the place of the pod among the pods of its node, from 0, in the order in which they have to come.
    """

    kind: PinKind
    pod_set: PodSetName
    index: int
    target: Target
    why: str
    position: int = 0


@dataclass(frozen=True, slots=True)
class UnplacedMember:
    """A pod beyond the minimum of its PodGroup that got no place."""

    pod_set: PodSetName
    index: int


@unique
class Survival(Enum):
    """What is known about a plan under kube-scheduler (muster.type.v1.Survival)."""

    NOT_EXAMINED = "not examined"
    SURVIVES = "survives"
    PINNED = "survives with its pins"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to change; `orders` has at most one entry per node group and is empty on existing nodes alone.

    `assumptions` are to be verified on arrival although no template says them.
    """

    placements: tuple[Placement, ...]
    orders: tuple[GroupOrder, ...] = ()
    cost: float = 0.0
    domain: str = ""
    alternatives: tuple[Alternative, ...] = ()
    lower_bound: float = 0.0
    pins: tuple[Pin, ...] = ()
    survival: Survival = Survival.NOT_EXAMINED
    unplaced: tuple[UnplacedMember, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def new_nodes(self) -> int:
        """Nodes ordered by this plan."""
        return sum(order.count for order in self.orders)

    @property
    def existing_nodes(self) -> frozenset[NodeName]:
        """Nodes of the cluster that carry members."""
        return existing_nodes(self.placements)


def existing_nodes(placements: tuple[Placement, ...]) -> frozenset[NodeName]:
    """The named nodes of `placements`."""
    return frozenset(p.target.name for p in placements if isinstance(p.target, ExistingNode))


@dataclass(frozen=True, slots=True)
class ShapeMismatch:
    """How an arrived node differs from its template (checks C1 to C8, group-capacity §8.3)."""

    check: str
    expected: str
    actual: str
    sentence: str


@dataclass(frozen=True, slots=True, order=True)
class ArrivedNode:
    """A node that was ordered for the gang, and which ordinal of the plan it became."""

    node: NodeName
    node_group: NodeGroupName
    order_id: OrderId
    ordinal: int
