"""Supplies: stocks with the same patterns in the same domains, as the integer programme counts them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from muster_plan.enumeration import closure, maximal_patterns
from muster_plan.fitter import Fitter
from muster_plan.node_groups import NodeGroup
from muster_plan.patterns import Pattern
from muster_plan.present import present
from muster_plan.stocks import Stock

Cell = tuple[str | None, ...]

MOST_PATTERNS = 400  # per stock; beyond it only the maximal ones are kept


class Detail(Enum):
    """How much of what fits on a node the programme sees."""

    MAXIMAL = "maximal patterns"
    EVERY = "all patterns"
    LOSSES = "all patterns, and what each breaks"


@dataclass(frozen=True, slots=True)
class Supply:
    """`stocks` are in the order in which their nodes are used. A potential one has one stock and its group.

    `nodes` is how many nodes there are at most, `step` how many must be added at once, `units`: each step is a domain
    of its own, at position `unit_key` of the cell.
    """

    stocks: tuple[Stock, ...]
    cell: Cell
    patterns: tuple[Pattern, ...]
    nodes: int
    step: int
    price: Fraction
    unit_key: int | None
    losses: tuple[int, ...]  # per pattern, what it breaks of the node: only where the policy asks
    closed: bool  # whether the patterns are all that fit, not only the maximal ones
    partial: bool = False  # whether the patterns are a selection, to be added to by price

    @property
    def group(self) -> NodeGroup | None:
        return self.stocks[0].group

    @property
    def steps(self) -> int:
        return self.nodes // self.step


def existing_supplies(fitter: Fitter, stocks: Sequence[Stock], detail: Detail) -> tuple[Supply, ...]:
    merged: dict[tuple[Cell, tuple[Pattern, ...], tuple[int, ...], bool, int | None], list[Stock]] = {}
    for stock in stocks:
        patterns, losses, closed = _patterns(fitter, stock, detail)
        if patterns:  # stocks of equal selections may differ in what was left out
            alone = stock.id if stock.id in fitter.partial else None
            merged.setdefault((stock.domains, patterns, losses, closed, alone), []).append(stock)
    return tuple(
        Supply(
            stocks=tuple(same),
            cell=cell,
            patterns=patterns,
            nodes=sum(len(stock.names) for stock in same),
            step=1,
            price=Fraction(0),
            unit_key=None,
            losses=losses,
            closed=closed,
            partial=alone is not None,
        )
        for (cell, patterns, losses, closed, alone), same in merged.items()
    )


def potential_supply(
    fitter: Fitter, stock: Stock, detail: Detail, *, room: int, keys: Sequence[str], most_units: int
) -> Supply | None:
    """What a group can add: `room` nodes at most. None where it can add nothing of use."""
    group = present(stock.group, "the group of a potential stock")
    patterns, losses, closed = _patterns(fitter, stock, detail)
    step = group.step
    unit_key = keys.index(group.domain_label) if group.domain_label in keys else None
    nodes = min(room - room % step, most_units * step)
    if not patterns or nodes <= 0:
        return None
    partial = stock.id in fitter.partial
    return Supply((stock,), stock.domains, patterns, nodes, step, group.price, unit_key, losses, closed, partial)


def with_patterns(fitter: Fitter, supply: Supply, patterns: Sequence[Pattern]) -> Supply:
    """A partial supply with further patterns."""
    known = set(supply.patterns)
    new = tuple(each for each in dict.fromkeys(patterns) if each not in known)
    if not new:
        return supply
    losses = supply.losses
    if losses:
        stock = supply.stocks[0]
        free = fitter.free_devices(stock)
        losses += tuple(_loss(free, fitter, stock, pattern) for pattern in new)
    return replace(supply, patterns=supply.patterns + new, losses=losses)


def _patterns(fitter: Fitter, stock: Stock, detail: Detail) -> tuple[tuple[Pattern, ...], tuple[int, ...], bool]:
    patterns, closed = maximal_patterns(fitter, stock), False
    if detail is not Detail.MAXIMAL and stock.id not in fitter.partial:
        every = closure(fitter, patterns, MOST_PATTERNS)
        if every is not None:
            patterns, closed = every, True
    if detail is not Detail.LOSSES or not patterns:
        return patterns, (), closed
    free = fitter.free_devices(stock)
    return patterns, tuple(_loss(free, fitter, stock, pattern) for pattern in patterns), closed


def _loss(free: int, fitter: Fitter, stock: Stock, pattern: Pattern) -> int:
    """Whole nodes are worth more than their parts: a node with f free devices counts f squared."""
    taken = fitter.devices_taken(stock, pattern)
    if not taken:
        return free if any(pattern.counts) else 0
    return free * free - max(free - taken, 0) ** 2
