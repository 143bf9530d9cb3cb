"""What a plan says beside placements: domains, spare capacity, what has to be verified on arrival."""

from muster_plan.assembly import Problem
from muster_plan.labels import HOSTNAME
from muster_plan.model import UNIT
from muster_plan.placing import Seated
from muster_plan.plan_types import ChosenDomain, NewNode, Spare
from muster_plan.pods import PODS
from muster_plan.potential import Potential
from muster_plan.stocks import ASSUMED
from muster_types import Nano


def chosen_domains(problem: Problem, seated: Seated) -> tuple[ChosenDomain, ...]:
    """The domain of every required scope. A value that only arrival will tell is named after its group."""
    keys = problem.topologies.keys
    found: list[ChosenDomain] = []
    for scope in problem.topologies.scopes:
        names = tuple(problem.kinds[kind].pod_set.name for kind in scope.kinds)
        for load in seated.loads:
            if not any(load.counts[kind] for kind in scope.kinds):
                continue
            value = str(load.target) if scope.key == HOSTNAME else load.cell[keys.index(scope.key)] or ""
            known = not value.startswith((UNIT, ASSUMED)) and not (scope.key == HOSTNAME and _is_new(load.target))
            found.append(ChosenDomain(names, scope.key, readable(value), known))
            break
    return tuple(found)


def _is_new(target: object) -> bool:
    return isinstance(target, NewNode)


def readable(value: str) -> str:
    """A domain value in words: a unit that is still to come has no value yet."""
    if value.startswith(UNIT):
        _, group, unit = value.split("/")
        return f"new unit {int(unit) + 1} of group {group}"
    if value.startswith(ASSUMED):
        return f"new nodes of group {value.removeprefix(ASSUMED)}"
    return value


def assumptions(problem: Problem, seated: Seated) -> tuple[str, ...]:
    """What the templates do not say and the policy allowed to order for."""
    found: set[str] = set()
    for load in seated.loads:
        if any(load.counts):
            for key, value in zip(problem.topologies.keys, load.cell, strict=True):
                if value is not None and value.startswith(ASSUMED):
                    found.add(f"the new nodes of group {value.removeprefix(ASSUMED)} share one value of {key}")
    return tuple(sorted(found))


def spare_of(problem: Problem, seated: Seated) -> tuple[Spare, ...]:
    """What the gang leaves free on each node it orders, nodes that come along in a unit included."""
    loads = {load.target: load for load in seated.loads}
    used: dict[NewNode, dict[str, int]] = {}
    for placement in seated.placements:
        if isinstance(placement.target, NewNode):
            devices = used.setdefault(placement.target, {})
            seen: set[str] = set()
            for claim in placement.claims:
                if claim.shared and claim.shared in seen:
                    continue
                seen.add(claim.shared)
                for result in claim.results:
                    devices[result.device.driver] = devices.get(result.device.driver, 0) + 1
    found: list[Spare] = []
    for order in seated.orders:
        potential = problem.potentials.by_group[order.group]
        for ordinal in range(order.count):
            target = NewNode(order.group, ordinal)
            load = loads.get(target)
            counts = load.counts if load is not None else tuple(0 for _ in problem.kinds)
            found.append(
                Spare(target, _resources(problem, potential, counts), _devices(potential, used.get(target, {})))
            )
    return tuple(found)


def _resources(problem: Problem, potential: Potential, counts: tuple[int, ...]) -> tuple[tuple[str, Nano], ...]:
    free = dict(potential.free)
    for kind, count in zip(problem.kinds, counts, strict=True):
        for resource, amount in kind.requests.items():
            if resource in free:
                free[resource] -= amount * count
    return tuple((name, Nano(max(free[name], 0))) for name in sorted(free) if name != PODS)


def _devices(potential: Potential, used: dict[str, int]) -> tuple[tuple[str, int], ...]:
    total: dict[str, int] = {}
    for each in potential.promise.slices:
        if not each.holds_counters:
            total[each.pool.driver] = total.get(each.pool.driver, 0) + len(each.devices)
    return tuple((driver, max(total[driver] - used.get(driver, 0), 0)) for driver in sorted(total))
