"""The integer programme of a gang and the meaning of its columns.

Columns: `x` nodes of a supply with a pattern, `n` pods of a kind in a cell (a combination of domain values), `y` steps
of a supply that grows by more than one node, and one whole number for each choice that a topology constraint leaves.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd

from muster_plan.domains import Topologies
from muster_plan.gang import Gang
from muster_plan.kinds import Kind
from muster_plan.patterns import Flags
from muster_plan.programme import Column, Programme
from muster_plan.supplies import Cell, Supply

UNIT = "\0unit"
"""Begins the value of a domain label that only a new unit will bring; no label has such a value."""


Cap = tuple[tuple[int, ...], str, str, int]
"""Kinds, label key, value: at most so many of their pods in that domain."""


@dataclass(frozen=True, slots=True)
class Source:
    """A supply, or one unit of it that forms a domain of its own, and its columns."""

    supply: Supply
    unit: int | None
    cell: Cell
    patterns: tuple[Column, ...]
    steps: Column | None


@dataclass(slots=True)
class Model:
    """The programme with the meaning of its columns. `cost` and `new_nodes` are objectives; `ordered` are
    the columns of each group with the nodes that one of them stands for."""

    programme: Programme
    sources: list[Source] = field(default_factory=list[Source])
    cells: list[Cell] = field(default_factory=list[Cell])
    pods: dict[tuple[int, int], Column] = field(default_factory=dict[tuple[int, int], Column])  # kind, cell
    cost: dict[Column, Fraction] = field(default_factory=dict[Column, Fraction])
    new_nodes: dict[Column, int] = field(default_factory=dict[Column, int])
    ordered: dict[str, list[tuple[Column, int]]] = field(default_factory=dict[str, list[tuple[Column, int]]])
    preferred: list[Column] = field(default_factory=list[Column])  # 1 where a domain of a preferred topology is used
    devices: dict[str, int] = field(default_factory=dict[str, int])  # promised devices of a node, by group
    room: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])  # row by kind and cell
    missing: list[Column] = field(default_factory=list[Column])  # pods without a place, where that is allowed


@dataclass(frozen=True, slots=True)
class Demand:
    """What has to be placed. `minimums`: kinds of which at least so many pods together; the others completely."""

    gang: Gang
    kinds: tuple[Kind, ...]
    flags: Flags
    topologies: Topologies
    minimums: tuple[tuple[tuple[int, ...], int], ...]
    consumers: tuple[tuple[tuple[int, ...], int], ...]  # kinds that consume a claim directly, places left in it
    caps: tuple[Cap, ...] = ()


def pods_of(model: Model, kind: int, cells: Iterable[int] | None = None) -> list[tuple[Column, float]]:
    """The pods of a kind, in some cells or in all."""
    wanted = range(len(model.cells)) if cells is None else cells
    return [(model.pods[kind, cell], 1.0) for cell in wanted if (kind, cell) in model.pods]


def scaled(cost: Mapping[Column, Fraction]) -> tuple[dict[Column, float], Fraction]:
    """Costs as whole numbers where they fit, and the factor that was used."""
    factor = 1
    for each in cost.values():
        factor = factor * each.denominator // gcd(factor, each.denominator)
    largest = max((each * factor for each in cost.values()), default=Fraction(0))
    scale = Fraction(factor) if largest <= 10**9 else Fraction(10**6) / max(cost.values())
    return {column: float(each * scale) for column, each in cost.items()}, scale
