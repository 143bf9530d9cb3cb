"""What would be possible with one rule less: the means to say which rule is the tightest, and by how much."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from muster_plan.assembly import Variant
from muster_plan.building import build_model
from muster_plan.domains import Topologies
from muster_plan.model import Model
from muster_plan.programme import Column, Solution
from muster_plan.solving import add_limits, could_do
from muster_types import NodeGroupName


class Rule(Enum):
    """A family of rules that can be left out."""

    DOMAIN = "domain"
    SLICES = "slices"
    SPREAD = "spread"
    ANTI_AFFINITY = "anti-affinity"
    AFFINITY = "affinity"
    NETWORK = "network-attached devices"
    CONSUMERS = "consumers"
    ONE_NODE = "one node"


@dataclass(frozen=True, slots=True)
class Most:
    """The most pods that can be placed at once, by kind, and the domain that takes them where one is required."""

    by_kind: tuple[int, ...]
    domain: str

    @property
    def pods(self) -> int:
        return sum(self.by_kind)


def most_placed(variant: Variant, *, unlimited: bool) -> Most:
    """How many pods fit at best when not all have to."""
    everything = tuple(kind.index for kind in variant.problem.kinds)
    demand = replace(variant.demand, minimums=((everything, 0),))
    model = build_model(demand, variant.supplies(unlimited=unlimited))
    if not unlimited:
        add_limits(model, variant.problem.policy)
    weights: dict[Column, float] = dict.fromkeys(model.pods.values(), -1.0)
    found = model.programme.minimum(weights, tree_nodes=variant.problem.policy.mip_nodes)
    if not found.feasible:
        return Most(tuple(0 for _ in everything), "")
    counts = [0 for _ in everything]
    for (kind, _), column in model.pods.items():
        counts[kind] += found.whole(column)
    return Most(tuple(counts), _domain(variant, model, found))


def feasible_without(variant: Variant, rule: Rule, *, unlimited: bool) -> bool:
    """Whether leaving out one family of rules makes a plan possible."""
    topologies = variant.demand.topologies
    less = variant.demand
    match rule:
        case Rule.DOMAIN:
            less = replace(less, topologies=replace(topologies, scopes=()))
        case Rule.SLICES:
            less = replace(less, topologies=replace(topologies, layers=()))
        case Rule.SPREAD:
            less = replace(less, topologies=replace(topologies, spreads=()))
        case Rule.ANTI_AFFINITY:
            less = replace(less, topologies=replace(topologies, apart=()))
        case Rule.AFFINITY:
            less = replace(less, topologies=replace(topologies, near=()))
        case Rule.NETWORK:
            less = replace(less, caps=())
        case Rule.CONSUMERS:
            less = replace(less, consumers=())
        case Rule.ONE_NODE:
            return False
    if less == variant.demand:
        return False
    keys = variant.demand.topologies.keys
    if less.topologies.keys != keys:  # cells keep their shape, so the keys must stay
        less = replace(less, topologies=_with_keys(less.topologies, keys))
    supplies = variant.supplies(unlimited=unlimited)
    if not could_do(variant, supplies):
        return False
    model = build_model(less, supplies)
    if not unlimited:
        add_limits(model, variant.problem.policy)
    return model.programme.minimum({}, tree_nodes=variant.problem.policy.mip_nodes).feasible


@dataclass(frozen=True, slots=True)
class Excess:
    """A group that would have to grow beyond its maximum: nodes wanted in all, and its room today."""

    group: NodeGroupName
    nodes: int
    room: int


def least_excess(variant: Variant) -> tuple[Excess, ...]:
    """The least number of nodes beyond all maxima that would make the plan possible, by group."""
    problem = variant.problem
    model = build_model(variant.demand, variant.supplies(unlimited=True))
    rooms: dict[str, int] = {}
    for stock in variant.potential:
        group = stock.group
        if group is not None:
            excluded = group.name in problem.policy.excluded_groups
            rooms[group.name] = 0 if excluded else max(group.room - problem.snapshot.pending_nodes(group.name), 0)
    beyond: dict[Column, float] = {}
    for name in sorted(model.ordered):
        over = model.programme.column(0, problem.pods * max(nodes for _, nodes in model.ordered[name]))
        terms = [(column, float(nodes)) for column, nodes in model.ordered[name]]
        model.programme.row([*terms, (over, -1.0)], upper=rooms[name])
        beyond[over] = 1.0
    found = model.programme.minimum(beyond, tree_nodes=problem.policy.mip_nodes)
    if not found.feasible:
        return ()
    wanted = ordered_nodes(model, found)
    return tuple(
        Excess(NodeGroupName(name), wanted[name], rooms[name]) for name in sorted(wanted) if wanted[name] > rooms[name]
    )


def ordered_nodes(model: Model, found: Solution) -> Mapping[str, int]:
    return {
        name: sum(nodes * found.whole(column) for column, nodes in columns) for name, columns in model.ordered.items()
    }


def _domain(variant: Variant, model: Model, found: Solution) -> str:
    """The domains in which pods of a required scope were placed."""
    texts: list[str] = []
    keys = variant.demand.topologies.keys
    for scope in variant.demand.topologies.scopes:
        if scope.key not in keys:
            continue
        position = keys.index(scope.key)
        values = {
            model.cells[cell][position]
            for (kind, cell), column in model.pods.items()
            if kind in scope.kinds and found.whole(column)
        }
        texts += [f"{scope.key}={value}" for value in sorted(value for value in values if value)]
    return ", ".join(dict.fromkeys(texts))


def _with_keys(topologies: Topologies, keys: tuple[str, ...]) -> Topologies:
    return replace(topologies, kept=keys)
