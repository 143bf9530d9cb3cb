"""Settings of the claim-matcher; `MUSTER_<FIELD>` in the environment."""

from enum import Enum
from typing import Annotated

from pydantic import Field
from pydantic_settings import NoDecode

from muster_plan import CHEAPEST, FEWEST_NODES, LEAST_FRAGMENTATION, PREFER_EXISTING, Policy
from muster_servicekit.settings import ServiceSettings


class PolicyName(Enum):
    """Which plan is best, among those that place every pod."""

    CHEAPEST = "cheapest"
    PREFER_EXISTING = "prefer-existing"
    FEWEST_NODES = "fewest-nodes"
    LEAST_FRAGMENTATION = "least-fragmentation"


POLICIES: dict[PolicyName, Policy] = {
    PolicyName.CHEAPEST: CHEAPEST,
    PolicyName.PREFER_EXISTING: PREFER_EXISTING,
    PolicyName.FEWEST_NODES: FEWEST_NODES,
    PolicyName.LEAST_FRAGMENTATION: LEAST_FRAGMENTATION,
}


class Settings(ServiceSettings):
    """Alone, the service listens on a port of its own; port 0 asks for any free one."""

    grpc_listen: str = "127.0.0.1:7402"
    clusters: Annotated[tuple[str, ...], NoDecode] = ("local",)
    plan_policy: PolicyName = PolicyName.CHEAPEST
    plan_threads: int = Field(default=2, ge=1, le=64, description="plans and matches that are computed at once")
    query_wait: float = Field(default=5.0, gt=0, description="seconds that a query waits for min_sequence")
    facts_wait: float = Field(default=30.0, gt=0, description="seconds that a command waits for facts it must not miss")
    snapshot_every: int = Field(default=5_000, ge=1, description="messages of gangs between two snapshots of its fold")
