"""What the cluster shows, as far as it concerns gangs."""

from dataclasses import dataclass
from typing import TypeAlias

from muster_gang_coordinator.domain.status import RequestStatus
from muster_types import GangId, NodeName, ObjectKey, OrderId


@dataclass(frozen=True, slots=True)
class RequestSeen:
    """A ProvisioningRequest; `leaving` when somebody has deleted it and a finalizer still keeps it."""

    key: ObjectKey
    uid: str
    class_name: str
    status: RequestStatus
    json: bytes
    leaving: bool = False


@dataclass(frozen=True, slots=True)
class PartSeen:
    """An object that a request may name: PodTemplate, ResourceClaimTemplate, ResourceClaim, PodGroup."""

    key: ObjectKey
    json: bytes
    uid: str = ""


@dataclass(frozen=True, slots=True)
class PodSeen:
    """A pod; `request` is the ProvisioningRequest that it consumes, of class `class_name` as it says, `node` where it
    is bound, `group` its PodGroup, each may be empty. Pods of one template have the same `look`. `gated`: it waits for
    Muster. `grouped`: it names a scheduling group. `json` is there for pods of a group without node and request."""

    key: ObjectKey
    request: str
    node: NodeName
    group: str = ""
    class_name: str = ""
    look: str = ""
    uid: str = ""
    gated: bool = False
    json: bytes = b""
    grouped: bool = False


@dataclass(frozen=True, slots=True)
class GangNodeSeen:
    """A node that was ordered for a gang."""

    key: ObjectKey
    gang_id: GangId
    order_id: OrderId
    ready: bool


@dataclass(frozen=True, slots=True)
class ObjectGone:
    """The cluster shows the object no longer; `uid` as last shown, empty when it had none."""

    key: ObjectKey
    uid: str


@dataclass(frozen=True, slots=True)
class ObjectPassed:
    """An object that says nothing to gangs; it may have said something before."""

    key: ObjectKey


Seen: TypeAlias = RequestSeen | PartSeen | PodSeen | GangNodeSeen | ObjectGone | ObjectPassed
