"""What is promised to a gang and not yet visible in the cluster."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster_plan.plan_types import GroupOrder, PlannedClaim, Target
from muster_types import GangId, Nano


@dataclass(frozen=True, slots=True)
class BookedPod:
    """One member: it counts as if it ran on its target. Drop it once the real pod is bound, else it counts twice."""

    target: Target
    namespace: str
    labels: Mapping[str, str]
    requests: Mapping[str, Nano]
    claims: tuple[PlannedClaim, ...]


@dataclass(frozen=True, slots=True)
class Booking:
    """All that one gang holds. `pending` are nodes ordered for it that no group counts in its current size yet."""

    gang: GangId
    pods: tuple[BookedPod, ...]
    pending: tuple[GroupOrder, ...] = ()
