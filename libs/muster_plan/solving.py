"""Searching one variant: the objectives of the policy in order, each kept at its least while the next is minimised."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from muster_plan.assembly import Variant
from muster_plan.bounding import relaxed_bound
from muster_plan.building import build_model
from muster_plan.generating import Opening, Unplaced, generate
from muster_plan.model import Model, pods_of, scaled
from muster_plan.policy import Arrangement, Limit, Objective, Policy
from muster_plan.programme import Column, Outcome, Solution
from muster_plan.supplies import Cell, Supply

_NONE: frozenset[Cell] = frozenset()
_SLACK = 0.5  # objectives are whole numbers
_LARGE = 3_000  # columns
_TREE = 1_000_000  # nodes of the tree times columns
_LEAST_TREE = 100
_GAP = 0.01


@dataclass(frozen=True, slots=True)
class Solved:
    """A solved variant. `cost` is exact; `bound` is the proven lower bound of the cost."""

    variant: Variant
    model: Model
    solution: Solution
    cost: Fraction
    bound: Fraction
    new_nodes: int
    optimal: bool


@dataclass(frozen=True, slots=True)
class Unsolved:
    """`gave_up`: the search ended on its budget, so nothing is proven. `clashed`: nodes were found for all pods, but
    not network-attached devices for all nodes together."""

    gave_up: bool
    clashed: bool = False


def solve(variant: Variant, *, unlimited: bool = False) -> Solved | Unsolved:
    """The best plan of a variant by the policy's objectives; without maxima only whether there is one."""
    first = variant.problem.policy.objectives[:2]
    if not unlimited and set(first) == {Objective.COST, Objective.NEW_NODES}:
        # What needs no new node cannot be beaten, and asks nothing about groups.
        free = solve_with(variant, variant.existing_supplies())
        if isinstance(free, Solved):
            return free
    return solve_with(variant, variant.supplies(unlimited=unlimited), any_will_do=unlimited)


def solve_with(
    variant: Variant,
    supplies: tuple[Supply, ...],
    *,
    any_will_do: bool = False,
    roughly: bool = False,
    closed_cells: frozenset[Cell] = _NONE,
) -> Solved | Unsolved:
    """As `solve`, over some of the supplies, with no pod in some cells. `any_will_do`: the first plan that is found;
    `roughly`: a good one."""
    if not could_do(variant, supplies):
        return Unsolved(gave_up=variant.fitter.doubtful)
    policy = variant.problem.policy
    limits = partial(_restrict, policy=None if any_will_do else policy, closed_cells=closed_cells)
    opening: Opening | None = None
    if any(supply.partial for supply in supplies):
        generated = generate(variant, supplies, limits, roughly=roughly, cost=not any_will_do)
        if isinstance(generated, Unplaced):
            return Unsolved(gave_up=variant.fitter.doubtful or not generated.proven)
        opening = generated
        model = opening.model
    else:
        model = build_model(variant.demand, supplies)
        limits(model)
    if any_will_do:
        found = opening.solution if opening is not None else _minimum(variant, model, {})
        if not found.feasible:
            return _unsolved(variant, supplies, found)
        return _solved(variant, model, found, Fraction(0), optimal=False)
    best: Solution | None = None
    bound, optimal = Fraction(0), True
    cost_first = policy.objectives[:1] == (Objective.COST,)
    for weights, scale, is_cost in _stages(variant, model):
        if best is not None and _is_zero(weights, best):
            continue
        if is_cost and cost_first and opening is not None:
            found = opening.solution
        else:
            found = _minimum(variant, model, weights, roughly=roughly or opening is not None)
        if not found.feasible:
            if best is None:
                return _unsolved(variant, supplies, found)
            optimal = False
            break
        if is_cost:
            bound, optimal = Fraction(found.bound) / scale, found.outcome is Outcome.OPTIMAL
        best = found
        if opening is not None and roughly:
            break
        model.programme.row(list(weights.items()), upper=found.objective + _SLACK)
    if best is None:  # nothing to order and no wish: any plan is as good as any other
        best = opening.solution if opening is not None else _minimum(variant, model, {})
        if not best.feasible:
            return _unsolved(variant, supplies, best)
    if opening is not None:
        bound, optimal = opening.bound, False
    if variant.fitter.doubtful:  # the programme did not see everything that fits, so its bound is none
        bound, optimal = relaxed_bound(variant, supplies) or Fraction(0), False
    return _solved(variant, model, best, bound, optimal=optimal)


def _restrict(model: Model, policy: Policy | None, closed_cells: frozenset[Cell]) -> None:
    for (_, cell), column in model.pods.items():
        if model.cells[cell] in closed_cells:
            model.programme.upper[column] = 0
    if policy is not None:
        add_limits(model, policy)


def is_large(model: Model) -> bool:
    return len(model.programme.lower) > _LARGE


