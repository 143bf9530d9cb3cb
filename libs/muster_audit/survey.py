"""One pod against every node: what keeps it off, what room is short, what the allocator says of its claims."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from muster_audit.fleet import Answers, Fleet, Specs
from muster_audit.mapped import Mapped
from muster_audit.physical import SoldTwice
from muster_audit.spreading import allowed_domains
from muster_dra import Allocation, Outcome, ResourceClaim
from muster_plan import ClusterNode, Gang, Snapshot
from muster_plan.affinity import near_rules, wanted_domains
from muster_plan.eligibility import (
    Barrier,
    Blocked,
    Neighbours,
    Site,
    first_blocker,
    neighbours_of,
    occupant_conflict,
)
from muster_plan.gang import OwnClaim
from muster_plan.kinds import Kind, kinds_of
from muster_types import Nano, NodeName


@dataclass(frozen=True, slots=True)
class Wanted:
    """One pod of a class as it is put to nodes. `claims` are those that still need devices, in the pod's order.

    `alone`: nothing on a node but room and devices matters to it, so occupants need not be looked at.
    """

    gang: Gang
    kind: Kind
    neighbours: Neighbours
    claims: tuple[ResourceClaim, ...]
    shared: frozenset[str]
    alone: bool
    specs: Specs
    spread: tuple[tuple[str, frozenset[str]], ...] = ()
    """Label keys with the values to which its topology spread lets it go."""

    def claims_on(self, by_claim: frozenset[str]) -> tuple[ResourceClaim, ...]:
        """With the claim for extended resources that devices serve on a node."""
        if not by_claim:
            return self.claims
        spec = self.specs.one(self.kind.extended_spec(by_claim))
        return (*self.claims, ResourceClaim("extended-resources", self.gang.namespace, spec))


def wanted(
    gang: Gang,
    snapshot: Snapshot,
    specs: Specs,
    *,
    affinities: bool,
    place: int = 0,
    shared_claims: frozenset[str] | None = None,
) -> Wanted:
    """One pod set of a gang. `affinities`: whether any pod of the cluster has rules about others. `shared_claims`: the
    names of claims that the pods have in common; None: all that are no pod's own."""
    kinds, _ = kinds_of(gang, snapshot)
    kind = kinds[place]
    claims: list[ResourceClaim] = []
    shared: set[str] = set()
    for entry in kind.pod_set.claims:
        if isinstance(entry, OwnClaim):
            claims.append(ResourceClaim(entry.entry, gang.namespace, specs.one(entry.spec)))
        elif not entry.claim.pinned:
            existing = entry.claim.existing
            name = existing.name if existing is not None else entry.entry
            claims.append(ResourceClaim(name, gang.namespace, specs.one(entry.claim.spec)))
            if shared_claims is None or name in shared_claims:
                shared.add(name)
    crowd = affinities or bool(kind.spec.host_ports)
    none: Mapping[str, frozenset[str]] = {}
    neighbours = Neighbours((none,) * len(kinds), ((),) * len(kinds))
    if affinities:
        neighbours = neighbours_of(kinds, gang, snapshot, wanted_domains(near_rules(kinds, gang, snapshot), kinds))
    domains = allowed_domains(kind, snapshot)
    return Wanted(gang, kind, neighbours, tuple(claims), frozenset(shared), not crowd, specs, domains)


def has_affinities(snapshot: Snapshot) -> bool:
    """Whether any pod has a required rule about other pods."""
    return any(pod.spec.anti_affinity or pod.spec.pod_affinity for pod in snapshot.tables.pods.values())


@dataclass(frozen=True, slots=True)
class Short:
    """A resource of which a node has too little left, in nano-units."""

    resource: str
    wanted: int
    left: int
    total: int


@dataclass(frozen=True, slots=True)
class Spot:
    """Nodes (by their places in the fleet) that say the same: the barrier, the short resource, the allocator."""

    places: tuple[int, ...]
    barrier: Blocked | None
    short: Short | None
    by_claim: frozenset[str]
    outcome: Outcome

    @property
    def fits(self) -> bool:
        return self.barrier is None and self.short is None and isinstance(self.outcome, Allocation)

    @property
    def open(self) -> bool:
        """Whether only devices are in question."""
        return self.barrier is None and self.short is None


Extra = Mapping[NodeName, Mapping[str, int]]
"""Requests that pods placed by the audit itself add to a node."""

_NOTHING: Mapping[str, int] = {}


