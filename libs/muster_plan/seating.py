"""The best of all variants with every pod seated, also where pods of several nodes draw on one network pool."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from muster_plan.assembly import Variant, build_problem, variants_of
from muster_plan.device_state import REACH
from muster_plan.gang import Gang
from muster_plan.model import Cap
from muster_plan.placing import Clash, Load, Seated, loads_of, seat, seat_loads
from muster_plan.policy import Policy
from muster_plan.snapshot import Snapshot
from muster_plan.solving import Solved, Unsolved, solve

_ROUNDS = 24  # how often the number of pods on a pool is cut before the search gives up


@dataclass(frozen=True, slots=True)
class Refused:
    """No plan. `variants` are what was searched, with the bounds that clashes taught."""

    gave_up: bool
    variants: tuple[Variant, ...]


def settle(
    snapshot: Snapshot, gang: Gang, policy: Policy, *, unlimited: bool = False
) -> tuple[Solved, Seated] | Refused:
    """The best plan with every pod seated. `unlimited`: any plan without maxima."""
    return settle_over(variants_of(build_problem(snapshot, gang, policy)), unlimited=unlimited)


def settle_over(variants: tuple[Variant, ...], *, unlimited: bool = False) -> tuple[Solved, Seated] | Refused:
    """As `settle`, over all variants of a problem."""
    best = best_of(variants, unlimited=unlimited)
    if not isinstance(best, Unsolved):
        return best
    if not best.clashed:
        return Refused(best.gave_up, variants)
    problem = variants[0].problem
    apart = build_problem(problem.snapshot, problem.gang, problem.policy, by_reach=True)
    return untangled(variants_of(apart), unlimited=unlimited)


def best_of(variants: Iterable[Variant], *, unlimited: bool = False) -> tuple[Solved, Seated] | Unsolved:
    """The best over all ways to serve the shared claims; without maxima the first."""
    best: tuple[Solved, Seated] | None = None
    gave_up = clashed = False
    for variant in variants:
        solved = solve(variant, unlimited=unlimited)
        if isinstance(solved, Unsolved):
            gave_up = gave_up or solved.gave_up
            continue
        if best is not None and (solved.cost, solved.new_nodes) >= (best[0].cost, best[0].new_nodes):
            continue
        seated = seat(solved)
        if isinstance(seated, Clash):
            clashed = True
            continue
        best = solved, seated
        if unlimited:
            return best
    if clashed:  # a way that may be better than the best is still tangled
        return Unsolved(gave_up, clashed=True)
    return Unsolved(gave_up) if best is None else best


def untangled(variants: Sequence[Variant], *, unlimited: bool = False) -> tuple[Solved, Seated] | Refused:
    """As `best_of`, over a problem that tells reaches apart: each clash bounds the pods of its kinds in its reach.

    For one kind the bound is exact. With several kinds it is that of the mix at hand, so a no is not proven.
    """
    caps: tuple[Cap, ...] = ()
    for _ in range(_ROUNDS):
        capped = tuple(replace(each, demand=replace(each.demand, caps=caps)) for each in variants)
        best = best_of(capped, unlimited=unlimited)
        if not isinstance(best, Unsolved):
            return best
        if not best.clashed:
            return Refused(best.gave_up or any(len(kinds) > 1 for kinds, *_ in caps), capped)
        new = [cap for each in capped for cap in _caps(each, unlimited=unlimited)]
        if not new:
            break
        caps = _tightest((*caps, *new))
    return Refused(gave_up=True, variants=tuple(variants))


def _caps(variant: Variant, *, unlimited: bool) -> tuple[Cap, ...]:
    """The bound that a variant's clash teaches, none if it has no clash."""
    solved = solve(variant, unlimited=unlimited)
    if not isinstance(solved, Solved):
        return ()
    loads, _ = loads_of(solved)
    clash = seat_loads(variant, loads)
    if not isinstance(clash, Clash):
        return ()
    position = variant.demand.topologies.keys.index(REACH)
    value = clash.load.cell[position]
    kinds = tuple(
        kind.index for kind in variant.problem.kinds if clash.load.counts[kind.index] and kind.pod_set.own_claims
    )
    if value is None or not kinds:
        return ()
    done = loads[: loads.index(clash.load)]
    seated = sum(load.counts[kind] for load in done for kind in kinds if load.cell[position] == value)
    return ((kinds, REACH, value, seated + _fitting(variant, done, clash.load, kinds)),)


def _fitting(variant: Variant, done: Sequence[Load], load: Load, kinds: tuple[int, ...]) -> int:
    """How many pods of the clashing node still find devices beside those that are seated."""
    counts = list(load.counts)
    while any(counts[kind] for kind in kinds):
        largest = max(kinds, key=lambda kind: counts[kind])
        counts[largest] -= 1
        if not isinstance(seat_loads(variant, (*done, replace(load, counts=tuple(counts)))), Clash):
            return sum(counts[kind] for kind in kinds)
    return 0


def _tightest(caps: Iterable[Cap]) -> tuple[Cap, ...]:
    found: dict[tuple[tuple[int, ...], str, str], int] = {}
    for kinds, key, value, most in caps:
        found[kinds, key, value] = min(most, found.get((kinds, key, value), most))
    return tuple((*key, most) for key, most in sorted(found.items()))
