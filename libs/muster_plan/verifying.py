"""C9: whether a plan holds on the nodes that arrived. Allocation runs again on their actual slices."""

from collections.abc import Mapping
from dataclasses import replace

from muster_plan.assembly import Mode, Problem, Variant, build_problem, variant_of
from muster_plan.gang import Gang
from muster_plan.labels import HOSTNAME
from muster_plan.network import network_uses
from muster_plan.patterns import Counts
from muster_plan.placing import Clash, Load, seat_loads
from muster_plan.plan_types import Broken, ExistingNode, NewNode, Placement, Plan, PlanReason, ReasonCode, Verified
from muster_plan.policy import Policy
from muster_plan.present import present
from muster_plan.snapshot import Snapshot
from muster_plan.stocks import Stock
from muster_plan.wording import CODES, refusal_text
from muster_types import NodeName, format_quantity


def verify(snapshot: Snapshot, gang: Gang, plan: Plan, nodes: Mapping[NewNode, NodeName]) -> Verified | Broken:
    """The plan on actual nodes and devices, or why it does not hold.

    `snapshot` is without the gang's own booking. `nodes` says what became of the plan's new nodes; pods may change
    devices, they do not change nodes. All pods of a node are allocated together, and what several nodes reach once.
    """
    where: dict[NodeName, list[Placement]] = {}
    missing: list[PlanReason] = []
    for placement in plan.placements:
        target = placement.target
        name = target.name if isinstance(target, ExistingNode) else nodes.get(target)
        if name is None or snapshot.node(name) is None:
            text = f"{placement.pod_set}-{placement.index}: node {name or target} is not there"
            missing.append(PlanReason(ReasonCode.NO_NODES, str(name or target), text, {}))
        else:
            where.setdefault(name, []).append(placement)
    if missing:
        return Broken(gang.id, tuple(missing), ())
    problem = build_problem(snapshot, gang, Policy())
    stocks = {name: stock for stock in problem.existing for name in stock.names}
    reasons = [*_barriers(problem, stocks, where), *_domains(problem, where)]
    if reasons:
        return Broken(gang.id, tuple(reasons), _subjects(reasons))
    clash: Broken | None = None
    for uses in network_uses(gang, problem.shared, snapshot, problem.potentials):
        variant = variant_of(problem, Mode(uses))
        answer = _seated(variant, where)
        if not isinstance(answer, Broken):
            return Verified(replace(plan, placements=_renamed(plan, where, answer)))
        clash = clash or answer
    return present(clash, "the way in which every claim takes its devices on a node")


def _barriers(
    problem: Problem, stocks: Mapping[NodeName, Stock], where: Mapping[NodeName, list[Placement]]
) -> list[PlanReason]:
    """What keeps pods off their nodes, devices apart."""
    found: list[PlanReason] = []
    for name in sorted(where):
        stock = stocks[name]
        for kind in problem.kinds:
            barrier = stock.blocked[kind.index]
            if barrier is not None and any(each.pod_set == kind.pod_set.name for each in where[name]):
                text = f"node {name} cannot take pod set {kind.name}: {barrier.detail}"
                found.append(PlanReason(CODES[barrier.barrier], name, text, {"node": name, "podSet": kind.name}))
    return found