@dataclass(slots=True)
class Surveyor:
    """Surveys of one state of the cluster. `sold_twice` limits integer resources by what claims hold, `mapped` those
    that devices stand for."""

    fleet: Fleet
    sold_twice: tuple[SoldTwice, ...]
    mapped: Mapped = field(default_factory=Mapped)
    _limits: dict[tuple[NodeName, str], int] = field(default_factory=dict[tuple[NodeName, str], int])

    def __post_init__(self) -> None:
        for each in self.sold_twice:
            self._limits[each.node, each.resource] = each.claimed

    def survey(self, pod: Wanted, extra: Extra | None = None) -> list[Spot]:
        """Every node, in classes; in the order of each class's first node."""
        found: dict[Hashable, list[int]] = {}
        spots: dict[Hashable, Spot] = {}
        judge = _Eligibility(pod)
        asked: dict[frozenset[str], Answers] = {}
        for place, node in enumerate(self.fleet.nodes):
            barrier, by_claim = judge.verdict(node)
            if barrier is None and not pod.alone:
                occupants = self.fleet.snapshot.usage(node.name).occupants
                barrier = occupant_conflict(pod.kind, occupants, pod.gang.namespace)
            answers = asked.get(by_claim)
            if answers is None:
                answers = asked[by_claim] = self.fleet.answers(pod.claims_on(by_claim))
            added = (extra or {}).get(node.name, _NOTHING)
            short = self.short_of(pod, node, by_claim, self._with_own(added, answers.of(place)))
            reduced = None if short is None else (short.resource, short.total >= short.wanted)
            key = (barrier, reduced, by_claim, answers.index[place])
            if key not in spots:
                spots[key] = Spot((), barrier, short, by_claim, answers.of(place))
            elif short is not None and (known := spots[key].short) is not None and short.left > known.left:
                spots[key] = replace(spots[key], short=short)
            found.setdefault(key, []).append(place)
        return [replace(spots[key], places=tuple(places)) for key, places in found.items()]

    def short_of(
        self, pod: Wanted, node: ClusterNode, by_claim: frozenset[str], extra: Mapping[str, int]
    ) -> Short | None:
        """The first resource that is not left for the pod."""
        used: Mapping[str, Nano] = self.fleet.snapshot.usage(node.name).requests
        mapped = self.mapped.on_node.get(node.name, _NOTHING) if self.mapped.shares else _NOTHING
        for resource, amount in pod.kind.requests.items():
            if resource in by_claim:
                continue
            total = node.allocatable.get(resource, 0)
            left = total - used.get(resource, 0) - extra.get(resource, 0) - mapped.get(resource, 0)
            if self._limits and (claimed := self._limits.get((node.name, resource), 0)):
                left -= claimed * 10**9
            if left < amount:
                return Short(resource, amount, max(left, 0), total)
        return None

    def _with_own(self, extra: Mapping[str, int], outcome: Outcome) -> Mapping[str, int]:
        """What the pod's own devices would take of its node beside what it asks for."""
        if not self.mapped.shares or not isinstance(outcome, Allocation):
            return extra
        own = self.mapped.taken(result for claim in outcome.claims for result in claim.results)
        return {name: extra.get(name, 0) + own.get(name, 0) for name in {*extra, *own}} if own else extra


class _Eligibility:
    """What keeps the pod off a node, once per distinct set of what matters to it."""

    def __init__(self, pod: Wanted) -> None:
        self._pod = pod
        self._keys, self._by_name = _keys_of(pod)
        self._resources = sorted(pod.kind.maybe_extended)
        self._known: dict[Hashable, tuple[Blocked | None, frozenset[str]]] = {}

    def verdict(self, node: ClusterNode) -> tuple[Blocked | None, frozenset[str]]:
        key = (
            tuple([node.labels.get(name) for name in self._keys]),
            node.taints,
            node.unschedulable,
            node.ready,
            node.name if self._by_name else "",
            tuple([node.allocatable.get(name, 0) > 0 for name in self._resources]),
        )
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._judged(node)
        return found

    def _judged(self, node: ClusterNode) -> tuple[Blocked | None, frozenset[str]]:
        site = Site(node.node, node.name, node.taints, node.unschedulable, node.ready)
        return eligibility(self._pod, site, node.allocatable)


def eligibility(pod: Wanted, site: Site, allocatable: Mapping[str, Nano]) -> tuple[Blocked | None, frozenset[str]]:
    """What keeps the pod off a place, and which of its extended resources devices would serve there."""
    barrier = first_blocker(pod.kind, site, pod.neighbours, pod.gang.id)
    mode = pod.kind.by_claim(allocatable)
    if barrier is None and site.name is not None:
        barrier = _uneven(pod, site)
    if barrier is None and mode is None:
        names = ", ".join(sorted(name for name in pod.kind.maybe_extended if name not in pod.kind.extended))
        barrier = Blocked(Barrier.NO_CLASS, f"no node and no device class offers {names}")
    return barrier, mode or frozenset()


def _uneven(pod: Wanted, site: Site) -> Blocked | None:
    for key, allowed in pod.spread:
        value = site.labels.get(key)
        if value not in allowed:
            where = f"{key}={value}" if value is not None else f"a node without label {key}"
            return Blocked(Barrier.ANTI_AFFINITY, f"one more pod on {where} would exceed its topology spread")
    return None


def _keys_of(pod: Wanted) -> tuple[list[str], bool]:
    """Labels that decide about the pod, and whether the node's own name does."""
    spec = pod.kind.spec
    keys = {*spec.node_selector, *pod.neighbours.refused[pod.kind.index], *(key for key, _ in pod.spread)}
    keys.update(key for key, _ in pod.neighbours.wanted[pod.kind.index])
    by_name = False
    if spec.affinity is not None:
        keys.update(each.key for term in spec.affinity.terms for each in term.labels)
        by_name = any(term.fields for term in spec.affinity.terms)
    for entry in pod.kind.pod_set.shared_claims:
        existing = entry.claim.existing
        if existing is None or existing.allocation is None or existing.allocation.node_selector is None:
            continue
        for term in existing.allocation.node_selector.terms:
            keys.update(each.key for each in term.expressions)
            by_name = by_name or bool(term.fields)
    return sorted(keys), by_name or bool(pod.kind.home)


def any_of_all(claims: Sequence[ResourceClaim]) -> list[ResourceClaim]:
    """The claims with one device wherever they want all: why there is not even one says more than "there is none"."""
    return [
        replace(
            claim,
            spec=replace(
                claim.spec,
                requests=tuple(
                    replace(each, exactly=replace(each.exactly, mode="ExactCount", count=1))
                    if each.exactly is not None and each.exactly.mode == "All"
                    else each
                    for each in claim.spec.requests
                ),
            ),
        )
        for claim in claims
    ]
