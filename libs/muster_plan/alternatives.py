"""Other ways that were considered, with their cost and why they lost."""

from collections.abc import Iterator

from muster_plan.assembly import Problem, Variant
from muster_plan.details import readable
from muster_plan.plan_types import Alternative, GroupOrder, Lost
from muster_plan.relaxing import ordered_nodes
from muster_plan.solving import Solved, Unsolved, is_large, solve_with
from muster_plan.supplies import Cell, Supply
from muster_types import NodeGroupName


def alternatives_of(problem: Problem, best: Solved) -> tuple[Alternative, ...]:
    """Up to `policy.alternatives`: without each group the plan orders from, then in another domain, then with one other
    group alone."""
    found: list[Alternative] = []
    if not problem.policy.alternatives or not (best.new_nodes or best.variant.demand.topologies.scopes):
        return ()
    if is_large(best.model):  # each of them would take as long as the plan
        return ()
    variant = best.variant
    supplies = variant.supplies(unlimited=False)
    for label, some, closed in _ways(variant, supplies, best):
        if len(found) >= problem.policy.alternatives:
            break
        found.append(_compared(label, solve_with(variant, some, roughly=True, closed_cells=closed), best))
    return tuple(found)


def _ways(
    variant: Variant, supplies: tuple[Supply, ...], best: Solved
) -> Iterator[tuple[str, tuple[Supply, ...], frozenset[Cell]]]:
    ordered = {name for name, count in ordered_nodes(best.model, best.solution).items() if count}
    for name in sorted(ordered):
        rest = tuple(each for each in supplies if each.group is None or each.group.name != name)
        yield f"without group {name}", rest, frozenset()
    keys = variant.demand.topologies.keys
    for scope in variant.demand.topologies.scopes:
        if scope.key not in keys:
            continue
        position = keys.index(scope.key)
        used = {
            best.model.cells[cell]
            for (kind, cell), column in best.model.pods.items()
            if kind in scope.kinds and best.solution.whole(column)
        }
        values = {cell[position] for cell in used}
        closed = frozenset(cell for cell in best.model.cells if cell[position] in values)
        names = ", ".join(readable(value) for value in sorted(value for value in values if value))
        yield f"another domain of {scope.key} than {names}", supplies, closed
    for supply in supplies:
        group = supply.group
        if group is not None and group.name not in ordered and ordered:
            some = tuple(each for each in supplies if each.group is None or each.group is group)
            yield f"group {group.name} alone", some, frozenset()


def _compared(label: str, found: Solved | Unsolved, best: Solved) -> Alternative:
    if isinstance(found, Unsolved):
        why = "the search gave up" if found.gave_up else "not all pods can be placed"
        return Alternative(label, (), 0.0, 0, Lost.NOT_FEASIBLE, why)
    nodes = ordered_nodes(found.model, found.solution)
    orders = tuple(GroupOrder(NodeGroupName(name), nodes[name]) for name in sorted(nodes) if nodes[name])
    cost, here = float(found.cost), float(best.cost)
    if cost > here:
        lost, why = Lost.COSTLIER, f"costs {cost:g} instead of {here:g}"
    elif found.new_nodes > best.new_nodes:
        lost, why = Lost.MORE_NODES, f"needs {found.new_nodes} new nodes instead of {best.new_nodes}"
    else:
        lost, why = Lost.EQUAL, Lost.EQUAL.value
    return Alternative(label, orders, cost, found.new_nodes, lost, why)