def _domains(problem: Problem, where: Mapping[NodeName, list[Placement]]) -> list[PlanReason]:
    """Required topologies over the labels that the nodes really carry."""
    found: list[PlanReason] = []
    for scope in problem.topologies.scopes:
        names = {problem.kinds[kind].pod_set.name for kind in scope.kinds}
        values: dict[str, NodeName] = {}
        for node in sorted(where):
            if any(each.pod_set in names for each in where[node]):
                labels = _labels(problem, node)
                values.setdefault(node if scope.key == HOSTNAME else labels.get(scope.key, ""), node)
        if len(values) > 1 or "" in values:
            shown = ", ".join(f"{node} in {value or 'none'}" for value, node in sorted(values.items()))
            sets = ", ".join(sorted(names))
            text = f"pod set {sets}: one domain of {scope.key} is required, the nodes are spread: {shown}"
            found.append(PlanReason(ReasonCode.DOMAIN, scope.key, text, {"key": scope.key}))
    for layer in problem.topologies.layers:
        kind = problem.kinds[layer.kind]
        counts: dict[str, int] = {}
        for node in sorted(where):
            value = _labels(problem, node).get(layer.key, "")
            here = sum(1 for each in where[node] if each.pod_set == kind.pod_set.name)
            counts[value] = counts.get(value, 0) + here
        for value, count in sorted(counts.items()):
            if count % layer.size or (count and not value):
                text = f"pod set {kind.name}: {count} pods in {layer.key}={value or 'none'}, slices are of {layer.size}"
                found.append(PlanReason(ReasonCode.SLICES, layer.key, text, {"key": layer.key, "count": count}))
    return found


def _labels(problem: Problem, name: NodeName) -> Mapping[str, str]:
    node = problem.snapshot.node(name)
    return {} if node is None else node.labels


def _subjects(reasons: list[PlanReason]) -> tuple[NodeName, ...]:
    return tuple(sorted({NodeName(str(each.data["node"])) for each in reasons if "node" in each.data}))


def _seated(variant: Variant, where: Mapping[NodeName, list[Placement]]) -> tuple[Placement, ...] | Broken:
    problem = variant.problem
    stocks = {name: stock for stock in variant.existing for name in stock.names}
    loads: list[Load] = []
    homes: dict[int, NodeName] = {}
    for name in sorted(where):
        counts: Counts = tuple(
            sum(1 for each in where[name] if each.pod_set == kind.pod_set.name) for kind in problem.kinds
        )
        flags = frozenset[int]().union(
            *(variant.fitter.flags.of_kind[index] for index, count in enumerate(counts) if count)
        )
        for flag in flags:
            if homes.setdefault(flag, name) != name:
                claim = variant.fitter.flags.claims[flag]
                what = "a pod set that wants one node" if claim is None else f"claim {claim.id}"
                text = f"{what} lies on node {homes[flag]}, a pod that needs it on {name}"
                return _broken(problem, name, ReasonCode.SHARED_CLAIM, text)
        if not variant.fitter.room_fits(stocks[name], counts):
            text = f"node {name} has no room left for its pods: {_room_text(variant, stocks[name], counts)}"
            return _broken(problem, name, ReasonCode.RESOURCES, text)
        loads.append(Load(ExistingNode(name), stocks[name], counts, flags, stocks[name].domains))
    answer = seat_loads(variant, loads)
    if not isinstance(answer, Clash):
        return answer
    name = NodeName(str(answer.load.target))
    return _broken(problem, name, ReasonCode.SHAPE, f"node {name}: {refusal_text(answer.outcome)}")


def _broken(problem: Problem, name: NodeName, code: ReasonCode, text: str) -> Broken:
    return Broken(problem.gang.id, (PlanReason(code, name, text, {"node": name}),), (name,))


def _room_text(variant: Variant, stock: Stock, counts: Counts) -> str:
    short = variant.fitter.short_of(stock, counts)
    return ", ".join(
        f"{resource} {format_quantity(wanted)} wanted, {format_quantity(free)} free" for resource, wanted, free in short
    )


def _renamed(
    plan: Plan, where: Mapping[NodeName, list[Placement]], seated: tuple[Placement, ...]
) -> tuple[Placement, ...]:
    """Each pod keeps its number; devices of pods of one set on one node are alike."""
    left: dict[tuple[str, str], list[Placement]] = {}
    for each in seated:
        left.setdefault((str(each.target), each.pod_set), []).append(each)
    found: dict[tuple[str, int], Placement] = {}
    for name in sorted(where):
        for placement in sorted(where[name], key=lambda each: (each.pod_set, each.index)):
            seat = left[name, placement.pod_set].pop(0)
            found[placement.pod_set, placement.index] = replace(seat, index=placement.index)
    return tuple(found[each.pod_set, each.index] for each in plan.placements)
