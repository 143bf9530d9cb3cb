"""Identities as distinct types: a bare `str` never crosses a room's door (docs/style: typed doors)."""

from dataclasses import dataclass
from typing import NewType

ClusterId = NewType("ClusterId", str)
GangId = NewType("GangId", str)
OrderId = NewType("OrderId", str)
NodeName = NewType("NodeName", str)
NodeGroupName = NewType("NodeGroupName", str)
PodSetName = NewType("PodSetName", str)


@dataclass(frozen=True, slots=True, order=True)
class DeviceId:
    """The only identity of a device (resource.k8s.io/v1): the slice it is published in does not matter."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


@dataclass(frozen=True, slots=True, order=True)
class ObjectKey:
    """A Kubernetes object of one cluster: kind without group or version, namespace ("" when cluster-scoped), name."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}" if self.namespace else f"{self.kind}/{self.name}"
