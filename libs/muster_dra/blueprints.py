"""What a solution's allocation looks like on every node of a shape, but for the names of node and pools."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster_dra.amounts import Amount
from muster_dra.objects.taints import DeviceToleration
from muster_dra.outcome import AllocatedConfig


@dataclass(frozen=True, slots=True)
class Line:
    """One result without what differs from node to node."""

    device: int
    pool: int
    driver: str
    name: str
    request: str
    admin: bool
    share: bool
    consumed: Mapping[str, Amount]
    tolerations: tuple[DeviceToleration, ...]
    binding: tuple[str, ...]
    failure: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClaimLines:
    lines: tuple[Line, ...]
    config: tuple[AllocatedConfig, ...]


Blueprint = tuple[ClaimLines, ...]
