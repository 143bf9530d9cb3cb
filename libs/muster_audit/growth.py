"""Would more nodes help one pod: which group, how many, or why not (architecture §5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from muster_audit.causes import FATAL_CAUSES, Judged, judged
from muster_audit.groups import Learned, says_nothing
from muster_audit.mending import Inconsistent
from muster_audit.misses import class_drivers
from muster_audit.survey import Wanted, any_of_all, eligibility
from muster_audit.words import Cause
from muster_dra import (
    AllocatedState,
    Allocation,
    Fatal,
    NodeError,
    NoFit,
    PoolId,
    ReasonCode,
    ResourceClaim,
    allocate,
)
from muster_plan import NodeGroup, Snapshot
from muster_plan.eligibility import Barrier, Blocked, Site, occupant_conflict
from muster_plan.potential import Potential, Potentials
from muster_types import NodeGroupName, format_quantity

_MOST_ON_ONE_NODE = 1024


@dataclass(frozen=True, slots=True)
class Option:
    """A group whose next node takes `per_node` of the pods; `room` nodes can be added, always `step` together."""

    group: NodeGroup
    per_node: int
    room: int
    devices: tuple[str, ...]

    @property
    def name(self) -> NodeGroupName:
        return self.group.name

    def nodes_for(self, pods: int) -> int:
        """Nodes to add for so many pods, in whole steps."""
        nodes = -(-pods // self.per_node)
        step = self.group.step
        return -(-nodes // step) * step

    def pods_within(self) -> int:
        return self.room * self.per_node


@dataclass(frozen=True, slots=True)
class Unfit:
    """A group whose next node does not take the pod. `template_missing`: nobody said what it publishes."""

    group: NodeGroup
    cause: Cause
    text: str
    template_missing: bool = False
    judged: Judged | None = None


@dataclass(frozen=True, slots=True)
class Growth:
    options: tuple[Option, ...]
    """Cheapest first."""
    unfit: tuple[Unfit, ...]

    @property
    def unknown(self) -> tuple[Unfit, ...]:
        return tuple(each for each in self.unfit if each.template_missing)


def growth(
    pod: Wanted, pods: int, potentials: Potentials, snapshot: Snapshot, learned: Mapping[str, Learned]
) -> Growth:
    """Every group's next node, tried with so many of the pods."""
    options: list[Option] = []
    unfit: list[Unfit] = []
    for name in sorted(potentials.by_group):
        found = _tried(pod, pods, potentials.by_group[name], potentials, snapshot, learned.get(name))
        if isinstance(found, Option):
            options.append(found)
        else:
            unfit.append(found)
    options.sort(
        key=lambda each: (each.room == 0, each.nodes_for(pods) * each.group.price, each.nodes_for(pods), each.name)
    )
    return Growth(tuple(options), tuple(unfit))


def _tried(
    pod: Wanted,
    pods: int,
    potential: Potential,
    potentials: Potentials,
    snapshot: Snapshot,
    learned: Learned | None,
) -> Option | Unfit:
    group = potential.group
    site = Site(potential.node, None, group.template.taints, unschedulable=False, ready=True)
    barrier, by_claim = eligibility(pod, site, group.template.allocatable)
    barrier = barrier or occupant_conflict(pod.kind, potential.occupants, pod.gang.namespace)
    claims = pod.claims_on(by_claim)
    if barrier is not None:
        return Unfit(group, _BARRIERS.get(barrier.barrier, Cause.SELECTOR_MISMATCH), _barred(barrier))
    short = _short(pod, potential, by_claim)
    if short:
        return Unfit(group, Cause.SHORTAGE, short)
    if claims and says_nothing(group) and learned is not None:
        said = f"its node {learned.node} publishes no device, and no template says otherwise"
        return Unfit(group, Cause.NO_INVENTORY, said)
    if claims and says_nothing(group):
        said = "has no device template: nobody said what its nodes publish"
        return Unfit(group, Cause.TEMPLATE_MISSING, said, template_missing=True)
    if claims and potential.fault:
        return Unfit(group, Cause.TEMPLATE_MISSING, f"its template is invalid: {potential.fault}")
    state = with_daemons(potential, potentials)
    seats, devices = _seats(pod, pods, potential, potentials, state, claims, by_claim)
    if seats:
        room = max(group.room - snapshot.pending_nodes(group.name), 0)
        return Option(group, seats, room, devices)
    return _refused(group, claims, potential, potentials, state)


