"""From counts to names: which pod goes to which node with which devices."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from muster_dra import AllocatedDevice, Allocation, Fatal, NodeError, NoFit, PoolId, allocate
from muster_plan.assembly import Problem, Variant
from muster_plan.booked_devices import recorded, to_allocated, to_planned
from muster_plan.extended import ENTRY
from muster_plan.gang import OwnClaim
from muster_plan.kinds import Kind
from muster_plan.model import Source
from muster_plan.network import NetworkUse
from muster_plan.patterns import Asked, Counts
from muster_plan.plan_types import ExistingNode, GroupOrder, NewNode, Placement, PlannedClaim, PlannedDevice, Target
from muster_plan.present import present
from muster_plan.solving import Solved
from muster_plan.stocks import Stock
from muster_plan.supplies import Cell
from muster_types import NodeGroupName


@dataclass(frozen=True, slots=True)
class Load:
    """The pods that one node gets. `flags` are the shared claims and whole pod sets it carries."""

    target: Target
    stock: Stock
    counts: Counts
    flags: frozenset[int]
    cell: Cell


@dataclass(frozen=True, slots=True)
class Seated:
    """All pods placed. `loads` are the nodes in use, new ones and those that a unit brings along unused included."""

    placements: tuple[Placement, ...]
    orders: tuple[GroupOrder, ...]
    loads: tuple[Load, ...]


@dataclass(frozen=True, slots=True)
class Clash:
    """Network-attached devices do not suffice for all nodes together, which no single node could see."""

    load: Load
    outcome: NoFit | NodeError | Fatal


def loads_of(solved: Solved) -> tuple[tuple[Load, ...], tuple[GroupOrder, ...]]:
    """Nodes by name get their numbers of pods; a new node gets its ordinal in the order of its unit."""
    model, solution = solved.model, solved.solution
    place = {cell: index for index, cell in enumerate(model.cells)}
    left = {key: solution.whole(column) for key, column in model.pods.items()}
    loads: list[Load] = []
    ordered: dict[NodeGroupName, int] = {}
    for source in model.sources:
        cell = place[source.cell]
        targets = _targets(source, ordered.get(source.supply.group.name, 0) if source.supply.group else 0)
        for pattern, column in zip(source.supply.patterns, source.patterns, strict=True):
            for _ in range(solution.whole(column)):
                counts = tuple(min(count, left.get((kind, cell), 0)) for kind, count in enumerate(pattern.counts))
                if source.supply.group is None and not any(counts):
                    continue
                for kind, count in enumerate(counts):
                    if count:
                        left[kind, cell] -= count
                target, stock = next(targets)
                loads.append(Load(target, stock, counts, pattern.flags, source.cell))
        group = source.supply.group
        if group is not None:
            taken = sum(solution.whole(column) for column in source.patterns)
            if source.steps is not None:
                taken = solution.whole(source.steps) * source.supply.step
            ordered[group.name] = ordered.get(group.name, 0) + taken
    if any(left.values()):
        raise LookupError("a counted pod has no node: a defect of the planner")
    orders = tuple(GroupOrder(name, ordered[name]) for name in sorted(ordered) if ordered[name])
    return tuple(sorted(loads, key=_order)), orders


def _targets(source: Source, start: int) -> Iterator[tuple[Target, Stock]]:
    for stock in source.supply.stocks:
        if stock.group is None:
            for name in stock.names:
                yield ExistingNode(name), stock
        else:
            for ordinal in range(start, start + source.supply.nodes + 1):
                yield NewNode(stock.group.name, ordinal), stock


def _order(load: Load) -> tuple[bool, str, int]:
    match load.target:
        case ExistingNode(name):
            return (False, name, 0)
        case NewNode(group, ordinal):
            return (True, group, ordinal)


def seat(solved: Solved) -> Seated | Clash:
    """Names for all that was counted."""
    loads, orders = loads_of(solved)
    placements = seat_loads(solved.variant, loads)
    return placements if isinstance(placements, Clash) else Seated(placements, orders, loads)


def seat_loads(variant: Variant, loads: Sequence[Load]) -> tuple[Placement, ...] | Clash:
    """Devices for every node, one after the other, so that what several nodes reach is given once."""
    problem = variant.problem
    network = _network_claims(variant)
    pools = {each.pool for each in problem.snapshot.network}
    known: dict[Hashable, Found] = {}
    given = [to_allocated(device) for _, claim in sorted(network.items()) for device in claim.results]
    placements: list[Placement] = []
    numbers = [0] * len(problem.kinds)
    for load in loads:
        asked = variant.fitter.asked(load.stock, load.counts, load.flags)
        # New nodes of a group are alike; what they reach beside their own devices is not given yet.
        alike = (load.stock.id, load.counts, load.flags) if isinstance(load.target, NewNode) and not given else None
        found = known.get(alike) or _devices(problem, load, asked, given)
        if not isinstance(found, dict):
            return Clash(load, found)
        if alike is not None:
            known[alike] = found
        for results in found.values():
            given.extend(
                to_allocated(device) for device in results if PoolId(device.device.driver, device.device.pool) in pools
            )
        for kind, count in zip(problem.kinds, load.counts, strict=True):
            for copy in range(count):
                claims = _claims(kind, copy, load, found, network)
                placements.append(Placement(kind.pod_set.name, numbers[kind.index], load.target, claims))
                numbers[kind.index] += 1
    return tuple(placements)


Found = dict[tuple[int | None, int, str, str], tuple[PlannedDevice, ...]]
"""Results by kind, number on the node, entry and shared claim."""


def _devices(
    problem: Problem, load: Load, asked: Sequence[Asked], given: Sequence[AllocatedDevice]
) -> Found | NoFit | NodeError | Fatal:
    if not asked:
        return {}
    stock, snapshot = load.stock, problem.snapshot
    node = stock.node
    if isinstance(load.target, ExistingNode):
        node = present(snapshot.node(load.target.name), "a node with a stock").node
    allocated = stock.allocated.plus(given, f"gang {problem.gang.id}") if given else stock.allocated
    outcome = allocate(node, [each.claim for each in asked], stock.catalog, allocated)
    if not isinstance(outcome, Allocation):
        return outcome
    found: Found = {}
    for each, claim in zip(asked, outcome.claims, strict=True):
        devices = tuple(_as_written(to_planned(result), stock) for result in claim.results)
        found[each.kind, each.copy, each.entry, each.shared] = devices
    return found


def _as_written(device: PlannedDevice, stock: Stock) -> PlannedDevice:
    if stock.potential is None:
        return device
    return replace(device, device=stock.potential.promise.as_written(device.device))


def _network_claims(variant: Variant) -> dict[str, NetworkUse]:
    return {
        claim.id: use for claim, use in zip(variant.problem.shared, variant.mode.uses, strict=True) if use is not None
    }


def _claims(
    kind: Kind, copy: int, load: Load, found: Found, network: Mapping[str, NetworkUse]
) -> tuple[PlannedClaim, ...]:
    claims: list[PlannedClaim] = []
    for entry in kind.pod_set.claims:
        if isinstance(entry, OwnClaim):
            results = found[kind.index, copy, entry.entry, ""]
            claims.append(PlannedClaim(entry.entry, "", existing=False, results=results))
            continue
        claim = entry.claim
        if claim.existing is not None and claim.existing.allocation is not None:
            held = tuple(map(recorded, claim.existing.allocation.devices))
            claims.append(PlannedClaim(entry.entry, claim.id, existing=True, results=held))
        elif claim.id in network:
            claims.append(PlannedClaim(entry.entry, claim.id, existing=False, results=network[claim.id].results))
        else:
            claims.append(PlannedClaim(entry.entry, claim.id, existing=False, results=found[None, 0, "", claim.id]))
    if load.stock.by_claim[kind.index]:
        claims.append(PlannedClaim(ENTRY, "", existing=False, results=found[kind.index, copy, ENTRY, ""]))
    return tuple(claims)
