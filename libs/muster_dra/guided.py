"""The search for problems that are hard in upstream's order: at each choice it is asked whether the rest can succeed.

Whether requests can be satisfied together does not depend on the order they are looked at, as long as nothing in the
plan does (`Plan.order_free`). So the question is answered in the best order, the request with the fewest ways first,
and the choices are made in upstream's order: the first that leaves the rest possible is upstream's, without going back.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from muster_dra.found import Ended, Found, Solution
from muster_dra.matching import can_be_met
from muster_dra.outcome import FatalKind
from muster_dra.plan_content import bits_of, mask_of
from muster_dra.prepare import MAX_RESULTS
from muster_dra.search_state import EVERY_DEVICE, SearchState, Undo
from muster_dra.situation import Option, Situation


def guided_search(situation: Situation, step_limit: int, steps: int) -> tuple[Found, int]:
    """The first solution, None, or given up; `steps` were taken before."""
    run = _Guided(situation, step_limit, steps)
    try:
        return run.first(), run.steps
    except _SpentError:
        return Ended(FatalKind.GAVE_UP), run.steps


class _SpentError(Exception):
    pass


@dataclass(frozen=True, slots=True)
class _Begun:
    """A request of which some devices are chosen: its option, how many are left to choose, and from where on."""

    number: int
    option: Option
    left: int
    above: int


@dataclass(frozen=True, slots=True)
class _Way:
    """One option of a request as it stands: what it may still take."""

    option: Option
    left: int
    devices: int
    cost: int
    """What it adds to the results of its claim."""


class _Guided(SearchState):
    def __init__(self, situation: Situation, step_limit: int, steps: int) -> None:
        super().__init__(situation)
        self.steps, self._limit = steps, step_limit
        self._dead: set[object] = set()

    def first(self) -> Solution | None:
        """Raises _SpentError."""
        everything = (1 << len(self.options)) - 1
        if not self._possible(everything, None):
            return None
        picks: list[tuple[int, tuple[int, ...]]] = []
        for number in range(len(self.options)):
            rest = everything & (EVERY_DEVICE << (number + 1))
            picks.append(self._settled(number, rest))
        return Solution(tuple(picks))

    def _settled(self, number: int, rest: int) -> tuple[int, tuple[int, ...]]:
        """The request's first option, and its first devices, that leave the rest possible: there are some."""
        claim = self.requests[number].claim
        for position, option in enumerate(self.options[number]):
            devices: list[int] = []
            way = self._fresh_way(number, option, EVERY_DEVICE)
            if way is None:
                continue
            self.results[claim] += way.cost
            if option.choice.every:
                undos = self._all_taken(option, claim)
                if undos is not None and self._possible(rest, None):
                    return position, option.members
                for undo in reversed(undos or []):
                    undo.restore(self)
            elif self._possible(1 << number | rest, _Begun(number, option, option.need, EVERY_DEVICE)):
                above = EVERY_DEVICE
                while len(devices) < option.need:
                    device = self._next_device(number, option, option.need - len(devices), above, rest)
                    devices.append(device)
                    above = EVERY_DEVICE << (device + 1)
                return position, tuple(devices)
            self.results[claim] -= way.cost
        raise AssertionError("what was possible as a whole is possible in parts")

    def _next_device(self, number: int, option: Option, left: int, above: int, rest: int) -> int:
        claim = self.requests[number].claim
        for device in bits_of(self.available(option, claim) & above):
            undo = self.take(option, claim, device)
            if undo is None:
                continue
            begun = _Begun(number, option, left - 1, EVERY_DEVICE << (device + 1))
            if self._possible(1 << number | rest if left > 1 else rest, begun if left > 1 else None):
                return device
            undo.restore(self)
        raise AssertionError("what was possible as a whole is possible in parts")

    def _possible(self, remaining: int, begun: _Begun | None) -> bool:
        """Whether all remaining requests can be satisfied together; everything is as before when it returns."""
        if not remaining:
            return True
        fewest, ways, chosen = -1, [], -1
        fitting = self.fitting()
        demands: list[tuple[int, int]] = []
        for number in bits_of(remaining):
            own = list(self._ways(number, begun, fitting))
            if not own:
                return False
            union = 0
            for way in own:
                union |= way.devices
            if not union & self.content.shared:
                demands.append((union, min(way.left for way in own)))
            count = sum(way.devices.bit_count() - way.left + 1 for way in own)
            if fewest < 0 or count < fewest:
                fewest, ways, chosen = count, own, number
        self._spend(2 + remaining.bit_count())
        if not can_be_met(demands):
            return False
        key = self.key_of(remaining), begun and (begun.number, id(begun.option), begun.left, begun.above)
        if key in self._dead:
            return False
        rest = remaining & ~(1 << chosen)
        others = begun if begun is not None and begun.number != chosen else None
        claim = self.requests[chosen].claim
        for way in ways:
            self.results[claim] += way.cost
            if way.option.choice.every:
                undos = self._all_taken(way.option, claim)
                found = undos is not None and self._possible(rest, others)
                for undo in reversed(undos or []):
                    undo.restore(self)
            else:
                found = self._completed(way.option, claim, way.left, way.devices, rest, others)
            self.results[claim] -= way.cost
            if found:
                return True
        self._dead.add(key)
        return False

    def _completed(self, option: Option, claim: int, left: int, devices: int, rest: int, begun: _Begun | None) -> bool:
        """Whether `left` of the devices can be chosen so that the rest is possible."""
        if left == 0:
            return self._possible(rest, begun)
        waiting = devices & self.available(option, claim)
        while waiting.bit_count() >= left:
            lowest = waiting & -waiting
            waiting ^= lowest
            device = lowest.bit_length() - 1
            self._spend(1)
            undo = self.take(option, claim, device)
            if undo is not None:
                found = self._completed(option, claim, left - 1, waiting, rest, begun)
                undo.restore(self)
                if found:
                    return True
            waiting &= ~self.alike(device)
        return False

    def _ways(self, number: int, begun: _Begun | None, fitting: int) -> Iterator[_Way]:
        if begun is not None and begun.number == number:
            devices = self.available(begun.option, self.requests[number].claim) & begun.above & fitting
            if devices.bit_count() >= begun.left:  # its results are counted already
                yield _Way(begun.option, begun.left, devices, 0)
            return
        for option in self.options[number]:
            way = self._fresh_way(number, option, fitting)
            if way is not None:
                yield way

    def _fresh_way(self, number: int, option: Option, fitting: int) -> _Way | None:
        """An option of which nothing is chosen yet, or None if it cannot be had any more."""
        claim, need = self.requests[number].claim, option.need
        if need and self.results[claim] + need > MAX_RESULTS:
            return None
        if option.choice.every:
            members = mask_of(option.members)
            lost = self.situation.dedicated | self.taken | option.choice.refused | option.lacking
            return None if not members or members & lost else _Way(option, need, members, need)
        devices = self.available(option, claim) & fitting
        return _Way(option, need, devices, need) if devices.bit_count() >= need else None

    def _all_taken(self, option: Option, claim: int) -> list[Undo] | None:
        """Every member taken, or None and nothing is."""
        undos: list[Undo] = []
        for device in option.members:
            bit = 1 << device
            refused = any(not self.allowed[constraint] & bit for constraint in option.choice.constraints)
            self._spend(1)
            undo = None if refused else self.take(option, claim, device)
            if undo is None:
                for earlier in reversed(undos):
                    earlier.restore(self)
                return None
            undos.append(undo)
        return undos

    def _spend(self, work: int) -> None:
        self.steps += work
        if self.steps > self._limit:
            raise _SpentError