_BARRIERS: Mapping[Barrier, Cause] = {
    Barrier.TAINT: Cause.TAINT,
    Barrier.SELECTOR: Cause.SELECTOR_MISMATCH,
    Barrier.PINNED: Cause.TOPOLOGY_MISMATCH,
    Barrier.NO_CLASS: Cause.CLASS_MISSING,
    Barrier.ANTI_AFFINITY: Cause.TOPOLOGY_MISMATCH,
    Barrier.AFFINITY: Cause.TOPOLOGY_MISMATCH,
    Barrier.HOST_PORT: Cause.SHORTAGE,
}


def _barred(barrier: Blocked) -> str:
    return f"its nodes do not take the pod: {barrier.detail}"


def _short(pod: Wanted, potential: Potential, by_claim: frozenset[str]) -> str:
    for resource, amount in pod.kind.requests.items():
        left = potential.free.get(resource, 0)
        if resource not in by_claim and left < amount:
            return f"a node of it leaves {format_quantity(max(left, 0))} {resource}, {format_quantity(amount)} wanted"
    return ""


def with_daemons(potential: Potential, potentials: Potentials) -> AllocatedState:
    """What the daemon pods of a new node leave of its devices."""
    state = potentials.allocated
    for index, spec in enumerate(potential.daemons):
        claim = ResourceClaim(f"daemon-{index}", "", spec)
        outcome = allocate(potential.node, [claim], potentials.catalog, state)
        if isinstance(outcome, Allocation):
            state = state.plus(outcome.claims[0].results, "the daemon pods of a new node")
    return state


def _seats(
    pod: Wanted,
    pods: int,
    potential: Potential,
    potentials: Potentials,
    state: AllocatedState,
    claims: Sequence[ResourceClaim],
    by_claim: frozenset[str],
) -> tuple[int, tuple[str, ...]]:
    """How many of the pods one new node takes, and the devices of the first."""
    used: dict[str, int] = {}
    devices: tuple[str, ...] = ()
    seats = 0
    while seats < min(pods, _MOST_ON_ONE_NODE):
        for resource, amount in pod.kind.requests.items():
            if resource not in by_claim:
                used[resource] = used.get(resource, 0) + amount
                if used[resource] > potential.free.get(resource, 0):
                    return seats, devices
        outcome = allocate(potential.node, claims, potentials.catalog, state)
        if not isinstance(outcome, Allocation):
            return seats, devices
        results = [result for each in outcome.claims for result in each.results]
        state = state.plus(results, "planned")
        if not seats:
            devices = tuple(str(potential.promise.as_written(result.device)) for result in results)
        seats += 1
    return seats, devices


def _refused(
    group: NodeGroup,
    claims: Sequence[ResourceClaim],
    potential: Potential,
    potentials: Potentials,
    state: AllocatedState,
) -> Unfit:
    outcome = allocate(potential.node, claims, potentials.catalog, state)
    match outcome:
        case Fatal(kind, message):
            return Unfit(group, FATAL_CAUSES[kind], message)
        case NoFit() | NodeError():
            return _told(group, claims, potential, potentials, state, outcome)
        case Allocation():
            return Unfit(group, Cause.SHORTAGE, "its nodes have no room")


def _told(
    group: NodeGroup,
    claims: Sequence[ResourceClaim],
    potential: Potential,
    potentials: Potentials,
    state: AllocatedState,
    outcome: NoFit | NodeError,
) -> Unfit:
    none: Mapping[PoolId, Inconsistent] = {}
    reasons = outcome.reasons
    if any(each.code is ReasonCode.ALL_OF_NONE for each in reasons):
        single = allocate(potential.node, any_of_all(claims), potentials.catalog, state)
        reasons = single.reasons if isinstance(single, NoFit | NodeError) else reasons
    found = judged(reasons, none)
    published = {slice_.pool.driver for slice_ in potential.promise.slices}
    wanted = class_drivers(potentials.catalog.classes.get(found.reason.value))
    of_class = found.reason.code is ReasonCode.CLASS_MATCHES_NOTHING and published & wanted
    cause = Cause.SELECTOR_MISMATCH if of_class else found.cause
    daemons = "the daemon pods of a new node"
    by_daemons = any(daemons in holder for holder in found.reason.holders)
    text = f"what a new node has is taken by its daemon pods ({found.text})" if by_daemons else found.text
    return Unfit(group, cause, text, judged=replace(found, cause=cause))
