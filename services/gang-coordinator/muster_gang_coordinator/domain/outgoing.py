"""What a recorded event asks of others."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from muster_gang_coordinator.domain.commands import Timer
from muster_gang_coordinator.domain.plans import ArrivedNode
from muster_gang_coordinator.domain.requests import GangSpec
from muster_types import GangId, NodeGroupName, NodeName, OrderId


@dataclass(frozen=True, slots=True)
class BookGang:
    """To the claim-matcher: plan, and book every member."""

    gang_id: GangId
    attempt: int
    spec: GangSpec
    excluded_node_groups: tuple[NodeGroupName, ...]
    kept_nodes: tuple[ArrivedNode, ...]
    lost_nodes: tuple[NodeName, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfirmGang:
    """To the claim-matcher: allocate again on what arrived; with a `check` on what an offer stands on."""

    gang_id: GangId
    attempt: int
    nodes: tuple[ArrivedNode, ...]
    check: int = 0


@dataclass(frozen=True, slots=True)
class ReleaseGang:
    """To the claim-matcher: hold nothing for the gang any more."""

    gang_id: GangId
    cause: str


@dataclass(frozen=True, slots=True)
class PlaceOrder:
    """To the provisioner: make nodes."""

    order_id: OrderId
    gang_id: GangId
    node_group: NodeGroupName
    count: int
    first_ordinal: int


@dataclass(frozen=True, slots=True)
class CancelOrder:
    """To the provisioner: give back all nodes of the order except those kept."""

    order_id: OrderId
    gang_id: GangId
    node_group: NodeGroupName
    kept_nodes: tuple[NodeName, ...]


@dataclass(frozen=True, slots=True)
class WakeAt:
    """To the store's clock: a WakeGang at `due`."""

    gang_id: GangId
    attempt: int
    timer: Timer
    due: datetime


@dataclass(frozen=True, slots=True)
class ForgetWake:
    """To the store's clock: this timer is not wanted any more; it may still fire."""

    gang_id: GangId
    timer: Timer


@dataclass(frozen=True, slots=True)
class LiftHolds:
    """To the cluster: take the reservation taint from these nodes, the gang runs."""

    gang_id: GangId
    nodes: tuple[NodeName, ...]


Outgoing: TypeAlias = BookGang | ConfirmGang | ReleaseGang | PlaceOrder | CancelOrder | WakeAt | ForgetWake | LiftHolds
