"""Builds a gang's integer programme: nodes of each supply by pattern, pods by domain, orders by unit."""

from collections.abc import Iterable, Sequence
from math import inf

from muster_plan.model import UNIT, Demand, Model, Source, pods_of
from muster_plan.model_rules import add_topologies
from muster_plan.present import present
from muster_plan.programme import Column, Programme, Terms
from muster_plan.supplies import Cell, Supply


def build_model(demand: Demand, supplies: Sequence[Supply], *, elastic: bool = False) -> Model:
    """`elastic`: pods may be missing, each counted in a column of `missing`."""
    model = Model(Programme())
    for supply in supplies:
        _add_supply(model, supply)
    model.cells = sorted({source.cell for source in model.sources}, key=_order)
    place = {cell: index for index, cell in enumerate(model.cells)}
    room: dict[tuple[int, int], list[tuple[Column, float]]] = {}
    for source in model.sources:
        for pattern, column in zip(source.supply.patterns, source.patterns, strict=True):
            for kind, count in enumerate(pattern.counts):
                if count:
                    room.setdefault((kind, place[source.cell]), []).append((column, float(count)))
    exact = bool(supplies) and all(supply.closed for supply in supplies)
    for (kind, cell), terms in sorted(room.items()):
        column = model.programme.column(0, demand.kinds[kind].count)
        model.pods[kind, cell] = column
        row = model.programme.row([*terms, (column, -1.0)], lower=0, upper=0.0 if exact else inf)
        model.room[kind, cell] = row
        size = demand.kinds[kind].slice_size
        if size > 1:
            whole = model.programme.column(0, demand.kinds[kind].count // size)
            model.programme.row([(column, 1.0), (whole, -float(size))], lower=0, upper=0)
    _add_flags(model, demand)
    _add_counts(model, demand, elastic=elastic)
    add_topologies(model, demand)
    return model


def _add_supply(model: Model, supply: Supply) -> None:
    programme = model.programme
    if supply.unit_key is not None:
        _add_units(model, supply, supply.unit_key)
        return
    group = supply.group
    limit = float(supply.nodes)
    columns = tuple(programme.column(0, limit) for _ in supply.patterns)
    total: Terms = [(column, 1.0) for column in columns]
    steps: Column | None = None
    if supply.step > 1:
        steps = programme.column(0, supply.steps)
        programme.row([*total, (steps, -float(supply.step))], upper=0)
        _charge(model, supply, [(steps, supply.step)])
    else:
        programme.row(total, upper=limit)
        if group is not None:
            _charge(model, supply, [(column, 1) for column in columns])
    model.sources.append(Source(supply, None, supply.cell, columns, steps))


def _add_units(model: Model, supply: Supply, position: int) -> None:
    """Every unit is a domain of its own; units are alike, so they are taken in order."""
    programme, before = model.programme, None
    for unit in range(supply.steps):
        columns = tuple(programme.column(0, supply.step) for _ in supply.patterns)
        taken = programme.column(0, 1)
        programme.row([*((column, 1.0) for column in columns), (taken, -float(supply.step))], upper=0)
        if before is not None:
            programme.row([(before, 1.0), (taken, -1.0)], lower=0)
        before = taken
        cell = (*supply.cell[:position], unit_value(supply, unit), *supply.cell[position + 1 :])
        _charge(model, supply, [(taken, supply.step)])
        model.sources.append(Source(supply, unit, cell, columns, taken))


def unit_value(supply: Supply, unit: int) -> str:
    """The value that the unit's domain label will have: nobody knows it, so a name that no label can have."""
    return f"{UNIT}/{present(supply.group, 'the group of a unit').name}/{unit}"


def _charge(model: Model, supply: Supply, columns: Iterable[tuple[Column, int]]) -> None:
    group = present(supply.group, "the group of an order")
    promise = present(supply.stocks[0].potential, "the promise of a group").promise
    model.devices[group.name] = sum(len(each.devices) for each in promise.slices if not each.holds_counters)
    for column, nodes in columns:
        model.cost[column] = supply.price * nodes
        model.new_nodes[column] = nodes
        model.ordered.setdefault(group.name, []).append((column, nodes))


def _add_flags(model: Model, demand: Demand) -> None:
    for flag in range(len(demand.flags.claims)):
        terms = [
            (column, 1.0)
            for source in model.sources
            for pattern, column in zip(source.supply.patterns, source.patterns, strict=True)
            if flag in pattern.flags
        ]
        if terms:
            model.programme.row(terms, upper=1)


def _add_counts(model: Model, demand: Demand, *, elastic: bool) -> None:
    def missing(most: float) -> list[tuple[Column, float]]:
        if not elastic:
            return []
        model.missing.append(model.programme.column(0, most))
        return [(model.missing[-1], 1.0)]

    free: set[int] = set()
    for kinds, least in demand.minimums:
        free.update(kinds)
        model.programme.row([term for kind in kinds for term in pods_of(model, kind)] + missing(least), lower=least)
    for kind in demand.kinds:
        whole = float(kind.count)
        if kind.index in free:
            model.programme.row(pods_of(model, kind.index), upper=whole)
        else:
            model.programme.row(pods_of(model, kind.index) + missing(whole), lower=whole, upper=whole)
    for kinds, places in demand.consumers:
        model.programme.row([term for kind in kinds for term in pods_of(model, kind)], upper=places)


def _order(cell: Cell) -> tuple[tuple[bool, str], ...]:
    return tuple((value is not None, value or "") for value in cell)
