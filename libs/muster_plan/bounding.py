"""A lower bound of the cost that needs not all patterns: room is added up over nodes, each kind within its own most."""

from collections.abc import Sequence
from fractions import Fraction

from muster_plan.assembly import Variant
from muster_plan.model import scaled
from muster_plan.programme import Column, Outcome, Programme
from muster_plan.supplies import Supply


def relaxed_bound(variant: Variant, supplies: Sequence[Supply]) -> Fraction | None:
    """The least cost if a node could be cut freely among kinds: no plan is cheaper, and without one (None) there is no
    plan at all. Topology rules are left out."""
    programme = Programme()
    cost: dict[Column, Fraction] = {}
    kinds = variant.problem.kinds
    placed: dict[int, list[tuple[Column, float]]] = {kind.index: [] for kind in kinds}
    for supply in supplies:
        nodes = programme.column(0, supply.nodes)
        if supply.group is not None:
            steps = programme.column(0, supply.steps)
            programme.row([(nodes, 1.0), (steps, -float(supply.step))], upper=0)
            cost[steps] = supply.price * supply.step
        pods: list[tuple[int, Column]] = []
        for kind in kinds:
            most = max((pattern.counts[kind.index] for pattern in supply.patterns), default=0)
            if most:
                column = programme.column(0, kind.count)
                programme.row([(column, 1.0), (nodes, -float(most))], upper=0)
                placed[kind.index].append((column, 1.0))
                pods.append((kind.index, column))
        for resource in variant.problem.scene.resources:
            free = max(stock.free.get(resource, 0) for stock in supply.stocks)
            shares = [
                (column, kinds[index].requests.get(resource, 0) / free)
                for index, column in pods
                if free and resource not in supply.stocks[0].by_claim[index]
            ]
            if len(shares) > 1:
                programme.row([*shares, (nodes, -1.0)], upper=0)
        devices = variant.fitter.device_shares(supply.stocks, [index for index, _ in pods])
        if devices is not None:
            programme.row([*((column, devices[index]) for index, column in pods), (nodes, -1.0)], upper=0)
    optional = {kind for group, _ in variant.demand.minimums for kind in group}
    for group, least in variant.demand.minimums:
        programme.row([term for kind in group for term in placed[kind]], lower=least)
    for kind in kinds:
        if kind.index not in optional:
            programme.row(placed[kind.index], lower=kind.count)
    weights, scale = scaled(cost)
    found = programme.minimum(weights, tree_nodes=variant.problem.policy.mip_nodes)
    if found.outcome is Outcome.INFEASIBLE:
        return None
    return Fraction(found.bound) / scale if found.feasible else Fraction(0)
