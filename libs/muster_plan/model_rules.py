"""Topology rules as rows of a gang's integer programme."""

from collections.abc import Sequence

from muster_plan.affinity import Near
from muster_plan.domains import Scope, SpreadRule
from muster_plan.kinds import Kind
from muster_plan.model import Demand, Model, pods_of
from muster_plan.programme import Column
from muster_plan.supplies import Supply


def add_topologies(model: Model, demand: Demand) -> None:
    """Required domains, slices, pods apart, spread."""
    keys = demand.topologies.keys
    for scope in demand.topologies.scopes:
        if scope.key in keys:
            _add_scope(model, demand, keys.index(scope.key), scope)
    for layer in demand.topologies.layers:
        _forbid_outside(model, layer.kind, keys.index(layer.key))
        for _, cells in _domains(model, keys.index(layer.key)):
            terms = pods_of(model, layer.kind, cells)
            if terms:
                slices = model.programme.column(0, demand.kinds[layer.kind].count // layer.size)
                model.programme.row([*terms, (slices, -float(layer.size))], lower=0, upper=0)
    for apart in demand.topologies.apart:
        _add_apart(model, demand, keys.index(apart.key), apart.first, apart.second)
    for near in demand.topologies.near:
        _add_near(model, demand, keys.index(near.key), near)
    for scope in demand.topologies.preferred:
        _add_preferred(model, demand, keys.index(scope.key), scope)
    for kinds, key, value, most in demand.caps:
        cells = [index for index, cell in enumerate(model.cells) if cell[keys.index(key)] == value]
        model.programme.row([term for kind in kinds for term in pods_of(model, kind, cells)], upper=most)
    for spread in demand.topologies.spreads:
        if spread.rule.topology_key in keys:
            _add_spread(model, demand, keys.index(spread.rule.topology_key), spread)


def _add_scope(model: Model, demand: Demand, position: int, scope: Scope) -> None:
    kinds = scope.kinds
    chosen: list[tuple[Column, float]] = []
    for kind in kinds:
        _forbid_outside(model, kind, position)
    for value, cells in _domains(model, position):
        if not any(pods_of(model, kind, cells) for kind in kinds):
            continue
        here = model.programme.column(0, 1 if scope.pinned is None or value in scope.pinned else 0)
        chosen.append((here, 1.0))
        for kind in kinds:
            terms = pods_of(model, kind, cells)
            if terms:
                model.programme.row([*terms, (here, -float(demand.kinds[kind].count))], upper=0)
    model.programme.row(chosen, upper=1)


def _add_near(model: Model, demand: Demand, position: int, near: Near) -> None:
    _forbid_outside(model, near.kind, position)
    programme, roots = model.programme, list[tuple[Column, float]]()
    whole = float(demand.kinds[near.kind].count)
    for value, cells in _domains(model, position):
        own = pods_of(model, near.kind, cells)
        if not own or value in near.existing:
            continue
        company = [term for other in near.others for term in pods_of(model, other, cells)]
        there = programme.column(0, 1)
        programme.row([(there, 1.0), *((column, -1.0) for column, _ in company)], upper=0)
        allowed = [(there, -whole)]
        if near.own and not near.existing:
            root = programme.column(0, 1)
            roots.append((root, 1.0))
            allowed.append((root, -whole))
        programme.row([*own, *allowed], upper=0)
    if roots:
        programme.row(roots, upper=1)


def _add_preferred(model: Model, demand: Demand, position: int, scope: Scope) -> None:
    """Columns that say which domains are used; the fewer the better, after all objectives."""
    total = float(sum(demand.kinds[kind].count for kind in scope.kinds))
    found = [cells for _, cells in _domains(model, position)]
    outside = [index for index, cell in enumerate(model.cells) if cell[position] is None]
    for cells in (*found, *([index] for index in outside)):
        terms = [term for kind in scope.kinds for term in pods_of(model, kind, cells)]
        if terms:
            used = model.programme.column(0, 1)
            model.programme.row([*terms, (used, -total)], upper=0)
            model.preferred.append(used)


def _forbid_outside(model: Model, kind: int, position: int) -> None:
    """A node without the label is in no domain."""
    for index, cell in enumerate(model.cells):
        if cell[position] is None and (kind, index) in model.pods:
            model.programme.upper[model.pods[kind, index]] = 0


def _domains(model: Model, position: int) -> list[tuple[str, list[int]]]:
    found: dict[str, list[int]] = {}
    for index, cell in enumerate(model.cells):
        value = cell[position]
        if value is not None:
            found.setdefault(value, []).append(index)
    return sorted(found.items())


def _add_apart(model: Model, demand: Demand, position: int, first: int, second: int) -> None:
    for _, cells in _domains(model, position):
        if first == second:
            model.programme.row(pods_of(model, first, cells), upper=1)
            continue
        there: list[tuple[Column, float]] = []
        for kind in (first, second):
            terms = pods_of(model, kind, cells)
            if terms:
                present = model.programme.column(0, 1)
                model.programme.row([*terms, (present, -float(demand.kinds[kind].count))], upper=0)
                there.append((present, 1.0))
        model.programme.row(there, upper=1)


def _add_spread(model: Model, demand: Demand, position: int, spread: SpreadRule) -> None:
    """A plan is right iff every domain that gets a pod ends within the skew of the emptiest: filling the emptiest first
    keeps each step within it, and the last pod of a domain cannot be placed otherwise."""
    programme, rule = model.programme, spread.rule
    _forbid_outside(model, spread.kind, position)
    kind = demand.kinds[spread.kind]
    most = sum(demand.kinds[other].count for other in spread.counted) + max(spread.base.values(), default=0)
    emptiest = programme.column(0, most)
    found = dict(_domains(model, position))
    if len(spread.base) < rule.min_domains:
        programme.upper[emptiest] = 0
    for value in sorted({*found, *spread.base}):
        cells = found.get(value, [])
        counted = [term for other in spread.counted for term in pods_of(model, other, cells)]
        base = float(spread.base.get(value, 0))
        if value in spread.base:
            programme.row([*counted, (emptiest, -1.0)], lower=-base)
        else:
            nodes = _nodes_that_count(model, cells, kind)
            if nodes:
                real = programme.column(0, 1)
                programme.row([*nodes, (real, -float(sum(supply.nodes for supply in _of(model, cells))))], upper=0)
                programme.row([*counted, (emptiest, -1.0), (real, -float(most))], lower=-float(most))
        own = pods_of(model, spread.kind, cells)
        if own:
            used = programme.column(0, 1)
            programme.row([*own, (used, -float(kind.count))], upper=0)
            programme.row([*counted, (emptiest, -1.0), (used, float(most))], upper=rule.max_skew - base + most)


def _nodes_that_count(model: Model, cells: Sequence[int], kind: Kind) -> list[tuple[Column, float]]:
    """New nodes that make a domain exist for a kind: those its selector and affinity accept."""
    wanted = {model.cells[cell] for cell in cells}
    found: list[tuple[Column, float]] = []
    for source in model.sources:
        potential = source.supply.stocks[0].potential
        if potential is None or source.cell not in wanted:
            continue
        if kind.spec.accepts_labels(potential.node.labels, None):
            step = float(source.supply.step)
            found.extend([(source.steps, step)] if source.steps is not None else [(c, 1.0) for c in source.patterns])
    return found


def _of(model: Model, cells: Sequence[int]) -> list[Supply]:
    wanted = {model.cells[cell] for cell in cells}
    return [source.supply for source in model.sources if source.supply.group is not None and source.cell in wanted]
