"""Settings of the gang-coordinator; `MUSTER_<FIELD>` in the environment."""

from datetime import timedelta
from enum import Enum, unique
from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import NoDecode

from muster_gang_coordinator.domain.policy import SagaPolicy, TrialOrders
from muster_kubeapi import KubeSettings
from muster_servicekit.cluster_dirs import ClusterDirSettings


@unique
class SourceKind(Enum):
    """Where clusters are written."""

    DIRECTORY = "directory"
    KUBERNETES = "kubernetes"


@unique
class Hold(Enum):
    """What is written in a live cluster beside statuses and the lifting of reservations: that no autoscaler takes the
    nodes of a gang, that nobody else gets its devices on existing nodes, that its request does not vanish unseen."""

    SCALE_DOWN = "scale-down"
    DEVICES = "devices"
    REQUESTS = "requests"


class Settings(KubeSettings, ClusterDirSettings):
    """Alone, the service listens on a port of its own; port 0 asks for any free one. Times in seconds."""

    grpc_listen: str = "127.0.0.1:7403"
    clusters: Annotated[tuple[str, ...], NoDecode] = ("local",)
    query_wait: float = Field(default=5.0, gt=0, description="how long a query waits for min_sequence")
    claim_matcher_address: str = Field(default="", description="host:port; empty: as the running matcher wrote it down")
    provisioning_classes: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("atomic.muster.dev",),
        description="patterns of provisioning class names that are ours, comma-separated",
    )
    cluster_source: SourceKind = SourceKind.DIRECTORY
    cluster_writes: bool = Field(default=True, description="whether anything is written to a cluster")
    events: bool = Field(default=True, description="whether notices stand as Events in a live cluster")
    pod_groups: bool = Field(
        default=True, description="whether PodGroups of a live cluster may ask for their capacity by an annotation"
    )
    holds: Annotated[tuple[Hold, ...], NoDecode] = Field(
        default=(Hold.SCALE_DOWN, Hold.DEVICES, Hold.REQUESTS),
        description="what is held in a live cluster: scale-down, devices, requests; - for nothing",
    )
    template_wait: float = Field(default=60.0, gt=0)
    node_deadline: float = Field(default=900.0, gt=0)
    device_deadline: float = Field(default=1800.0, gt=0)
    booking_seconds: float = Field(
        default=600.0, gt=0, description="how long an offer stands without ValidUntilSeconds"
    )
    request_lifetime: float = Field(default=7 * 86400.0, gt=0)
    retry_after: float = Field(
        default=300.0, gt=0, description="when a waiting gang tries again though nothing has changed"
    )
    patience: float = Field(
        default=300.0,
        ge=0,
        description="how long bookings of others may keep a gang waiting before all behind it wait for it",
    )
    unready_grace: float = Field(
        default=120.0, gt=0, description="how long a node with members may be NotReady before it is given up"
    )
    successor_hold: float = Field(
        default=300.0,
        ge=0,
        description="how long what has arrived for a deleted request is held for its workload's next attempt; 0: not",
    )
    retry_settle: float = Field(default=0.5, ge=0, description="how long helpful changes are gathered into a round")
    max_setbacks: int = Field(default=5, ge=0)
    renew_after: float = Field(
        default=3 * 86400.0,
        ge=0,
        description="age at which the time of a request that waits in a live cluster is renewed, for the Cluster "
        "Autoscaler deletes those older than a week; 0 for never",
    )
    trial_orders: TrialOrders = Field(
        default=TrialOrders.ONE_NODE_FIRST,
        description="what is ordered first on a template that no arrival has confirmed: one node first, or off",
    )

    @field_validator("holds", mode="before")
    @classmethod
    def _split_holds(cls, value: object) -> object:
        return (
            tuple(p.strip() for p in value.split(",") if p.strip() not in ("", "-"))
            if isinstance(value, str)
            else value
        )

    @field_validator("provisioning_classes", mode="before")
    @classmethod
    def _split_classes(cls, value: object) -> object:
        return tuple(p.strip() for p in value.split(",") if p.strip()) if isinstance(value, str) else value

    @field_validator("provisioning_classes")
    @classmethod
    def _some_class(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("name at least one class, for example atomic.muster.dev")
        return value

    @property
    def live_writes(self) -> bool:
        """Whether API servers are written to."""
        return self.cluster_source is SourceKind.KUBERNETES and self.cluster_writes

    @property
    def booking(self) -> timedelta:
        """From the offer until the booking expires."""
        return timedelta(seconds=self.booking_seconds)

    @property
    def policy(self) -> SagaPolicy:
        """The saga's deadlines and limits."""
        return SagaPolicy(
            template_wait=timedelta(seconds=self.template_wait),
            node_deadline=timedelta(seconds=self.node_deadline),
            device_deadline=timedelta(seconds=self.device_deadline),
            request_lifetime=timedelta(seconds=self.request_lifetime),
            retry_after=timedelta(seconds=self.retry_after),
            patience=timedelta(seconds=self.patience),
            unready_grace=timedelta(seconds=self.unready_grace),
            successor_hold=timedelta(seconds=self.successor_hold),
            max_setbacks=self.max_setbacks,
            trial_orders=self.trial_orders,
        )
