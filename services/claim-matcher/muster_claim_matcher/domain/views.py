"""What a caller is shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from muster_claim_matcher.domain.plans import Member, Reason
from muster_plan import PlannedClaim
from muster_types import GangId, NodeGroupName, NodeName


class MatchStatus(Enum):
    """The four outcomes of an allocation, in the words of the corpus."""

    OK = "ok"
    NONE = "none"
    NODE_ERROR = "nodeError"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class NodeMatch:
    """Whether one node can hold the claims together: the devices, or why not."""

    node: NodeName
    status: MatchStatus
    claims: tuple[PlannedClaim, ...]
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class BookingView:
    gang: GangId
    attempt: int
    confirmed: bool
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Provisionable:
    """What a group could add now. `fits_*` count how many times the given claims fit, 0 when none were given."""

    group: NodeGroupName
    headroom: int
    price_per_node: float
    devices_per_node: int
    template_known: bool
    fits_per_node: int
    fits_total: int
    reasons: tuple[Reason, ...]
    labels: Mapping[str, str]