def _minimum(variant: Variant, model: Model, weights: Mapping[Column, float], *, roughly: bool = False) -> Solution:
    """The larger a programme, the fewer nodes of its tree; large ones also end within a gap, for their last per cent
    would take most of the time. `roughly`: a good answer will do."""
    nodes = min(variant.problem.policy.mip_nodes, max(_LEAST_TREE, _TREE // max(len(model.programme.lower), 1)))
    if roughly or is_large(model):
        return model.programme.minimum(weights, tree_nodes=min(nodes, _LEAST_TREE), gap=_GAP)
    return model.programme.minimum(weights, tree_nodes=nodes)


def _is_zero(weights: Mapping[Column, float], best: Solution) -> bool:
    """Whether the solution at hand has already the least value that weights of one sign could have."""
    return all(weight >= 0 and not best.values[column] for column, weight in weights.items() if weight)


def _stages(variant: Variant, model: Model) -> Iterator[tuple[dict[Column, float], Fraction, bool]]:
    """What is minimised one after the other: weights, their scale, and whether they are the cost."""
    policy = variant.problem.policy
    for objective in policy.objectives:
        match objective:
            case Objective.COST:
                weights, scale = scaled(model.cost)
                yield weights, scale, True
            case Objective.NEW_NODES:
                yield {column: float(nodes) for column, nodes in model.new_nodes.items()}, Fraction(1), False
            case Objective.USED_NODES:
                yield _used_nodes(model, 1.0), Fraction(1), False
            case Objective.FRAGMENTATION:
                yield _losses(model), Fraction(1), False
    beyond = sorted({kind for kinds, _ in variant.demand.minimums for kind in kinds})
    if beyond:  # as many pods beyond the minimum as fit for free
        yield {column: -1.0 for kind in beyond for column, _ in pods_of(model, kind)}, Fraction(1), False
    if model.preferred:
        yield dict.fromkeys(model.preferred, 1.0), Fraction(1), False
    match policy.arrangement:
        case Arrangement.PACK:
            yield _used_nodes(model, 1.0), Fraction(1), False
        case Arrangement.SPREAD if all(source.supply.closed for source in model.sources):
            yield _used_nodes(model, -1.0), Fraction(1), False
        case _:
            pass


def _used_nodes(model: Model, weight: float) -> dict[Column, float]:
    return {column: weight for source in model.sources for column in source.patterns}


def _losses(model: Model) -> dict[Column, float]:
    return {
        column: float(loss)
        for source in model.sources
        for column, loss in zip(source.patterns, source.supply.losses, strict=True)
    }


def add_limits(model: Model, policy: Policy) -> None:
    """The bounds that a policy sets over groups."""
    for limit in policy.limits:
        _add_limit(model, limit)


def _add_limit(model: Model, limit: Limit) -> None:
    columns = [
        (group, column, nodes)
        for group in sorted(model.ordered)
        if not limit.groups or group in limit.groups
        for column, nodes in model.ordered[group]
    ]
    if limit.max_new_nodes is not None:
        model.programme.row([(column, float(nodes)) for _, column, nodes in columns], upper=limit.max_new_nodes)
    if limit.max_cost is not None:
        model.programme.row([(column, float(model.cost[column])) for _, column, _ in columns], upper=limit.max_cost)
    if limit.max_new_devices is not None:
        devices = [(column, float(nodes * model.devices[group])) for group, column, nodes in columns]
        model.programme.row(devices, upper=limit.max_new_devices)


def could_do(variant: Variant, supplies: tuple[Supply, ...]) -> bool:
    """Whether each kind that must be placed fits somewhere at all: the cheapest no there is."""
    free = {kind for kinds, _ in variant.demand.minimums for kind in kinds}
    for kind in variant.problem.kinds:
        if kind.index not in free and not any(
            pattern.counts[kind.index] for supply in supplies for pattern in supply.patterns
        ):
            return False
    return all(places >= 0 for _, places in variant.demand.consumers)


def _solved(variant: Variant, model: Model, found: Solution, bound: Fraction, *, optimal: bool) -> Solved:
    cost = sum((price * found.whole(column) for column, price in model.cost.items()), Fraction(0))
    return Solved(
        variant=variant,
        model=model,
        solution=found,
        cost=cost,
        bound=cost if optimal else min(bound, cost),
        new_nodes=sum(nodes * found.whole(column) for column, nodes in model.new_nodes.items()),
        optimal=optimal or bound >= cost,
    )


def _unsolved(variant: Variant, supplies: tuple[Supply, ...], found: Solution) -> Unsolved:
    """Where patterns are missing, the relaxation may still prove the no."""
    proven = found.outcome is Outcome.INFEASIBLE and not variant.fitter.incomplete
    if not proven and not variant.fitter.doubtful:
        proven = relaxed_bound(variant, supplies) is None
    return Unsolved(gave_up=not proven)
