"""The fast search: upstream's first solution, pruned only where nothing can succeed.

Depth first in upstream's order over sets of devices. What makes it fast, and why the answer stays the same, is told in
docs/dra.md: look-ahead along constraints, interchangeable devices, remembered dead ends, and bounds that are asked
once the search has met dead ends. Up to a request that may end the attempt as fatal, only that is pruned which cannot
reach the request: upstream would not have reached it either.
"""

from enum import Enum, auto

from muster_dra.bounds import whole_or_none
from muster_dra.found import Ended, Found, Solution
from muster_dra.guided import guided_search
from muster_dra.outcome import FatalKind
from muster_dra.plan_content import mask_of
from muster_dra.prepare import MAX_RESULTS
from muster_dra.search_state import EVERY_DEVICE, SearchState, Undo
from muster_dra.situation import Option, Situation


class _Found(Enum):
    SUCCESS = auto()
    NOTHING = auto()
    TOO_MANY = auto()


_CHEERFUL = 8
"""Dead ends after which the bounds are asked at every request."""
_PATIENCE = 40
"""Dead ends after which it is asked first whether anything can succeed at all, in an order of its own."""


class _LostError(Exception):
    """The walk in upstream's order meets too many dead ends."""


class _EndError(Exception):
    def __init__(self, ended: Ended) -> None:
        super().__init__(ended)
        self.ended = ended


def search(situation: Situation, step_limit: int) -> tuple[Found, int]:
    """The first solution, None if there is none, or what ended the search; and the steps it took.

    A step is one device tried, or as much work as that.
    """
    run = Search(situation, step_limit)
    try:
        try:
            return run.run(), run.steps
        except _LostError:
            return guided_search(situation, step_limit, run.steps)
    except _EndError as error:
        return error.ended, run.steps
    except RecursionError:  # some hundreds of requests in one pod
        return Ended(FatalKind.GAVE_UP), run.steps


