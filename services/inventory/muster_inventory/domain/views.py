"""What a caller is shown."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster_inventory.domain.node import Purpose, Readiness
from muster_inventory.domain.node_group import Declaration, Trust
from muster_types import DeviceId, NodeGroupName, NodeName


@dataclass(frozen=True, slots=True)
class NodeView:
    """`device_count` counts the devices that slices of the node publish now, usable or not."""

    name: NodeName
    group: NodeGroupName | None
    readiness: Readiness
    labels: Mapping[str, str]
    device_count: int
    purpose: Purpose | None


@dataclass(frozen=True, slots=True)
class DeviceView:
    """`held_by` names the claims that hold it or shares of it, as namespace/name; empty when it is free."""

    device: DeviceId
    node: NodeName | None
    held_by: tuple[str, ...]
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NodeGroupView:
    declaration: Declaration
    trust: Trust
    devices_per_node: int
    registered_nodes: int
