"""Plans as the ledger keeps them: who sits where with which devices, and what has to be ordered."""

from dataclasses import dataclass

from muster_plan.plan_types import NoPlanKind, Pin, PlannedClaim, Survival, Target
from muster_types import Nano, NodeGroupName, PodSetName


@dataclass(frozen=True, slots=True)
class Member:
    """One pod of a gang. `resources` are its effective requests, in nano-units, by resource name."""

    pod_set: PodSetName
    index: int
    target: Target
    claims: tuple[PlannedClaim, ...]
    resources: tuple[tuple[str, Nano], ...]


@dataclass(frozen=True, slots=True)
class Order:
    """Nodes that the plan needs from a group."""

    group: NodeGroupName
    count: int
    price_per_node: float


@dataclass(frozen=True, slots=True)
class Considered:
    """Another way that was weighed, and why it lost."""

    description: str
    cost: float
    why_not: str


@dataclass(frozen=True, slots=True)
class BookedPlan:
    """A whole gang's plan. `domain` is empty without a topology constraint, `lower_bound` a proven bound of `cost`.

    `pins` are what kube-scheduler must be told, `unplaced` the pods beyond a PodGroup's minimum that got no place,
    `assumptions` what has to be verified on arrival although no template says it.
    """

    members: tuple[Member, ...]
    orders: tuple[Order, ...] = ()
    cost: float = 0.0
    new_nodes: int = 0
    domain: str = ""
    alternatives: tuple[Considered, ...] = ()
    lower_bound: float = 0.0
    pins: tuple[Pin, ...] = ()
    survival: Survival = Survival.UNKNOWN
    unplaced: tuple[tuple[PodSetName, int], ...] = ()
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reason:
    """Why not: `code` is UPPER_SNAKE_CASE, `sentence` is for people, `facts` are the figures in it."""

    code: str
    sentence: str
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """There is no plan. `even_empty`: it would stay so even if everybody else left."""

    kind: NoPlanKind
    reasons: tuple[Reason, ...]
    even_empty: bool
