"""What the planner answers: a Plan, or a NoPlan with its reasons. Nothing has happened yet."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from muster_types import DeviceId, GangId, Nano, NodeGroupName, NodeName, PodSetName


@dataclass(frozen=True, slots=True, order=True)
class ExistingNode:
    name: NodeName

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, order=True)
class NewNode:
    """The `ordinal`-th node that this plan orders from a group, counted from 0."""

    group: NodeGroupName
    ordinal: int

    def __str__(self) -> str:
        return f"{self.group}#{self.ordinal}"


Target = ExistingNode | NewNode


@dataclass(frozen=True, slots=True)
class PlannedDevice:
    """A chosen device. On a new node the pool is named as in the group's template. `consumed` is in nano-units."""

    request: str  # "req" or "req/sub"
    device: DeviceId
    admin_access: bool = False
    share: bool = False
    consumed: tuple[tuple[str, Nano], ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedClaim:
    """`name` is the pod's entry in `spec.resourceClaims`, `<extended-resources>` for devices of extended resources.

    `shared` is empty for a claim of the pod's own, else the claim that several pods use: `claim/<namespace>/<name>`
    or `group/<namespace>/<pod group>/<entry>`. `existing`: the claim has its allocation already.
    """

    name: str
    shared: str
    existing: bool
    results: tuple[PlannedDevice, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    pod_set: PodSetName
    index: int
    target: Target
    claims: tuple[PlannedClaim, ...]


@dataclass(frozen=True, slots=True)
class GroupOrder:
    group: NodeGroupName
    count: int


@dataclass(frozen=True, slots=True)
class ChosenDomain:
    """Pod sets that share one value of a node label. `known` is False for a value that a new unit will bring."""

    pod_sets: tuple[PodSetName, ...]
    key: str
    value: str
    known: bool = True


@dataclass(frozen=True, slots=True)
class Spare:
    """What the gang leaves free on a node it orders: resources in nano-units, devices per driver."""

    target: NewNode
    resources: tuple[tuple[str, Nano], ...]
    devices: tuple[tuple[str, int], ...]


class Lost(Enum):
    COSTLIER = "costs more"
    MORE_NODES = "needs more new nodes"
    NOT_FEASIBLE = "not feasible"
    EQUAL = "equally good; the first by name was taken"


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another way that was considered: `label` says which, `orders` what it would order."""

    label: str
    orders: tuple[GroupOrder, ...]
    cost: float
    new_nodes: int
    lost: Lost
    why: str


class PinKind(Enum):
    NODE = "node"  # the pod must be told its node
    ORDER = "order"  # the pods of a node must come in plan order
    DEVICES = "devices"  # the claim must be narrowed to these devices


@dataclass(frozen=True, slots=True)
class Pin:
    """Something the executor has to fix so that the scheduler's own choice cannot spoil the plan.

    `position`: the place of the pod among the pods of its node, from 0, in which they have to come (ORDER and DEVICES;
    for NODE any order will do and the position is that of the plan).
    """

    kind: PinKind
    pod_set: PodSetName
    index: int
    target: Target
    why: str
    position: int = 0


class Survival(Enum):
    """What is known about the plan under kube-scheduler: one pod after the other, first fit, its own node order."""

    SURVIVES = "survives"
    PINNED = "survives with its pins"
    UNKNOWN = "not examined"


@dataclass(frozen=True, slots=True)
class Plan:
    """Every pod has its node and devices. `bound` is a proven lower bound of the cost, `optimal` says cost meets it."""

    gang: GangId
    placements: tuple[Placement, ...]
    orders: tuple[GroupOrder, ...]
    cost: float
    new_nodes: int
    domains: tuple[ChosenDomain, ...]
    alternatives: tuple[Alternative, ...]
    bound: float
    optimal: bool
    spare: tuple[Spare, ...]
    pins: tuple[Pin, ...]
    survival: Survival
    unplaced: tuple[tuple[PodSetName, int], ...]  # members beyond a PodGroup's minimum that got no place
    assumptions: tuple[str, ...]  # what has to be verified on arrival although the template does not say it

    @property
    def domain(self) -> str:
        """The chosen domains in words, empty without a topology constraint."""
        return ", ".join(f"{domain.key}={domain.value}" for domain in self.domains)


class NoPlanKind(Enum):
    NEVER = "never"  # no number of further nodes helps
    LIMIT = "limit"  # only a maximum or quota is in the way
    NOT_NOW = "not now"  # something that passes is in the way: bookings, groups that are backing off


class ReasonCode(Enum):
    """What stands in the way. `data` of a PlanReason holds the figures under the names its sentence uses."""

    SHAPE = "shape"
    SELECTOR = "selector"
    TAINT = "taint"
    NOT_READY = "not ready"
    RESOURCES = "resources"
    CAPACITY = "capacity"
    LIMIT = "limit"
    DOMAIN = "domain"
    SLICES = "slices"
    SPREAD = "spread"
    ANTI_AFFINITY = "anti-affinity"
    AFFINITY = "affinity"
    HOST_PORT = "host port"
    PINNED = "pinned"
    CONSUMERS = "consumers"
    SHARED_CLAIM = "shared claim"
    UNKNOWN_LABEL = "unknown label"
    NO_TEMPLATE = "no template"
    NO_NODES = "no nodes"
    EXCLUDED = "excluded"
    BOOKED = "booked"
    GAVE_UP = "gave up"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class PlanReason:
    """Why there is no plan. `subject` names the pod set, group or domain; `text` is the sentence for people."""

    code: ReasonCode
    subject: str
    text: str
    data: Mapping[str, str | int | float]

    def sentence(self) -> str:
        return self.text


class HelpKind(Enum):
    RAISE_LIMIT = "raise limit"
    FREE_DEVICES = "free devices"
    WAIT_FOR_GANG = "wait for gang"
    WAIT_FOR_GROUP = "wait for group"
    DESCRIBE_TEMPLATE = "describe template"
    CHANGE_REQUEST = "change request"


@dataclass(frozen=True, slots=True)
class Help:
    """What would make the gang feasible. `subjects` are the groups, claims or gangs concerned."""

    kind: HelpKind
    subjects: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class NoPlan:
    """No placement of all pods. The first reason is the tightest bound.

    `even_empty`: infeasible without any maximum and with everybody else gone; it implies NEVER. `proof` says in a
    sentence why NEVER holds. `waiting_helps`: others leaving would make it feasible within today's maxima.
    """

    gang: GangId
    kind: NoPlanKind
    reasons: tuple[PlanReason, ...]
    even_empty: bool
    waiting_helps: bool
    proof: str
    helps: tuple[Help, ...]

    def sentence(self) -> str:
        """The tightest bound in one sentence."""
        return self.reasons[0].sentence() if self.reasons else f"no plan: {self.kind.value}"


@dataclass(frozen=True, slots=True)
class Verified:
    """The plan holds on the nodes that arrived: targets are existing nodes, devices those of actual slices."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Broken:
    """The nodes that arrived do not carry the plan; `nodes` are those that fail."""

    gang: GangId
    reasons: tuple[PlanReason, ...]
    nodes: tuple[NodeName, ...]
