"""Lists the maximal patterns of a stock. What fits is closed downwards, so the maximal patterns say it all."""

from collections.abc import Callable, Sequence
from itertools import product
from math import prod

from muster_plan.fitter import Fitter
from muster_plan.patterns import Counts, Flags, Pattern
from muster_plan.stocks import Stock

_MOST_PREFIXES = 20_000  # numbers of all kinds but the last that could be gone through
_GREEDY_STARTS = 8  # per kind, for that selection


def maximal_patterns(fitter: Fitter, stock: Stock) -> tuple[Pattern, ...]:
    """All maximal patterns of a stock over all sets of flags, in a fixed order."""
    found: list[Pattern] = []
    for flags in fitter.flags.sets():
        counts = _maximal(fitter, stock, flags)
        found.extend(Pattern(each, flags) for each in counts)
    return tuple(found)


def _maximal(fitter: Fitter, stock: Stock, flags: frozenset[int]) -> list[Counts]:
    kinds = fitter.scene.kinds
    caps = [fitter.room_cap(stock, kind) if fitter.flags.of_kind[kind.index] <= flags else 0 for kind in kinds]
    if not any(caps):
        return []
    walk = _Walk(fitter, stock, flags, caps)
    found = walk.all() if prod(min(cap, 8) + 1 for cap in caps[:-1]) <= _MOST_PREFIXES else None
    if found is None:
        fitter.truncated = True
        found = walk.some()
    useful = [each for each in found if any(each) and _uses_all(fitter.flags, each, flags)]
    return sorted(each for each in useful if not any(_dominates(other, each) for other in useful))


class _Walk:
    """Goes through the patterns of one stock under one set of flags."""

    def __init__(self, fitter: Fitter, stock: Stock, flags: frozenset[int], caps: list[int]) -> None:
        self._fitter, self._stock, self._flags, self._caps = fitter, stock, flags, caps
        self._steps = [kind.slice_size for kind in fitter.scene.kinds]
        # Kinds that cannot be here at all are passed over.
        self._kinds = [index for index, cap in enumerate(caps) if cap]
        self._found: set[Counts] = set()

    def all(self) -> set[Counts] | None:
        """Every maximal pattern, and some that are not; None if there are too many."""
        self._found = set()
        zero = (0,) * len(self._caps)
        return self._found if self._descend(0, zero) else None

    def some(self) -> set[Counts]:
        """Patterns that start with some pods of one kind and are filled up greedily, large kinds first or last."""
        self._found = set()
        zero = (0,) * len(self._caps)
        tops = {index: self._top(zero, index) for index in self._kinds}
        by_size = sorted(self._kinds, key=lambda index: (tops[index], index))
        for first in self._kinds:
            for count in range(tops[first], -1, -max(self._steps[first], -(-tops[first] // _GREEDY_STARTS))):
                for order in (by_size, by_size[::-1]):
                    counts = _with(zero, first, count)
                    for index in order:
                        if index != first:
                            counts = _with(counts, index, self._top(counts, index))
                    self._found.add(counts)
        return self._found

    def _descend(self, place: int, counts: Counts) -> bool:
        index = self._kinds[place]
        top = self._top(counts, index)
        if place == len(self._kinds) - 1:
            self._found.add(_with(counts, index, top))
            return len(self._found) <= self._fitter.most_patterns
        return all(self._descend(place + 1, _with(counts, index, n)) for n in range(top, -1, -self._steps[index]))

    def _top(self, counts: Counts, index: int) -> int:
        """The most pods of a kind that fit beside the others."""
        step = self._steps[index]

        def fits(n: int) -> bool:
            return self._fitter.fits(self._stock, _with(counts, index, n * step), self._flags)

        return _largest(fits, self._caps[index] // step) * step


def closure(fitter: Fitter, maximal: Sequence[Pattern], most: int) -> tuple[Pattern, ...] | None:
    """Every pattern below the maximal ones with at least one pod, None if there are too many."""
    sizes = [kind.slice_size for kind in fitter.scene.kinds]
    found: set[Pattern] = set()
    for pattern in maximal:
        ranges = [range(0, count + 1, size) for count, size in zip(pattern.counts, sizes, strict=True)]
        if prod(len(each) for each in ranges) > most:
            return None
        for counts in product(*ranges):
            if any(counts) and _uses_all(fitter.flags, counts, pattern.flags):
                found.add(Pattern(counts, pattern.flags))
        if len(found) > most:
            return None
    return tuple(sorted(found, key=lambda each: (each.counts, sorted(each.flags))))


def _uses_all(flags: Flags, counts: Counts, held: frozenset[int]) -> bool:
    """A flag without a pod that needs it only takes devices away."""
    used = frozenset[int]().union(*(flags.of_kind[index] for index, count in enumerate(counts) if count))
    return used == held


def _largest(fits: Callable[[int], bool], cap: int) -> int:
    """The largest n up to cap that fits; 0 always counts as fitting. What fits is closed downwards."""
    low, step = 0, 1
    while low < cap:
        probe = min(low + step, cap)
        if not fits(probe):
            cap = probe - 1
            break
        low, step = probe, step * 2
    while low < cap:
        middle = (low + cap + 1) // 2
        if fits(middle):
            low = middle
        else:
            cap = middle - 1
    return low


def _with(counts: Counts, index: int, n: int) -> Counts:
    return (*counts[:index], n, *counts[index + 1 :])


def _dominates(one: Counts, other: Counts) -> bool:
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))
