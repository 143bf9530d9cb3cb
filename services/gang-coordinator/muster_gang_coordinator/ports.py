"""What the handlers need of the world."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Protocol, TypeAlias

from muster_gang_coordinator.domain.capacity import Provisionable
from muster_gang_coordinator.domain.groups import GroupAttempt
from muster_gang_coordinator.domain.notices import Notice
from muster_gang_coordinator.domain.requests import GangSpec
from muster_gang_coordinator.domain.status import RequestStatus
from muster_types import ClusterId, NodeName, ObjectKey

Lookup: TypeAlias = Callable[[ObjectKey], bytes | None]


class Clock(Protocol):
    """Wall-clock time, aware, and waiting by it."""

    def now(self) -> datetime:
        """The time."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Specs(Protocol):
    """Reads requests as Kubernetes JSON."""

    def key_of(self, request_json: bytes) -> ObjectKey:
        """Namespace and name. Raises Invalid, naming object, field and reason, for what is no sound request."""
        ...

    def class_of(self, request_json: bytes) -> str:
        """`spec.provisioningClassName`."""
        ...

    def uid_of(self, request_json: bytes) -> str:
        """`metadata.uid`; empty when the cluster has not given one."""
        ...

    def read(self, request_json: bytes, uid: str, lookup: Lookup) -> GangSpec:
        """The spec with all objects that `lookup` gives. Raises Invalid."""
        ...

    def groups_pods(self, objects_json: tuple[bytes, ...]) -> bool:
        """Whether every PodTemplate among the objects names a scheduling group."""
        ...

    def with_objects(self, objects_json: tuple[bytes, ...], lookup: Lookup, namespace: str) -> Lookup:
        """A lookup that prefers the given objects; those without a namespace are in `namespace`. Raises Invalid."""
        ...


class Templates(Protocol):
    """What an accepted request says of its pods."""

    def looks(self, spec: GangSpec) -> frozenset[str]:
        """The looks of its pods, as `PodSeen` has them."""
        ...

    def group_of(self, spec: GangSpec) -> str:
        """The PodGroup that its pods name; empty for none."""
        ...

    def opted_in(self, group_json: bytes) -> bool:
        """Whether a PodGroup asks for its capacity itself."""
        ...

    def drifted(self, spec: GangSpec, key: ObjectKey, shown: bytes) -> bool:
        """Whether an object of the request asks for something else now."""
        ...

    def parameters_changed(self, spec: GangSpec, shown: bytes) -> bool:
        """Whether the request has other parameters now."""
        ...


class Groups(Protocol):
    """PodGroups and their pods as Kubernetes JSON."""

    def opted_in(self, group_json: bytes) -> bool:
        """Whether a group asks for its capacity itself."""
        ...

    def least(self, group_json: bytes) -> int:
        """How many pods it needs at least, 1 or more."""
        ...

    def request(self, attempt: GroupAttempt, pods_json: Iterable[bytes]) -> tuple[bytes, tuple[bytes, ...]]:
        """A ProvisioningRequest for these pods, and the PodTemplates that it names: one for pods that look alike."""
        ...


class GroupPods(Protocol):
    """Pods of groups that wait for capacity."""

    async def admit(self, cluster: ClusterId, taint: str, pods: tuple[ObjectKey, ...]) -> None:
        """Let them tolerate the taint (key=value:effect) and take Muster's gate away; one that is gone is passed over.
        Raises TransientError, PermanentError."""
        ...


class Notices(Protocol):
    """Where people look who wonder about an object of theirs."""

    async def tell(self, cluster: ClusterId, notice: Notice) -> None:
        """Say it at the object. Raises TransientError, PermanentError."""
        ...


class RequestStatuses(Protocol):
    """The status of ProvisioningRequests in a cluster. Raises TransientError when the cluster can't be reached."""

    async def read(self, cluster: ClusterId, key: ObjectKey, uid: str) -> RequestStatus | None:
        """The present status; None when there is no such object or it is another one of the same name."""
        ...

    async def write(self, cluster: ClusterId, key: ObjectKey, uid: str, status: RequestStatus) -> bool:
        """Replace Muster's part of the status, keeping foreign conditions; False as for `read`'s None."""
        ...


class Requests(Protocol):
    """ProvisioningRequests made over gRPC, for readers of the cluster."""

    async def publish(self, cluster: ClusterId, spec: GangSpec) -> None:
        """Put the request, under its uid, and its objects into the cluster, each unless it is there already.

        Nothing happens where Muster does not write objects. Raises TransientError.
        """
        ...


class NodeHolds(Protocol):
    """The reservation of ordered nodes for their gang."""

    async def lift(self, cluster: ClusterId, taint: str, nodes: tuple[NodeName, ...]) -> None:
        """Take the taint (key=value:effect) from the nodes; one that is gone or has none is passed over."""
        ...


class ClusterWrites(RequestStatuses, Requests, NodeHolds, Protocol):
    """Everything that is written to a cluster."""


class ProvisionableCapacity(Protocol):
    """The claim-matcher's view of what could be added."""

    async def list_groups(self, cluster: ClusterId, claims_json: tuple[bytes, ...], min_sequence: int) -> Provisionable:
        """All node groups. Raises TransientError when the matcher does not answer, Invalid for bad claims."""
        ...
