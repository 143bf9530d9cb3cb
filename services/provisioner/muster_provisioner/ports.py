"""What the handlers need of the world, named by the need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from muster_provisioner.domain.group import Instance
from muster_provisioner.domain.messages import InstanceId
from muster_provisioner.domain.steps import Traits
from muster_types import GangId, NodeGroupName, NodeName, ObjectKey, OrderId


class DriverErrorKind(Enum):
    """What a failed driver call means for the caller.

    TRANSIENT: the outcome is unknown (away, busy, timed out), so look before the call is made again. The others are
    answers: nothing was changed, and the same call fails again until somebody changes something.
    """

    TRANSIENT = "transient"
    PERMANENT = "permanent"
    STOCKOUT = "stockout"
    QUOTA = "quota"


class DriverError(Exception):
    """A driver call failed; the message is a sentence that names the group and the reason."""

    def __init__(self, kind: DriverErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


@dataclass(frozen=True, slots=True)
class OrderTags:
    """What a driver writes on the instances of an order, where its provider can carry tags."""

    order: OrderId
    gang: GangId
    first_ordinal: int


@dataclass(frozen=True, slots=True)
class GroupBounds:
    """A group that a driver serves, with its least and greatest size."""

    group: NodeGroupName
    min_size: int
    max_size: int


class NodeGroupDriver(Protocol):
    """Node groups of one provider. Every method raises DriverError; `tests/contract/driver` says what holds.

    Reads show the effect of an acknowledged write at once, and that of a write without an answer after the settle time
    of `traits` at the latest.
    """

    def traits(self, group: NodeGroupName) -> Traits:
        """What this driver promises of a group."""
        ...

    async def groups(self) -> tuple[GroupBounds, ...]:
        """The groups it serves, by name."""
        ...

    async def target_size(self, group: NodeGroupName) -> int:
        """Size that was asked for: running and starting instances, and those not begun yet."""
        ...

    async def instances(self, group: NodeGroupName) -> tuple[Instance, ...]:
        """All instances, also those without a node yet, failed, or being deleted; by id."""
        ...

    async def increase(self, group: NodeGroupName, delta: int, tags: OrderTags) -> None:
        """Raise the target size by `delta` (>= 1); all of it is accepted or nothing. Not idempotent."""
        ...

    async def delete(self, group: NodeGroupName, instances: Sequence[InstanceId]) -> None:
        """Delete instances and lower the target size with them; those that are gone already are passed over."""
        ...

    async def decrease_target(self, group: NodeGroupName, by: int) -> None:
        """Lower the target size by `by` (>= 1) without touching an instance; PERMANENT if fewer are still to come."""
        ...

    async def wait_change(self, group: NodeGroupName) -> None:
        """Return when something in the group may have changed; a driver that is never told never returns."""
        ...


@dataclass(frozen=True, slots=True)
class DeclaredGroup:
    """A node group as the inventory declares it: its driver's type, and the NodeGroup object as Kubernetes JSON."""

    name: NodeGroupName
    driver: str
    manifest: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class WithdrawnGroup:
    """A node group that is declared no longer."""

    name: NodeGroupName


@dataclass(frozen=True, slots=True)
class GroupOperation:
    """Target size and instances of a group as its driver reports them; `problem` says why not, else it is empty."""

    group: NodeGroupName
    driver: str
    target: int
    instances: tuple[InstanceId, ...]
    problem: str


@dataclass(frozen=True, slots=True)
class Unserved:
    """No driver serves the group; `reason` is a sentence that says why."""

    reason: str


class ClusterObjects(Protocol):
    """The objects of a cluster, as somebody who makes nodes writes them. Both are idempotent."""

    def put(self, obj: Mapping[str, object]) -> None:
        """Create or replace an object, given as Kubernetes JSON."""
        ...

    def delete(self, key: ObjectKey) -> None:
        """Remove an object; nothing happens when it is not there."""
        ...


@dataclass(frozen=True, slots=True)
class NodeMark:
    """Whose a node is: what its labels and its reservation taint say."""

    order: OrderId
    gang: GangId
    group: NodeGroupName
    ordinal: int


class NodeMarker(Protocol):
    """The nodes of a cluster, as somebody who reserves them writes them."""

    async def mark(self, node: NodeName, mark: NodeMark) -> None:
        """Label and taint a node unless it was marked before, by whomever; nothing happens when it is gone.

        Raises TransientError.
        """
        ...


class Drivers(Protocol):
    """Which driver serves which group of one cluster."""

    @property
    def groups(self) -> tuple[NodeGroupName, ...]:
        """Every group ever declared, by name."""
        ...

    def declare(self, declared: DeclaredGroup) -> None:
        """A group exists with this content, from now on."""
        ...

    def withdraw(self, group: NodeGroupName) -> None:
        """A group takes no more orders; what it has can still be given back."""
        ...

    def of(self, group: NodeGroupName) -> NodeGroupDriver | Unserved | None:
        """The driver of a group for orders; None for a group that nobody declared."""
        ...

    def type_of(self, group: NodeGroupName) -> str:
        """Type of driver that a group names; empty for a group that nobody declared."""
        ...

    def keeper_of(self, group: NodeGroupName) -> NodeGroupDriver | None:
        """The driver that knows the instances of a group, also after it was withdrawn."""
        ...
