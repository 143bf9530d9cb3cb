"""A pool: the devices that one driver publishes under one name (group-capacity §8.3, rules V1 to V6)."""

from dataclasses import dataclass
from enum import Enum

from muster_decider import CorruptHistory, Decider
from muster_dra.objects.slices import PoolId
from muster_types import NodeName


class PoolState(Enum):
    """Only a complete pool gives devices to claims (V3, V4)."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why a pool gives no devices: a code for programs, a sentence for people."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool at its newest generation. `node` is None for pools that several nodes see; `flaw` is None if complete."""

    id: PoolId
    state: PoolState
    generation: int
    device_count: int
    node: NodeName | None
    flaw: Flaw | None = None


@dataclass(frozen=True, slots=True)
class RecordPool:
    pool: Pool


@dataclass(frozen=True, slots=True)
class RecordPoolGone:
    id: PoolId


PoolCommand = RecordPool | RecordPoolGone


@dataclass(frozen=True, slots=True)
class PoolChanged:
    pool: Pool


@dataclass(frozen=True, slots=True)
class PoolGone:
    id: PoolId


PoolEvent = PoolChanged | PoolGone


def decide(command: PoolCommand, pool: Pool | None) -> list[PoolEvent]:
    match command:
        case RecordPool(seen) if seen != pool:
            return [PoolChanged(seen)]
        case RecordPoolGone(id) if pool is not None:
            return [PoolGone(id)]
        case _:
            return []  # nothing changed


def evolve(pool: Pool | None, event: PoolEvent) -> Pool | None:
    match event:
        case PoolChanged(seen):
            return seen
        case PoolGone() if pool is not None:
            return None
        case _:
            raise CorruptHistory(pool, event)


POOL: Decider[PoolCommand, Pool | None, PoolEvent] = Decider(None, decide, evolve)
