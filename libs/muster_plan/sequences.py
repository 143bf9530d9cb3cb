"""Pods arriving on a node one after the other, each with the first devices that fit: what kube-scheduler does there."""

from collections.abc import Hashable
from dataclasses import dataclass

from muster_dra import AllocatedState, Allocation, ResourceClaim, allocate
from muster_plan.fitter import Fitter
from muster_plan.patterns import Counts
from muster_plan.stocks import Stock

Sequence = tuple[int, ...]
"""Kinds in the order of arrival."""


@dataclass(frozen=True, slots=True)
class _State:
    allocated: AllocatedState
    flags: frozenset[int]


class Arrivals:
    """Replays sequences on stocks and remembers them. Nodes of one device state share their answers."""

    def __init__(self, fitter: Fitter) -> None:
        self._fitter = fitter
        self._states: dict[Hashable, _State | None] = {}

    def fits(self, stock: Stock, sequence: Sequence) -> bool:
        """Whether the whole sequence finds room and devices, none looking back."""
        counts = self._counts(sequence)
        if any(stock.blocked[kind] is not None for kind in sequence):
            return False
        return (
            self._fitter.apart(stock, counts)
            and self._fitter.room_fits(stock, counts)
            and self._state(stock, sequence) is not None
        )

    def in_order(self, stock: Stock, counts: Counts) -> bool:
        """Whether the pods fit as the pod sets stand."""
        return self.fits(stock, tuple(kind for kind, count in enumerate(counts) for _ in range(count)))

    def capacity(self, stock: Stock, before: Sequence, kind: int, most: int) -> int:
        """How many pods of a kind fit after others, up to `most`."""
        count = 0
        while count < most and self.fits(stock, (*before, *(kind,) * (count + 1))):
            count += 1
        return count

    def _counts(self, sequence: Sequence) -> Counts:
        return tuple(sequence.count(kind.index) for kind in self._fitter.scene.kinds)

    def _state(self, stock: Stock, sequence: Sequence) -> _State | None:
        key = (stock.devices, stock.by_claim, sequence)
        if key in self._states:
            return self._states[key]
        found = self._first(stock) if not sequence else self._next(stock, sequence)
        self._states[key] = found
        return found

    def _first(self, stock: Stock) -> _State | None:
        """Daemon pods are there before any other."""
        asked = self._fitter.asked(stock, tuple(0 for _ in self._fitter.scene.kinds), frozenset())
        return self._placed(stock, _State(stock.allocated, frozenset()), [each.claim for each in asked], frozenset())

    def _next(self, stock: Stock, sequence: Sequence) -> _State | None:
        before = self._state(stock, sequence[:-1])
        if before is None:
            return None
        kind = sequence[-1]
        new = self._fitter.flags.of_kind[kind] - before.flags
        counts = tuple(1 if each.index == kind else 0 for each in self._fitter.scene.kinds)
        asked = [each for each in self._fitter.asked(stock, counts, new) if not each.daemon]
        return self._placed(stock, before, [each.claim for each in asked], new)

    def _placed(self, stock: Stock, before: _State, claims: list[ResourceClaim], new: frozenset[int]) -> _State | None:
        if not claims:
            return _State(before.allocated, before.flags | new)
        outcome = allocate(stock.node, claims, stock.catalog, before.allocated)
        if not isinstance(outcome, Allocation):
            return None
        results = [result for claim in outcome.claims for result in claim.results]
        return _State(before.allocated.plus(results, "gang"), before.flags | new)
