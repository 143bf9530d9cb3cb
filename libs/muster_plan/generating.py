"""Column generation: patterns of nodes with too many of them are made by price until none is worth having, which also
proves a bound of the cost over all patterns (docs/decisions/0003-planner-solver.md).

The programme without whole numbers prices every pod; a pattern that is worth more than its node costs joins. When there
is none, the relaxed cost is a lower bound. A pattern whose reduced cost exceeds the distance between a known plan and
that bound is in no better plan, so what lies within is all that an exact search has to see.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, gcd, inf

from muster_plan.assembly import Variant
from muster_plan.bounding import relaxed_bound
from muster_plan.building import build_model
from muster_plan.model import Model, Source, scaled
from muster_plan.patterns import Pattern
from muster_plan.pricing import Priced, Pricer
from muster_plan.programme import Column, Outcome, Relaxed, Solution
from muster_plan.supplies import Supply, with_patterns

_ROUNDS = 60
_STEPS = 60_000  # of all pricings of one search together
_QUICK = 60  # steps of one pricing that only looks for a pattern worth having
_LONG = 6_000  # steps of one pricing that proves there is none
_KEPT = 3  # patterns of one pricing that join
_WITHIN = 15_000  # steps of all pricings of `within`
_EVERY = 800  # patterns within the distance, beyond which the exact search is left out
_TREE = 200  # nodes of the tree of one search
_ROUGH_TREE = 10
_GAP = 0.006  # relative distance to the bound that is good enough for a large gang
_SMALL = 300  # columns up to which the search goes on to the end
_TINY = 1e-6


Limits = Callable[[Model], None]


class Generator:
    """Generates for one variant over some supplies; `limits` adds rows that bound what is ordered."""

    def __init__(self, variant: Variant, supplies: Sequence[Supply], limits: Limits) -> None:
        self._variant, self._limits = variant, limits
        self._supplies = list(supplies)
        for index, supply in enumerate(supplies):
            if supply.partial:
                known = variant.generated.get(supply.stocks[0].id, ())
                self._supplies[index] = with_patterns(variant.fitter, supply, known)
        self._steps = _STEPS
        self._fewest = 0.0

    def run(self, *, cost: bool, roughly: bool) -> float | None:
        """First until every pod has a place, then, with `cost`, until it is cheapest: the proven least cost in units of
        `scale` (see `scaled`), None where no plan exists at all. `roughly`: without a proof."""
        missing = self._converge(lambda model: dict.fromkeys(model.missing, 1.0), elastic=True, roughly=roughly)
        if missing > _TINY:
            return None
        if not cost:
            return 0.0
        nodes = self._converge(_new_nodes, elastic=False, roughly=roughly)
        if nodes > _TINY:  # nodes come whole, which the relaxed cost does not see
            self._fewest = rounded_up(nodes, _new_nodes(build_model(self._variant.demand, self._supplies)))
        return self._converge(lambda model: scaled(model.cost)[0], elastic=False, roughly=roughly)

    @property
    def finished(self) -> bool:
        """Whether the bound was proven within the budget."""
        return self._steps > 0

    def within(self, distance: float) -> tuple[Supply, ...] | None:
        """The supplies with every pattern that a plan less than `distance` above the relaxed cost could have; None if
        they are too many."""
        model, weights = self._model(lambda model: scaled(model.cost)[0], elastic=False)
        found = model.programme.relaxed(weights)
        if found is None:
            return None
        added = 0
        self._steps = _WITHIN
        for index, priced in self._priced(model, found, _LONG, every=distance):
            if not priced.exact:
                return None
            before = len(self._supplies[index].patterns)
            self._add(index, priced.patterns)
            added += len(self._supplies[index].patterns) - before
            if added > _EVERY:
                return None
        return tuple(self._supplies)

    def programme(self, *, cost: bool) -> tuple[Model, Mapping[Column, float], Fraction]:
        """The programme over the patterns so far, the weights of the cost and their scale."""
        model = self._built(elastic=False)
        weights, scale = scaled(model.cost)
        return model, weights if cost else {}, scale

    def _built(self, *, elastic: bool) -> Model:
        model = build_model(self._variant.demand, self._supplies, elastic=elastic)
        self._limits(model)
        if self._fewest:
            model.programme.row(list(_new_nodes(model).items()), lower=self._fewest)
        return model

    def _model(
        self, objective: Callable[[Model], Mapping[Column, float]], *, elastic: bool
    ) -> tuple[Model, Mapping[Column, float]]:
        model = self._built(elastic=elastic)
        weights = objective(model)
        for source in model.sources:  # the row over a supply's nodes says it already, and a bound would hide a price
            for column in source.patterns:
                model.programme.upper[column] = inf
        return model, weights

    def _converge(self, objective: Callable[[Model], Mapping[Column, float]], *, elastic: bool, roughly: bool) -> float:
        """Adds patterns until none is worth having: a lower bound of the objective over all patterns."""
        bound, quick = 0.0, True
        for _ in range(_ROUNDS):
            model, weights = self._model(objective, elastic=elastic)
            found = model.programme.relaxed(weights)
            if found is None or (elastic and found.objective <= _TINY):
                return bound
            slack, news = 0.0, list[tuple[int, tuple[Pattern, ...]]]()
            for index, priced in self._priced(model, found, _QUICK if quick else _LONG, every=None):
                slack += priced.best
                news.append((index, priced.patterns[-_KEPT:]))
            bound = max(bound, found.objective - slack)
            if (elastic and bound > _TINY) or self._steps <= 0:
                return bound
            if rounded_up(bound, weights) >= rounded_up(found.objective, weights) and not elastic:
                return bound  # what the rest could still gain would not make a whole difference
            grown = [self._add(index, patterns) for index, patterns in news]
            if any(grown):
                quick = True
            elif quick and not roughly:
                quick = False  # only now is it worth proving that there is none
            else:
                return bound
        return bound

    def _priced(
        self, model: Model, found: Relaxed, budget: int, *, every: float | None
    ) -> Iterator[tuple[int, Priced]]:
        """Per partial supply, its unit and its set of flags: patterns worth more than they cost. `best` is the most
        that all nodes of the supply could gain together."""
        fitter = self._variant.fitter
        place = {cell: index for index, cell in enumerate(model.cells)}
        indices = {id(supply): index for index, supply in enumerate(self._supplies)}
        known: dict[object, Priced] = {}
        for source in model.sources:
            supply = source.supply
            if not supply.partial:
                continue
            cell = place[source.cell]
            values = tuple(
                found.prices[model.room[kind.index, cell]] if (kind.index, cell) in model.room else 0.0
                for kind in self._variant.problem.kinds
            )
            most = 0.0
            nodes = supply.nodes if source.unit is None else supply.step
            for flags, base in _bases(source, found, values).items():
                floor = base if every is None else base - every
                key = (indices[id(supply)], flags, values, round(base, 9))
                if key not in known:
                    pricer = self._variant.pricers.get((supply.stocks[0].id, flags))
                    if pricer is None:
                        pricer = Pricer(fitter, supply.stocks[0], flags)
                        self._variant.pricers[supply.stocks[0].id, flags] = pricer
                    limit = max(min(budget, self._steps), 1)
                    known[key] = pricer.above(values, floor + _TINY, budget=limit, every=every is not None)
                    self._steps -= known[key].steps
                priced = known[key]
                most = max(most, priced.best - base)
                yield indices[id(supply)], replace(priced, best=0.0)
            yield indices[id(supply)], Priced(max(most, 0.0) * nodes, (), exact=True, steps=0)

    def _add(self, index: int, patterns: Sequence[Pattern]) -> bool:
        """Whether some of them are new."""
        before = self._supplies[index]
        after = self._supplies[index] = with_patterns(self._variant.fitter, before, patterns)
        self._variant.generated[after.stocks[0].id] = after.patterns
        return after is not before


def _bases(source: Source, found: Relaxed, values: Sequence[float]) -> dict[frozenset[int], float]:
    """What a node costs before any pod is on it, by flags: patterns of one source differ in their pods alone, so each
    of them tells, its reduced cost and the worth of its pods together."""
    bases: dict[frozenset[int], float] = {}
    for pattern, column in zip(source.supply.patterns, source.patterns, strict=True):
        if pattern.flags not in bases:
            worth = sum(value * count for value, count in zip(values, pattern.counts, strict=True))
            bases[pattern.flags] = found.reduced[column] + worth
    return bases


@dataclass(frozen=True, slots=True)
class Opening:
    """A programme whose patterns suffice, its cheapest solution as far as the search went, and a proven bound."""

    model: Model
    solution: Solution
    bound: Fraction


@dataclass(frozen=True, slots=True)
class Unplaced:
    """No solution was found; `proven`: there is none."""

    proven: bool


def generate(
    variant: Variant, supplies: Sequence[Supply], limits: Limits, *, cost: bool, roughly: bool = False
) -> Opening | Unplaced:
    """The cheapest solution (with `cost`, else any) over all patterns of the supplies, also those that are not
    listed."""
    generator = Generator(variant, supplies, limits)
    relaxed = generator.run(cost=cost, roughly=roughly)
    if relaxed is None:
        return Unplaced(proven=True)
    model, weights, scale = generator.programme(cost=cost)
    # A sum over nodes is weaker than prices, unless the budget ended before they were right.
    least = relaxed if generator.finished or not cost else max(relaxed, _unlisted_bound(variant, supplies, scale))
    bound = rounded_up(least, weights)
    found = _searched(model, weights, bound, _ROUGH_TREE if roughly else _TREE)
    near = found.feasible and found.objective - bound <= (0 if len(model.programme.lower) < _SMALL else _GAP) * bound
    if found.feasible and (roughly or near):
        return Opening(model, found, Fraction(bound) / scale)
    if roughly:
        return Unplaced(proven=False)
    more = generator.within(found.objective - _quantum(weights) - relaxed if found.feasible else inf)
    if more is None:
        return Opening(model, found, Fraction(bound) / scale) if found.feasible else Unplaced(proven=False)
    fuller, weights, scale = generator.programme(cost=cost)
    again = _searched(fuller, weights, bound, _TREE)
    if not again.feasible:
        if found.feasible:
            return Opening(model, found, Fraction(bound) / scale)
        return Unplaced(proven=again.outcome is Outcome.INFEASIBLE)
    best = min(again.objective, found.objective) if found.feasible else again.objective
    bound = max(bound, rounded_up(min(again.bound, best), weights))
    if found.feasible and found.objective <= again.objective:
        return Opening(model, found, Fraction(bound) / scale)
    return Opening(fuller, again, Fraction(bound) / scale)


def _new_nodes(model: Model) -> dict[Column, float]:
    return {column: float(nodes) for column, nodes in model.new_nodes.items()}


def _searched(model: Model, weights: Mapping[Column, float], bound: float, tree: int) -> Solution:
    if weights and bound > 0:  # known beforehand; a search that meets it is over
        model.programme.row(list(weights.items()), lower=bound)
    return model.programme.minimum(weights, tree_nodes=tree, gap=_GAP)


def _unlisted_bound(variant: Variant, supplies: Sequence[Supply], scale: Fraction) -> float:
    found = relaxed_bound(variant, supplies)
    return float(found * scale) if found is not None else 0.0


def _quantum(weights: Mapping[Column, float]) -> float:
    """The least distance of two sums of whole multiples."""
    if not weights or not all(weight.is_integer() for weight in weights.values()):
        return 0.0
    return float(gcd(*(int(weight) for weight in weights.values())))


def rounded_up(bound: float, weights: Mapping[Column, float]) -> float:
    """The least sum of whole multiples of the weights that is not below a bound, as far as their divisor tells."""
    divisor = _quantum(weights)
    return float(ceil((bound - 1e-5) / divisor) * divisor) if divisor else bound
