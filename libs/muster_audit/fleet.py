"""All nodes of a cluster in one state of its devices: each question is asked once per class of equal nodes."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from muster_dra import AllocatedState, Allocation, Catalog, ClaimSpec, Node, Outcome, ResourceClaim, allocate
from muster_dra.node_classes import node_class_key
from muster_dra.outcome import Fatal
from muster_dra.plan import PlanTable
from muster_dra.plan_content import mask_of
from muster_dra.pools import UnreadableSelector
from muster_dra.situation import situation, starting_sets
from muster_dra.views import exclusive_use, occupancy
from muster_plan import ClusterNode, Snapshot

_REMEMBERED = 48
NOTHING_ASKED = Allocation(())


@dataclass(frozen=True, slots=True)
class Answers:
    """`index[n]` is the class of node n for some claims, `outcomes` the allocator's answer for each class."""

    index: tuple[int, ...]
    outcomes: tuple[Outcome, ...]

    def of(self, place: int) -> Outcome:
        return self.outcomes[self.index[place]]


class Fleet:
    """`nodes` by name. Remembers answers; otherwise immutable."""

    def __init__(self, snapshot: Snapshot, allocated: AllocatedState) -> None:
        self.snapshot, self.allocated = snapshot, allocated
        self.catalog: Catalog = snapshot.catalog
        self.nodes: tuple[ClusterNode, ...] = tuple(snapshot.tables.nodes[key] for key in sorted(snapshot.tables.nodes))
        self.place_of = {node.name: place for place, node in enumerate(self.nodes)}
        self._answers: dict[Hashable, Answers] = {}
        self._free: dict[Hashable, tuple[tuple[int, ...], ...]] = {}

    def answers(self, claims: Sequence[ResourceClaim]) -> Answers:
        """For every node; claims of one spec share the work."""
        if not claims:
            return Answers((0,) * len(self.nodes), (NOTHING_ASKED,))
        key = _key(claims)
        found = self._answers.get(key)
        if found is None:
            if len(self._answers) >= _REMEMBERED:
                self._answers.clear()
            found = self._answers[key] = self._asked(claims)
        return found

    def _asked(self, claims: Sequence[ResourceClaim]) -> Answers:
        numbers: dict[Hashable, int] = {}
        outcomes: list[Outcome] = []
        index: list[int] = []
        for node in self.nodes:
            key = node_class_key(node.node, self.catalog, self.allocated, claims)
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(outcomes)
                outcomes.append(allocate(node.node, claims, self.catalog, self.allocated))
            index.append(number)
        return Answers(tuple(index), tuple(outcomes))

    def free(self, claims: Sequence[ResourceClaim]) -> tuple[tuple[int, ...], ...]:
        """For every node and request of the claims, how many devices one alternative could take by itself."""
        key = _key(claims)
        found = self._free.get(key)
        if found is None:
            if len(self._free) >= _REMEMBERED:
                self._free.clear()
            plans = self.catalog.plans(claims)
            found = self._free[key] = (
                tuple(() for _ in self.nodes)
                if isinstance(plans, Fatal)
                else tuple(free_counts(node.node, plans, self.catalog, self.allocated) for node in self.nodes)
            )
        return found


def _key(claims: Sequence[ResourceClaim]) -> Hashable:
    return tuple(id(claim.spec) for claim in claims)


class Specs:
    """Claim specs of one content become one value, so that what is worked out for one serves all."""

    def __init__(self) -> None:
        self._known: dict[str, ClaimSpec] = {}
        self._by_identity: dict[int, tuple[ClaimSpec, ClaimSpec]] = {}

    def one(self, spec: ClaimSpec) -> ClaimSpec:
        known = self._by_identity.get(id(spec))
        if known is None:
            same = self._known.setdefault(repr((spec.requests, spec.constraints)), spec)
            known = self._by_identity[id(spec)] = (spec, same)
        return known[1]


def free_counts(node: Node, plans: PlanTable, catalog: Catalog, allocated: AllocatedState) -> tuple[int, ...]:
    """Per request the most that one of its alternatives could choose from; for "all" its devices, or none."""
    view = catalog.view(node)
    if isinstance(view, UnreadableSelector):
        return ()
    plan, compiled = plans.plan(view.shape), plans.compiled
    dedicated = exclusive_use(view, allocated)
    if dedicated is not None:
        sets = iter(starting_sets(plan, dedicated))
        return tuple(max(next(sets).bit_count() for _ in request.choices) for request in plan.content.requests)
    now = situation(plan, compiled, view.shape, occupancy(view, allocated, catalog.features))
    return tuple(
        max((mask_of(option.members) if option.choice.every else option.candidates).bit_count() for option in options)
        for options in now.options
    )


def busy_devices(node: Node, catalog: Catalog, allocated: AllocatedState, drivers: frozenset[str]) -> tuple[int, int]:
    """Devices of the node's usable pools of these drivers: how many somebody holds, and all of them."""
    view = catalog.view(node)
    if isinstance(view, UnreadableSelector):
        return 0, 0
    busy = total = 0
    for pool, bits in zip(view.pool_ids, view.shape.pool_bits, strict=True):
        if drivers and pool.driver not in drivers:
            continue
        use = allocated.use(pool)
        total += len(bits)
        busy += sum(1 for name in bits if use.is_allocated(name))
    return busy, total
