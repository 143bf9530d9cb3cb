"""The states of a gang (docs/saga.md); every one after New carries the saga."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from muster_gang_coordinator.domain.events import EndState
from muster_gang_coordinator.domain.plans import ArrivedNode, NoPlanKind, Placement, Reason
from muster_gang_coordinator.domain.saga import Saga
from muster_types import NodeName


@dataclass(frozen=True, slots=True)
class New:
    """Nobody asked for this gang."""


@dataclass(frozen=True, slots=True)
class Received:
    """Asked for; objects that the request names are waited for."""

    saga: Saga


@dataclass(frozen=True, slots=True)
class Planning:
    """The ledger was asked to plan and book. `cause` says why again."""

    saga: Saga
    cause: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """No plan now, nothing held; a helpful change leads to the next attempt."""

    saga: Saga
    kind: NoPlanKind
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Booked:
    """Every member has its place; passed through within one decision."""

    saga: Saga


@dataclass(frozen=True, slots=True)
class Ordered:
    """New nodes are asked for and no answer came yet."""

    saga: Saga
    node_deadline: datetime
    device_deadline: datetime


@dataclass(frozen=True, slots=True)
class Arriving:
    """Nodes are on their way."""

    saga: Saga
    node_deadline: datetime
    device_deadline: datetime


@dataclass(frozen=True, slots=True)
class Verifying:
    """Allocation runs again on what is there."""

    saga: Saga
    nodes: tuple[ArrivedNode, ...]
    doubted: frozenset[NodeName] = frozenset()


@dataclass(frozen=True, slots=True)
class Ready:
    """Offered; the booking clock runs. `doubted` are nodes whose pools changed since they were last verified."""

    saga: Saga
    placements: tuple[Placement, ...]
    details: tuple[tuple[str, str], ...]
    ready_time: datetime
    booking_deadline: datetime
    doubted: frozenset[NodeName] = frozenset()


@dataclass(frozen=True, slots=True)
class Held:
    """The request is gone; what has arrived waits until `deadline` for the workload's next attempt."""

    saga: Saga
    reasons: tuple[Reason, ...]
    deadline: datetime


@dataclass(frozen=True, slots=True)
class Consumed:
    """Every member is bound. The end of a gang that got its capacity."""

    saga: Saga
    placements: tuple[Placement, ...]
    details: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Compensating:
    """Everything taken is on its way back."""

    saga: Saga
    end_state: EndState
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """Nothing of the gang is left; what still arrives is an orphan."""

    saga: Saga
    end_state: EndState
    reasons: tuple[Reason, ...]


InProgress: TypeAlias = Ordered | Arriving
Live: TypeAlias = Received | Planning | Waiting | Booked | Ordered | Arriving | Verifying | Ready | Held
Over: TypeAlias = Consumed | Compensating | Ended
Known: TypeAlias = Live | Over
Gang: TypeAlias = New | Known
