"""A planning problem: the gang's kinds beside the stocks of nodes, before any search."""

from dataclasses import dataclass, field, replace

from muster_plan.affinity import near_rules, wanted_domains
from muster_plan.claims import CONSUMER_LIMIT
from muster_plan.device_state import REACH
from muster_plan.domains import Topologies, host_spreads, topologies_of
from muster_plan.eligibility import Barrier, Blocked, neighbours_of
from muster_plan.fitter import Fitter
from muster_plan.gang import Gang, SharedClaim
from muster_plan.kinds import Kind, kinds_of
from muster_plan.labels import HOSTNAME
from muster_plan.model import Demand
from muster_plan.network import NetworkUse, network_uses
from muster_plan.patterns import Flags, Pattern
from muster_plan.policy import Arrangement, Objective, Policy
from muster_plan.potential import Potentials, potentials_of
from muster_plan.present import present
from muster_plan.pricing import Pricer
from muster_plan.sequences import Arrivals
from muster_plan.snapshot import Snapshot
from muster_plan.stocks import Scene, Stock, existing_stocks, potential_stocks, scene_of
from muster_plan.supplies import Detail, Supply, existing_supplies, potential_supply


@dataclass(frozen=True, slots=True)
class Problem:
    """All that does not depend on where shared claims get their devices."""

    snapshot: Snapshot
    gang: Gang
    policy: Policy
    kinds: tuple[Kind, ...]
    shared: tuple[SharedClaim, ...]
    topologies: Topologies
    scene: Scene
    potentials: Potentials
    existing: tuple[Stock, ...]
    potential: tuple[Stock, ...]

    @property
    def pods(self) -> int:
        return sum(kind.count for kind in self.kinds)


