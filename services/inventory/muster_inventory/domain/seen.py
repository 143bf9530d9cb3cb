"""What the cluster shows, in the inventory's terms, and where each fact came from."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import NewType

from muster_dra.objects.claims import ResourceClaim
from muster_dra.objects.slices import ResourceSlice
from muster_inventory.domain.node import Purpose, Readiness
from muster_inventory.domain.node_group import Declaration
from muster_plan.node_groups import NodeGroup
from muster_plan.nodes import ClusterNode
from muster_types import NodeGroupName, ObjectKey

ProblemId = NewType("ProblemId", str)  # who lists, and which of its problems


@dataclass(frozen=True, slots=True)
class Origin:
    """The fact that something follows from: its id, its story, when it was observed."""

    id: str
    correlation_id: str
    time: datetime


@dataclass(frozen=True, slots=True)
class NodeSeen:
    """A Node. `group_label` is the group that its label names; a selector may put it into a group all the same."""

    node: ClusterNode
    readiness: Readiness
    group_label: NodeGroupName | None
    purpose: Purpose | None


@dataclass(frozen=True, slots=True)
class GroupSeen:
    """A NodeGroup: what it declares, what that means, and the pools (by driver) and devices a new node is to show."""

    declaration: Declaration
    group: NodeGroup
    promised_pools: Mapping[str, int]
    promised_devices: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An object that the cluster shows and that cannot be read: the field, and why."""

    field: str
    reason: str


Seen = NodeSeen | GroupSeen | ResourceSlice | ResourceClaim | Unreadable


class Severity(Enum):
    """An error takes the input out; a warning leaves the object in."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with an input. `source` is a file, an API path, or `observed`: it came as an object."""

    source: str
    object: str
    field: str
    reason: str
    severity: Severity = Severity.ERROR

    @property
    def rank(self) -> tuple[bool, str, str, str, str]:
        """Problems are told in this order, errors first."""
        return self.severity is Severity.WARNING, self.source, self.object, self.field, self.reason


@dataclass(frozen=True, slots=True)
class ObjectSeen:
    key: ObjectKey
    seen: Seen


@dataclass(frozen=True, slots=True)
class ObjectPassed:
    """An object of a kind that the inventory does not keep."""

    key: ObjectKey


@dataclass(frozen=True, slots=True)
class ObjectGone:
    key: ObjectKey


@dataclass(frozen=True, slots=True)
class InputRejected:
    """`id` stays the same while the fault does, wherever it moves to within its source."""

    id: ProblemId
    problem: Problem


@dataclass(frozen=True, slots=True)
class InputMended:
    id: ProblemId


@dataclass(frozen=True, slots=True)
class ListCompleted:
    """Everything that the source holds has been reported at least once."""

    source: str


Fact = ObjectSeen | ObjectPassed | ObjectGone | InputRejected | InputMended | ListCompleted