class Search(SearchState):
    """One run."""

    def __init__(self, situation: Situation, step_limit: int) -> None:
        super().__init__(situation)
        self.chosen: list[tuple[int, tuple[int, ...]]] = []
        self._limit, self._dead_ends = step_limit, 0
        self._known_dead: set[object] = set()

    def run(self) -> Solution | None:
        """Raises _EndError."""
        if self.prunes and self._hopeless(0):
            return None
        return Solution(tuple(self.chosen)) if self._solve(0) is _Found.SUCCESS else None

    def _hopeless(self, number: int) -> bool:
        """Whether the requests from here up to the horizon cannot all be satisfied, whatever is chosen."""
        horizon = self.outline.horizon[number]
        if number >= horizon:
            return False
        bound = self.plan.bound(number, horizon)
        self.steps += 2 + len(bound.choices)
        if self.drawn and bound.drained(
            [have - gone for have, gone in zip(self.situation.left, self.drawn, strict=True)]
        ):
            return True
        here, fitting = self.requests[number].claim, self.fitting()
        sets: list[int] = []
        for position, index, claim in bound.choices:
            option = self.options[position][index]
            if option.choice.every:
                in_use = 0 if option.choice.admin else self.situation.dedicated
                lost = in_use | self.blocked(option, claim) | option.choice.refused | option.lacking
                sets.append(whole_or_none(mask_of(option.members), lost))
                continue
            mask = option.candidates & ~self.blocked(option, claim)
            if not option.choice.admin:
                mask &= fitting
            for constraint in option.choice.constraints:
                mask &= self.allowed[constraint] if claim == here else self.tables[constraint].first
            sets.append(mask)
        return bound.hopeless(sets)

    def _solve(self, number: int) -> _Found:
        if number == len(self.options):
            return _Found.SUCCESS
        key = self.key(number)
        if key in self._known_dead:
            return self._dead_end()
        if self._dead_ends > _CHEERFUL and self.prunes and self._hopeless(number):
            self._known_dead.add(key)
            return self._dead_end()
        every_too_many = True
        for position, option in enumerate(self.options[number]):
            found = self._with_option(number, position, option)
            if found is _Found.SUCCESS:
                return found
            every_too_many &= found is _Found.TOO_MANY
        if every_too_many and not self.requests[number].opens_claim:
            return _Found.TOO_MANY
        self._known_dead.add(key)
        return self._dead_end()

    def _dead_end(self) -> _Found:
        self._dead_ends += 1
        if self._dead_ends > _PATIENCE and self.plan.order_free:
            raise _LostError
        return _Found.NOTHING

    def _with_option(self, number: int, position: int, option: Option) -> _Found:
        need, claim = option.need, self.requests[number].claim
        if option.choice.every and need == 0:
            return _Found.NOTHING
        if self.requests[number].opens_claim:
            self.results[claim] = 0
        if need and self.results[claim] + need > MAX_RESULTS:
            return _Found.TOO_MANY
        self.results[claim] += need
        if need == 0:
            found = self._next(number, position, ())
        elif option.choice.every:
            found = self._take_all(number, position, option, claim)
        else:
            found = self._pick(number, position, option, claim, (), EVERY_DEVICE)
        if found is not _Found.SUCCESS:
            self.results[claim] -= need
        return found

    def _next(self, number: int, position: int, devices: tuple[int, ...]) -> _Found:
        self.chosen.append((position, devices))
        found = self._solve(number + 1)
        if found is not _Found.SUCCESS:
            self.chosen.pop()
        return found

    def _pick(
        self, number: int, position: int, option: Option, claim: int, picked: tuple[int, ...], above: int
    ) -> _Found:
        """Tries every device above the last one, in order; combinations, not permutations."""
        available = self.available(option, claim) & above
        left = option.need - len(picked)
        exact = bool(option.errors) or not self.prunes
        if not exact and available.bit_count() < left:
            return _Found.NOTHING
        waiting = available | (option.errors & ~self.blocked(option, claim) & above)
        while waiting:
            lowest = waiting & -waiting
            waiting ^= lowest
            device = lowest.bit_length() - 1
            self._step()
            if lowest & option.errors:
                raise _EndError(Ended(FatalKind.EXPRESSION, number, position, device))
            undo = self.take(option, claim, device)
            if undo is not None:
                if exact or self._others_can(number, option, claim):
                    devices = (*picked, device)
                    if left > 1:
                        found = self._pick(number, position, option, claim, devices, EVERY_DEVICE << (device + 1))
                    else:
                        found = self._next(number, position, devices)
                    if found is _Found.SUCCESS:
                        return found
                    if found is _Found.TOO_MANY:
                        undo.restore(self)
                        return found
                undo.restore(self)
            if self.prunes:
                waiting &= ~self.alike(device)
                if not exact and (waiting & available).bit_count() < left:
                    break
        return _Found.NOTHING

    def _take_all(self, number: int, position: int, option: Option, claim: int) -> _Found:
        """Every member or none; a constraint that refuses one ends the attempt (dra-semantics §3.4)."""
        undos: list[Undo] = []
        found = _Found.NOTHING
        in_use = self.situation.dedicated if not option.choice.admin else 0
        for device in option.members:
            bit = 1 << device
            self._step()
            if (in_use | self.blocked(option, claim) | option.choice.refused) & bit:
                break
            if not self.counters_left(option, device):
                break
            if any(not self.allowed[constraint] & bit for constraint in option.choice.constraints):
                if not self.content.all_ends:
                    break
                raise _EndError(Ended(FatalKind.ALL_CONSTRAINT, number, position, device))
            undo = None if option.lacking & bit else self.take(option, claim, device)
            if undo is None:
                break
            undos.append(undo)
        else:
            found = self._next(number, position, option.members)
        if found is not _Found.SUCCESS:
            for undo in reversed(undos):
                undo.restore(self)
        return found

    def _step(self) -> None:
        self.steps += 1
        if self.steps > self._limit:
            raise _EndError(Ended(FatalKind.GAVE_UP))

    def _others_can(self, number: int, option: Option, claim: int) -> bool:
        """Whether every request that shares a constraint and comes before the horizon still has enough devices."""
        mine = option.choice.constraints
        if not mine:
            return True
        for later in range(number + 1, self.outline.horizon[number]):
            if self.requests[later].claim != claim:
                return True
            for other in self.options[later]:
                if not any(constraint in mine for constraint in other.choice.constraints):
                    break
                if other.choice.every or self.available(other, claim).bit_count() >= other.need:
                    break
            else:
                return False
        return True