@dataclass(frozen=True, slots=True)
class Mode:
    """Where each open shared claim gets its devices: None on one node, else from a network-attached pool."""

    uses: tuple[NetworkUse | None, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """A problem in one mode, ready to be counted."""

    problem: Problem
    mode: Mode
    demand: Demand
    fitter: Fitter
    existing: tuple[Stock, ...]
    potential: tuple[Stock, ...]
    listed: dict[Detail, tuple[Supply, ...]] = field(default_factory=dict[Detail, tuple[Supply, ...]])
    generated: dict[int, tuple[Pattern, ...]] = field(default_factory=dict[int, tuple[Pattern, ...]])  # by stock
    pricers: dict[tuple[int, frozenset[int]], Pricer] = field(default_factory=dict[tuple[int, frozenset[int]], Pricer])

    def existing_supplies(self) -> tuple[Supply, ...]:
        """What exists, listed once."""
        detail = _detail(self.problem.policy)
        if detail not in self.listed:
            self.listed[detail] = existing_supplies(self.fitter, self.existing, detail)
        return self.listed[detail]

    def supplies(self, *, unlimited: bool) -> tuple[Supply, ...]:
        """Existing nodes and what groups can add: up to their maximum, or without any maximum."""
        policy, snapshot = self.problem.policy, self.problem.snapshot
        detail = _detail(policy)
        found: list[Supply] = list(self.existing_supplies())
        for stock in self.potential:
            group = present(stock.group, "the group of a potential stock")
            room = max(group.room - snapshot.pending_nodes(group.name), 0)
            if unlimited:
                room = self.problem.pods * group.step
            elif group.name in policy.excluded_groups:
                room = 0
            supply = potential_supply(
                self.fitter, stock, detail, room=room, keys=self.problem.topologies.keys, most_units=self.problem.pods
            )
            if supply is not None:
                found.append(supply)
        return tuple(found)


def _detail(policy: Policy) -> Detail:
    if Objective.FRAGMENTATION in policy.objectives:
        return Detail.LOSSES
    return Detail.EVERY if policy.arrangement is Arrangement.SPREAD else Detail.MAXIMAL


def build_problem(snapshot: Snapshot, gang: Gang, policy: Policy, *, by_reach: bool = False) -> Problem:
    """`by_reach`: nodes that reach different network-attached pools are told apart as domains are."""
    kinds, shared = kinds_of(gang, snapshot)
    near = near_rules(kinds, gang, snapshot)
    topologies = topologies_of(gang, kinds, snapshot, near)
    if by_reach:
        topologies = replace(topologies, kept=(REACH,))
    neighbours = neighbours_of(kinds, gang, snapshot, wanted_domains(near, kinds))
    hosts = host_spreads(topologies, growing=bool(snapshot.tables.groups))
    scene = scene_of(gang, kinds, neighbours, topologies.keys, hosts)
    potentials = potentials_of(snapshot)
    assumed = policy.assume_labels
    existing = existing_stocks(scene, snapshot, 0) if policy.use_existing else ()
    return Problem(
        snapshot=snapshot,
        gang=gang,
        policy=policy,
        kinds=kinds,
        shared=shared,
        topologies=topologies,
        scene=scene,
        potentials=potentials,
        existing=existing,
        potential=potential_stocks(scene, potentials, snapshot, len(existing), assumed),
    )


def variant_of(problem: Problem, mode: Mode, *, in_sequence: bool = False) -> Variant:
    """`in_sequence`: a pattern counts only if its pods find their devices one after the other by first fit."""
    flags = _flags(problem, mode)
    stocks = len(problem.existing) + len(problem.potential)
    fitter = Fitter(problem.scene, flags, stocks, problem.policy.most_patterns)
    if in_sequence:
        fitter.narrow(Arrivals(fitter).in_order)
    return Variant(
        problem=problem,
        mode=mode,
        demand=_demand(problem, flags),
        fitter=fitter,
        existing=tuple(_reachable(stock, problem, mode) for stock in problem.existing),
        potential=tuple(_reachable(stock, problem, mode) for stock in problem.potential),
    )


def variants_of(problem: Problem, *, in_sequence: bool = False) -> tuple[Variant, ...]:
    """One variant per way to serve the shared claims."""
    uses = network_uses(problem.gang, problem.shared, problem.snapshot, problem.potentials)
    return tuple(variant_of(problem, Mode(each), in_sequence=in_sequence) for each in uses)


def _flags(problem: Problem, mode: Mode) -> Flags:
    """A flag for each shared claim with devices on a node, and for each set of pods that wants one node."""
    claims: list[SharedClaim | None] = []
    needs: list[set[int]] = [set() for _ in problem.kinds]
    for index, claim in enumerate(problem.shared):
        if mode.uses[index] is not None:
            continue
        for kind in problem.kinds:
            if index in kind.shared:
                needs[kind.index].add(len(claims))
        claims.append(claim)
    for scope in problem.topologies.scopes:
        if scope.key == HOSTNAME:
            for kind in scope.kinds:
                needs[kind].add(len(claims))
            claims.append(None)
    return Flags(tuple(frozenset(each) for each in needs), tuple(claims))


def _reachable(stock: Stock, problem: Problem, mode: Mode) -> Stock:
    """Pods that share network-attached devices stay on nodes that reach them."""
    if all(use is None for use in mode.uses):
        return stock
    blocked = list(stock.blocked)
    for kind in problem.kinds:
        for index in kind.shared:
            use = mode.uses[index]
            if use is not None and not use.reaches(stock.node) and blocked[kind.index] is None:
                text = f"claim {problem.shared[index].id} has its devices elsewhere"
                blocked[kind.index] = Blocked(Barrier.PINNED, text)
    return replace(stock, blocked=tuple(blocked))


def _demand(problem: Problem, flags: Flags) -> Demand:
    gang, kinds = problem.gang, problem.kinds
    minimums: list[tuple[tuple[int, ...], int]] = []
    for name in sorted(gang.pod_groups):
        least = gang.pod_groups[name].min_count
        members = tuple(kind.index for kind in kinds if kind.spec.pod_group == name)
        if least is not None and least < sum(kinds[index].count for index in members):
            minimums.append((members, least))
    return Demand(
        gang=gang,
        kinds=kinds,
        flags=flags,
        topologies=problem.topologies,
        minimums=tuple(minimums),
        consumers=_consumers(kinds),
    )


def _consumers(kinds: tuple[Kind, ...]) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Places left in the `reservedFor` of each claim that exists; a group's use of it is one consumer."""
    direct: dict[str, list[int]] = {}
    claims: dict[str, SharedClaim] = {}
    groups: dict[str, set[str]] = {}
    for kind in kinds:
        for entry in kind.pod_set.shared_claims:
            claims[entry.claim.id] = entry.claim
            if entry.direct:
                direct.setdefault(entry.claim.id, []).append(kind.index)
            else:
                groups.setdefault(entry.claim.id, set()).add(kind.spec.pod_group)
    found: list[tuple[tuple[int, ...], int]] = []
    for id in sorted(claims):
        existing = claims[id].existing
        held = () if existing is None else existing.reserved_for
        known = {each.name for each in held if each.resource == "podgroups"}
        new = len(groups.get(id, set()) - known)
        found.append((tuple(direct.get(id, ())), CONSUMER_LIMIT - len(held) - new))
    return tuple(found)
