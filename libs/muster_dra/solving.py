"""From a plan and what is taken to the first solution, remembered wherever nodes are alike."""

from muster_dra.compiled import CompiledClaims
from muster_dra.found import Ended, Found
from muster_dra.outcome import FatalKind
from muster_dra.outline import Plan
from muster_dra.prepare import MAX_RESULTS
from muster_dra.search import search
from muster_dra.shapes import Shape
from muster_dra.situation import Situation, plain_situation, situation, starting_sets
from muster_dra.views import Occupancy

_REMEMBERED = 65536


class _Missing:
    pass


_MISSING = _Missing()


def solve(plan: Plan, compiled: CompiledClaims, shape: Shape, taken: Occupancy, steps: int) -> Found:
    """The first solution in upstream's order. `steps`: how many devices may be tried."""
    # What is left of a device that once was shared and is exclusive now is no part of the plan: not to be remembered.
    if any(not shape.shared >> device & 1 for device in taken.committed):
        return _search(situation(plan, compiled, shape, taken), steps)
    found = plan.solved.get(taken.key, _MISSING)
    if isinstance(found, _Missing):
        found = _search(situation(plan, compiled, shape, taken), steps)
        _remember(plan.solved, taken.key, found)
    return found


def solve_exclusive(plan: Plan, dedicated: int, steps: int) -> Found:
    """As `solve`, where only exclusive devices are in use."""
    dedicated &= plan.watched
    found = plan.solved.get(dedicated, _MISSING)
    if isinstance(found, _Missing):
        found = _shrink_and_search(plan, dedicated, steps)
        _remember(plan.solved, dedicated, found)
    return found


def shrunk_sets(plan: Plan, dedicated: int) -> tuple[int, ...] | None:
    """What decides the answer when only exclusive devices are in use: equal values, equal answers. None: hopeless."""
    if not plan.shrinks:
        return (dedicated,)
    sets: list[int] = []
    free = ~dedicated
    for mask, barred, whole in plan.starts():
        kept = mask & free if barred else mask
        sets.append(kept if not whole or kept == mask else 0)
    if plan.first_bound().hopeless(sets):
        return None
    return (*sets, dedicated) if plan.has_admin else tuple(sets)


def _shrink_and_search(plan: Plan, dedicated: int, steps: int) -> Found:
    """Nodes that differ only in devices no solution can use have one answer."""
    key = shrunk_sets(plan, dedicated)
    if key is None:
        return None
    if not plan.shrinks:
        return _search(plain_situation(plan, dedicated, starting_sets(plan, dedicated)), steps)
    found = plan.solved_sets.get(key, _MISSING)
    if isinstance(found, _Missing):
        sets = [key[number] for number in plan.first_bound().set_of]
        found = _search(plain_situation(plan, dedicated, sets), steps)
        _remember(plan.solved_sets, key, found)
    return found


def _search(start: Situation, steps: int) -> Found:
    least = [0] * len(start.plan.least)
    for request, options in zip(start.plan.content.requests, start.options, strict=True):
        least[request.claim] += min(option.need for option in options)
    for claim, needed in enumerate(least):
        if needed > MAX_RESULTS:
            return Ended(FatalKind.TOO_MANY_DEVICES, claim)
    if start.plan.every_error is not None:
        return Ended(FatalKind.EXPRESSION, *start.plan.every_error)
    return search(start, steps)[0]


def _remember(known: dict[object, Found], key: object, found: Found) -> None:
    if isinstance(found, Ended) and found.kind is FatalKind.GAVE_UP:
        return
    if len(known) >= _REMEMBERED:
        known.clear()
    known[key] = found
