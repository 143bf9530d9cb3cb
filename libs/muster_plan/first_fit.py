"""Whether a plan survives kube-scheduler (traps T39, k/k#138765), and what has to be pinned if not.

The scheduler takes the pods one by one in the order of the pod sets, gives each the first devices that fit on a node
of its own choice among the gang's nodes, and never looks back. A plan survives if no such choice leaves a pod over.
Otherwise every pod is told its node; where even the order of pods on a node matters it is pinned too, and where no
order helps the claims have to be narrowed to their devices.
"""

from dataclasses import dataclass, replace
from itertools import islice, permutations

from muster_plan.assembly import Variant
from muster_plan.eligibility import Barrier, Blocked
from muster_plan.placing import Load, Seated
from muster_plan.plan_types import Pin, PinKind, Placement, Survival
from muster_plan.sequences import Arrivals, Sequence

_SEARCHED_NODES = 16  # beyond it several kinds that can sit on each other's nodes are pinned unexamined
_BUDGET = 4000  # states of the search for a choice that spoils the plan
_KNAPSACK = 400_000  # steps of the knapsack
_ORDERS = 200  # orders of pods on one node that are tried


@dataclass(frozen=True, slots=True)
class Replay:
    survival: Survival
    pins: tuple[Pin, ...]


def replay(variant: Variant, seated: Seated) -> Replay:
    """Replays a plan adversarially. Deterministic; gives up on proving survival after a fixed number of states."""
    loads = _restricted(variant, [load for load in seated.loads if any(load.counts)])
    order = _order(variant)
    arrivals = Arrivals(variant.fitter)
    if all(use is None for use in variant.mode.uses) and _survives(variant, loads, order, arrivals):
        return Replay(Survival.SURVIVES, ())
    return Replay(Survival.PINNED, _pins(variant, seated.placements, loads, order, arrivals))


def _restricted(variant: Variant, loads: list[Load]) -> list[Load]:
    """Required domains are told to the scheduler (Kueue's selectors, PodGroup topology): a kind stays in its own."""
    keys = variant.demand.topologies.keys
    barred: dict[int, set[int]] = {}
    for scope in variant.demand.topologies.scopes:
        if scope.key not in keys:
            continue
        position = keys.index(scope.key)
        chosen = {load.cell[position] for load in loads if any(load.counts[kind] for kind in scope.kinds)}
        for index, load in enumerate(loads):
            if load.cell[position] not in chosen:
                barred.setdefault(index, set()).update(scope.kinds)
    if not barred:
        return loads
    ids: dict[tuple[int, tuple[int, ...]], int] = {}
    found: list[Load] = []
    for index, load in enumerate(loads):
        kinds = tuple(sorted(barred.get(index, ())))
        id = ids.setdefault((load.stock.id, kinds), len(ids))
        blocked = tuple(
            Blocked(Barrier.SELECTOR, "another domain") if kind in kinds else each
            for kind, each in enumerate(load.stock.blocked)
        )
        found.append(replace(load, stock=replace(load.stock, id=id, blocked=blocked)))
    return found


def _order(variant: Variant) -> tuple[int, ...]:
    """Kinds as the queue sorts them: priority first, then as the pod sets stand."""
    kinds = sorted(variant.problem.kinds, key=lambda kind: (-kind.spec.priority, kind.index))
    return tuple(kind.index for kind in kinds)


def _survives(variant: Variant, loads: list[Load], order: tuple[int, ...], arrivals: Arrivals) -> bool:
    totals = [sum(load.counts[kind] for load in loads) for kind in range(len(variant.problem.kinds))]
    kinds = [kind for kind in order if totals[kind]]
    if len(loads) == 1:
        return arrivals.fits(loads[0].stock, tuple(kind for kind in kinds for _ in range(totals[kind])))
    topologies = variant.demand.topologies
    steered = topologies.layers or topologies.spreads or topologies.apart or topologies.near
    if steered or any(variant.fitter.flags.of_kind[kind] for kind in kinds):
        return _alone(loads, kinds, arrivals)
    if len(kinds) == 1:
        return _fills(loads, kinds[0], totals[kinds[0]], arrivals)
    if len(kinds) == 2:
        return _second_survives(loads, kinds[0], kinds[1], totals, arrivals)
    if _alone(loads, kinds, arrivals):
        return True
    return len(loads) <= _SEARCHED_NODES and _Search(loads, kinds, totals, arrivals).survives()


def _alone(loads: list[Load], kinds: list[int], arrivals: Arrivals) -> bool:
    """Nobody has a choice: no node takes more of a kind than the plan gives it, alone or beside others."""
    return all(
        arrivals.fits(load.stock, _planned(load, kinds))
        and all(arrivals.capacity(load.stock, (), kind, load.counts[kind] + 1) <= load.counts[kind] for kind in kinds)
        for load in loads
    )


