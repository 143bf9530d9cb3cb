"""What a gang asked for, as its request was accepted."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster_types import GangId, NodeGroupName, NodeName

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Wish:
    """`request` is the ProvisioningRequest, `objects` what it refers to, all as Kubernetes JSON."""

    namespace: str
    name: str
    request: Json
    objects: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Arrived:
    """A node that was ordered for the gang, and which node of its plan it is, from 0."""

    node: NodeName
    group: NodeGroupName
    ordinal: int


@dataclass(frozen=True, slots=True)
class BookingAsked:
    """Plan the gang and book it. `kept` are nodes ordered for it by earlier attempts, which may serve again.

    With `lost` nodes an offer is repaired: members on them are placed anew, all others stay where they are.
    """

    gang: GangId
    attempt: int
    wish: Wish
    excluded: tuple[NodeGroupName, ...]
    kept: tuple[Arrived, ...]
    min_observed_sequence: int
    lost: tuple[NodeName, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfirmationAsked:
    """Allocate again on what arrived. `nodes` are all nodes that were ordered for the gang and are there.

    `check` is 0 for the first verification, and counts on when a pool of a member changed after it.
    """

    gang: GangId
    attempt: int
    nodes: tuple[Arrived, ...]
    min_observed_sequence: int
    check: int = 0


@dataclass(frozen=True, slots=True)
class ReleaseAsked:
    """`cause`: consumed, cancelled, expired, failed or superseded."""

    gang: GangId
    cause: str


Asked = BookingAsked | ConfirmationAsked | ReleaseAsked
