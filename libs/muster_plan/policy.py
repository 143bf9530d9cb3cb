"""What a good plan is, as data."""

from dataclasses import dataclass
from enum import Enum

from muster_types import NodeGroupName


class Objective(Enum):
    """One thing to keep small. A policy lists them in order; an earlier one is never traded for a later one."""

    COST = "cost"
    NEW_NODES = "new nodes"
    USED_NODES = "nodes used"
    FRAGMENTATION = "fragmentation"


class Arrangement(Enum):
    """Where pods go among nodes that are equally good by the objectives."""

    ANY = "any"
    PACK = "pack"
    SPREAD = "spread"


class FirstFit(Enum):
    """What to do with a plan that the scheduler's own choices could spoil (trap T39)."""

    PIN = "pin"
    REPLACE = "replace"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound over the new nodes of some groups together; empty `groups` means all. None: no bound."""

    name: str
    groups: frozenset[NodeGroupName] = frozenset()
    max_new_nodes: int | None = None
    max_new_devices: int | None = None
    max_cost: float | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """`assume_labels`: keys of labels that appear only after boot and may be ordered for and verified on arrival.

    `mip_nodes` bounds the search of one integer programme in nodes of its tree (a number, not a time, so that the
    same input has the same answer); beyond it the best plan so far is returned with its bound.
    """

    objectives: tuple[Objective, ...] = (Objective.COST, Objective.NEW_NODES)
    arrangement: Arrangement = Arrangement.ANY
    excluded_groups: frozenset[NodeGroupName] = frozenset()
    assume_labels: frozenset[str] = frozenset()
    limits: tuple[Limit, ...] = ()
    first_fit: FirstFit = FirstFit.PIN
    alternatives: int = 3
    mip_nodes: int = 20_000
    use_existing: bool = True


CHEAPEST = Policy()
PREFER_EXISTING = Policy(objectives=(Objective.NEW_NODES, Objective.COST))
FEWEST_NODES = Policy(objectives=(Objective.USED_NODES, Objective.COST, Objective.NEW_NODES))
LEAST_FRAGMENTATION = Policy(objectives=(Objective.COST, Objective.NEW_NODES, Objective.FRAGMENTATION))