def _planned(load: Load, kinds: list[int]) -> Sequence:
    return tuple(kind for kind in kinds for _ in range(load.counts[kind]))


def _fills(loads: list[Load], kind: int, total: int, arrivals: Arrivals) -> bool:
    """Pods of one kind fill every node to its own end, whatever the order of nodes."""
    if all(arrivals.fits(load.stock, (kind,) * load.counts[kind]) for load in loads):
        return True
    return sum(arrivals.capacity(load.stock, (), kind, total) for load in loads) >= total


def _second_survives(loads: list[Load], first: int, second: int, totals: list[int], arrivals: Arrivals) -> bool:
    """The first kind places itself where it hurts the second most: a knapsack over nodes and pods of the first."""
    wanted, attackers = totals[second], totals[first]
    if not _fills(loads, first, attackers, arrivals):
        return False
    room = 0
    losses: list[list[int]] = []
    for load in loads:
        free = arrivals.capacity(load.stock, (), second, wanted)
        room += free
        most = arrivals.capacity(load.stock, (), first, attackers)
        losses.append([free - arrivals.capacity(load.stock, (first,) * n, second, free) for n in range(most + 1)])
    if not any(map(any, losses)):
        return room >= wanted
    if sum(map(len, losses)) * attackers > _KNAPSACK:
        return False
    worst = [0] + [-1] * attackers  # most room taken from the second kind, by pods of the first that are placed
    for loss in losses:
        most = len(loss) - 1
        for placed in range(attackers, -1, -1):
            worst[placed] = max(
                (worst[placed - n] + loss[n] for n in range(min(most, placed) + 1) if worst[placed - n] >= 0),
                default=-1,
            )
    return worst[attackers] >= 0 and room - worst[attackers] >= wanted


class _Search:
    """Looks for a choice of nodes that leaves a pod over; nodes of one stock are told apart by what they hold only."""

    def __init__(self, loads: list[Load], kinds: list[int], totals: list[int], arrivals: Arrivals) -> None:
        self._stocks = {load.stock.id: load.stock for load in loads}
        self._start = tuple(sorted((load.stock.id, ()) for load in loads))
        self._pods = [kind for kind in kinds for _ in range(totals[kind])]
        self._arrivals = arrivals
        self._seen: set[tuple[int, tuple[tuple[int, Sequence], ...]]] = set()

    def survives(self) -> bool:
        """False also when the budget ends: then nothing is proven."""
        stack: list[tuple[int, tuple[tuple[int, Sequence], ...]]] = [(0, self._start)]
        while stack:
            state = stack.pop()
            if state in self._seen:
                continue
            if len(self._seen) >= _BUDGET:
                return False
            self._seen.add(state)
            placed, nodes = state
            if placed == len(self._pods):
                continue
            kind = self._pods[placed]
            choices = {node for node in nodes if self._arrivals.fits(self._stocks[node[0]], (*node[1], kind))}
            if not choices:
                return False
            for id, held in sorted(choices):
                rest = list(nodes)
                rest.remove((id, held))
                stack.append((placed + 1, tuple(sorted([*rest, (id, (*held, kind))]))))
        return True


def _pins(
    variant: Variant,
    placements: tuple[Placement, ...],
    loads: list[Load],
    order: tuple[int, ...],
    arrivals: Arrivals,
) -> tuple[Pin, ...]:
    names = {kind.pod_set.name: kind.index for kind in variant.problem.kinds}
    pinned = {str(load.target): _pin_of(load, order, arrivals, one_node=len(loads) == 1) for load in loads}
    places = {
        (target, kind): [place for place, each in enumerate(sequence) if each == kind]
        for target, (_, _, sequence) in pinned.items()
        for kind in set(sequence)
    }
    found: list[Pin] = []
    for each in sorted(placements, key=lambda each: (names[each.pod_set], each.index)):
        kind, why, _ = pinned[str(each.target)]
        position = places[str(each.target), names[each.pod_set]].pop(0)
        found.append(Pin(kind, each.pod_set, each.index, each.target, why, position))
    return tuple(found)


def _pin_of(load: Load, order: tuple[int, ...], arrivals: Arrivals, *, one_node: bool) -> tuple[PinKind, str, Sequence]:
    """What has to be pinned on a node, why, and the order of kinds in which its pods find their devices."""
    planned = tuple(kind for kind in order for _ in range(load.counts[kind]))
    if arrivals.fits(load.stock, planned) and not one_node:
        return PinKind.NODE, "on another of the gang's nodes it could take the place of a later pod", planned
    for sequence in islice(permutations(planned), _ORDERS):
        if arrivals.fits(load.stock, sequence):
            return PinKind.ORDER, "only in this order do all pods of the node find devices by first fit", sequence
    return PinKind.DEVICES, "by first fit the pods of the node take devices that a later pod needs", planned
