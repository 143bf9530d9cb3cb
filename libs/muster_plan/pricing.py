"""The patterns of a node that are worth most when every pod of a kind has a value: what column generation asks for."""

from collections.abc import Sequence
from dataclasses import dataclass

from muster_plan.fitter import Fitter
from muster_plan.patterns import Counts, Pattern
from muster_plan.stocks import Stock

_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Priced:
    """`best`: the value of the best pattern, at most that if the search ended early (`exact` False). `patterns`: those
    found above the floor, the best ones last."""

    best: float
    patterns: tuple[Pattern, ...]
    exact: bool
    steps: int


@dataclass(frozen=True, slots=True)
class _Sort:
    """What a node has a finite amount of, as a whole of 1, and the part of it that a pod of each kind takes."""

    shares: tuple[float, ...]
    by_worth: tuple[tuple[int, ...], ...]  # per first kind of the rest: the rest, most value for a share first


class Pricer:
    """Searches the patterns of one stock under one set of flags by branch and bound: what fits is closed downwards, and
    sums over devices and resources bound what the other kinds can add."""

    def __init__(self, fitter: Fitter, stock: Stock, flags: frozenset[int]) -> None:
        self._fitter, self._stock, self._flags = fitter, stock, flags
        kinds = fitter.scene.kinds
        self._caps = [
            fitter.room_cap(stock, kind) if fitter.flags.of_kind[kind.index] <= flags else 0 for kind in kinds
        ]
        self._steps = [kind.slice_size for kind in kinds]
        self._zero = (0,) * len(kinds)
        self._caps = [self.top(self._zero, index) if cap else 0 for index, cap in enumerate(self._caps)]
        self._shares = self._all_shares([index for index, cap in enumerate(self._caps) if cap])

    def top(self, counts: Counts, index: int) -> int:
        """The most pods of a kind that fit beside the others."""
        step = self._steps[index]
        low, high = 0, self._caps[index] // step
        while low < high:  # mostly the cap itself or little less than it
            middle = high if high - low <= 2 else (low + high + 1) // 2
            if self._fitter.fits(self._stock, _with(counts, index, middle * step), self._flags):
                low = middle
            else:
                high = middle - 1
        return low * step

    def above(self, values: Sequence[float], floor: float, *, budget: int, every: bool = False) -> Priced:
        """Patterns worth more than the floor: the best and those met on the way to it, or `every` maximal one."""
        order = sorted(
            (index for index, cap in enumerate(self._caps) if cap and (values[index] > _TINY or every)),
            key=lambda index: (-values[index] / self._weight(index), index),
        )
        return _Search(self, order, values, floor, budget, every=every).run()

    def sorts(self, order: Sequence[int], values: Sequence[float]) -> tuple[_Sort, ...]:
        found: list[_Sort] = []
        for shares in self._shares:
            by_worth = tuple(
                tuple(
                    sorted(
                        order[place:],
                        key=lambda index: (-values[index] / shares[index] if shares[index] else -float("inf"), index),
                    )
                )
                for place in range(len(order) + 1)
            )
            found.append(_Sort(shares, by_worth))
        return tuple(found)

    def cap(self, index: int) -> int:
        return self._caps[index]

    def step(self, index: int) -> int:
        return self._steps[index]

    def pattern(self, counts: Counts) -> Pattern | None:
        """None for a pattern that does not use all flags: they would only take devices away."""
        used = frozenset[int]().union(*(self._fitter.flags.of_kind[i] for i, count in enumerate(counts) if count))
        return Pattern(counts, self._flags) if used == self._flags else None

    @property
    def zero(self) -> Counts:
        return self._zero

    def _weight(self, index: int) -> float:
        return max((shares[index] for shares in self._shares), default=0.0) or 1.0 / self._caps[index]

    def _all_shares(self, kinds: list[int]) -> tuple[tuple[float, ...], ...]:
        found: list[tuple[float, ...]] = []
        scene, stock = self._fitter.scene, self._stock
        for resource in scene.resources:
            free = stock.free.get(resource, 0)
            if free:
                found.append(
                    tuple(
                        kind.requests.get(resource, 0) / free
                        if kind.index in kinds and resource not in stock.by_claim[kind.index]
                        else 0.0
                        for kind in scene.kinds
                    )
                )
        devices = self._fitter.device_shares((stock,), kinds) if kinds else None
        if devices is not None:
            found.append(tuple(devices.get(kind.index, 0.0) for kind in scene.kinds))
        return tuple(shares for shares in found if any(shares))


class _Search:
    def __init__(
        self, pricer: Pricer, order: Sequence[int], values: Sequence[float], floor: float, budget: int, *, every: bool
    ) -> None:
        self._pricer, self._order, self._values, self._every = pricer, order, values, every
        self._floor = floor
        self._best, self._left, self._budget = 0.0, budget, budget
        self._sorts = pricer.sorts(order, values)
        self._found: dict[Counts, None] = {}
        self._rest = [index for index in range(len(values)) if pricer.cap(index) and index not in order]

    def run(self) -> Priced:
        if self._order:
            self._descend(0, self._pricer.zero, 0.0, tuple(0.0 for _ in self._sorts))
        patterns = [pattern for counts in self._found if (pattern := self._pricer.pattern(counts)) is not None]
        exact = self._left > 0
        best = self._best if exact else self._bound(0, tuple(0.0 for _ in self._sorts))
        return Priced(best, tuple(patterns), exact, self._budget - max(self._left, 0))

    def _descend(self, place: int, counts: Counts, value: float, used: tuple[float, ...]) -> None:
        if self._left <= 0:
            return
        self._left -= 1
        index = self._order[place]
        top = self._pricer.top(counts, index)
        if place == len(self._order) - 1:
            self._keep(_with(counts, index, top), value + top * self._values[index])
            return
        for n in range(top, -1, -self._pricer.step(index)):
            now = tuple(part + n * sort.shares[index] for part, sort in zip(used, self._sorts, strict=True))
            worth = value + n * self._values[index]
            most = worth + self._bound(place + 1, now)
            if most <= self._floor + _TINY or (not self._every and most <= self._best + _TINY):
                continue
            self._descend(place + 1, _with(counts, index, n), worth, now)

    def _bound(self, place: int, used: tuple[float, ...]) -> float:
        """The most that the kinds from `place` on can add: the least over all sorts of what fits when cut freely."""
        values, pricer = self._values, self._pricer
        least = sum(values[index] * pricer.cap(index) for index in self._order[place:])
        for part, sort in zip(used, self._sorts, strict=True):
            left, sum_ = 1.0 - part + _TINY, 0.0
            for index in sort.by_worth[place]:
                share = sort.shares[index]
                amount = pricer.cap(index) if not share else min(float(pricer.cap(index)), max(left, 0.0) / share)
                sum_ += amount * values[index]
                left -= amount * share
            least = min(least, sum_)
        return least

    def _keep(self, counts: Counts, worth: float) -> None:
        self._best = max(self._best, worth)
        if worth > self._floor + _TINY:
            for index in self._rest:  # what is worth nothing now takes what is left
                counts = _with(counts, index, self._pricer.top(counts, index))
            self._found.pop(counts, None)
            self._found[counts] = None


def _with(counts: Counts, index: int, n: int) -> Counts:
    return (*counts[:index], n, *counts[index + 1 :])
