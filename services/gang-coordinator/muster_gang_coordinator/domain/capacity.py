"""What could be provisioned now, as the claim-matcher says."""

from dataclasses import dataclass

from muster_gang_coordinator.domain.plans import Reason
from muster_types import NodeGroupName


@dataclass(frozen=True, slots=True)
class ProvisionableGroup:
    """A node group: nodes it could still add, and how often the given claims fit on one of them and on all."""

    node_group: NodeGroupName
    headroom_nodes: int
    price_per_node: float
    devices_per_node: int
    template_known: bool
    fits_per_node: int
    fits_total: int
    reasons: tuple[Reason, ...]
    labels: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Provisionable:
    """Every group by name; `sequence` is that of the observed stream that the matcher's answer reflects."""

    groups: tuple[ProvisionableGroup, ...]
    sequence: int
