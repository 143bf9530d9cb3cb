"""The cheapest change that lets a pod fit, tried before it is named: a value, a toleration, a constraint, a move."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from muster_audit.amount_words import amount_like
from muster_audit.changed_specs import tolerant, with_attribute, with_literal, with_selector
from muster_audit.fleet import Fleet
from muster_audit.grounds import Why
from muster_audit.misses import Miss
from muster_audit.rooms import room_remedy
from muster_audit.scene import Scene
from muster_audit.survey import Spot, Wanted
from muster_audit.wording import counted, device_names, holder_text, listed
from muster_audit.words import Cause
from muster_dra import (
    AllocatedState,
    Allocation,
    ClaimSpec,
    DeviceToleration,
    PoolDefect,
    Reason,
    ReasonCode,
    ResourceClaim,
    UnreadableSelector,
    allocate,
)
from muster_plan.eligibility import Barrier
from muster_types import parse_quantity

_NODES, _HOLDERS = 6, 24
"""How many nodes and holders are tried for one remedy."""


@dataclass(slots=True)
class Remedies:
    """Tries changes for a pod of which `why` says what is in the way, in the state `allocated`."""

    pod: Wanted
    spots: Sequence[Spot]
    why: Why
    fleet: Fleet
    allocated: AllocatedState
    scene: Scene

    def best(self) -> str:
        """One sentence, empty where nothing was found that helps."""
        miss = self.why.miss
        reason = miss.reason if miss is not None else None
        match self.why.cause:
            case Cause.SELECTOR_MISMATCH | Cause.TOPOLOGY_MISMATCH if self.why.selector is not None:
                return self._other_value()
            case Cause.TAINT if miss is not None:
                return self._toleration(miss, reason)
            case Cause.ATTRIBUTE_MISSING if reason is not None and reason.code is ReasonCode.CAPACITY_MISSING:
                return f"ask for no amount of {reason.subject}: the devices count none"
            case Cause.ATTRIBUTE_MISSING if reason is not None:
                return self._other_attribute(reason)
            case Cause.POOL_INCOMPLETE | Cause.POOL_INVALID | Cause.POOL_INCONSISTENT if reason is not None:
                return _republish(reason, self.why.cause)
            case Cause.SHORTAGE | Cause.FRAGMENTATION if miss is not None and reason is None:
                return room_remedy(miss, self.pod, self.spots, self.fleet)
            case Cause.SHORTAGE | Cause.FRAGMENTATION | Cause.TOPOLOGY_MISMATCH:
                return self._free_one() or self._fewer(reason)
            case Cause.COUNTERS_EXHAUSTED | Cause.CAPACITY_EXHAUSTED:
                return self._free_one() or self._smaller(reason)
            case Cause.POLICY_VIOLATION if reason is not None and reason.code is ReasonCode.CAPACITY_POLICY:
                return f"ask for {reason.value} of {reason.subject}"
            case Cause.NO_INVENTORY:
                return self._publish(miss)
            case _:
                return ""

    def _fits(self, change: Callable[[ClaimSpec], ClaimSpec], places: Iterable[int] | None = None) -> str:
        """A node that takes the pod with its claims changed, "" for none."""
        for place, spot in self._places(places):
            claims = [replace(claim, spec=change(claim.spec)) for claim in self.pod.claims_on(spot.by_claim)]
            node = self.fleet.nodes[place]
            if isinstance(allocate(node.node, claims, self.fleet.catalog, self.allocated), Allocation):
                return node.name
        return ""

    def _places(self, only: Iterable[int] | None = None) -> list[tuple[int, Spot]]:
        wanted = None if only is None else set(only)
        found = [
            (place, spot)
            for spot in self.spots
            if spot.open
            for place in spot.places
            if wanted is None or place in wanted
        ]
        nearest = self.why.miss.places if self.why.miss is not None else ()
        return sorted(found, key=lambda each: (each[0] not in nearest, each[0]))[:_NODES]

    def _other_value(self) -> str:
        miss = self.why.selector
        comparison = None if miss is None else miss.comparison
        if miss is None:
            return ""
        if miss.changes:
            driver = miss.changes[0][0].driver
            return f"find out why {driver} publishes {miss.changes[0][1].name} otherwise than before"
        if comparison is None or not miss.published:
            return f"write {miss.nearest_name}" if miss.nearest_name else "change the selector"
        for value in ([miss.nearly] if miss.nearly else [])[:1] + [
            each for each in miss.published if each != miss.nearly
        ]:
            changed = with_literal(comparison, value)
            if changed is None:
                continue
            place = self._fits(lambda spec, changed=changed: with_selector(spec, comparison, changed))
            if place:
                return (
                    f"ask for {comparison.mention.name} {comparison.operator} {changed.written}: then {place} takes it"
                )
        return f"no published value of {comparison.mention.name} alone would help; change the selector"

    def _toleration(self, miss: Miss, reason: Reason | None) -> str:
        if reason is None:
            return self._barred(miss)
        taints = reason.subject
        extra = tuple(
            DeviceToleration(key, "Exists", "", "", None)
            for key in dict.fromkeys(each.partition("=")[0].partition(":")[0] for each in taints.split(", "))
        )
        place = self._fits(lambda spec: tolerant(spec, reason.request, extra), miss.places)
        what = f"tolerate {taints} in request {reason.request}"
        return (
            f"{what}: then {place} takes it; or repair {listed([each.device for each in reason.devices])}"
            if place
            else what
        )

    def _barred(self, miss: Miss) -> str:
        """The node itself is in the way."""
        node = self.fleet.nodes[miss.places[0]]
        barrier = miss.spot.barrier.barrier if miss.spot is not None and miss.spot.barrier is not None else None
        match barrier:
            case Barrier.UNSCHEDULABLE:
                return f"uncordon {node.name}"
            case Barrier.NOT_READY:
                return f"bring {node.name} back: it is not ready"
            case Barrier.TAINT:
                taints = [str(each) for each in node.taints if each.blocks]
                return f"tolerate {listed(taints)} in the pod if it may run there, or take the taint off {node.name}"
            case _:
                return ""

    def _other_attribute(self, reason: Reason) -> str:
        """An attribute of the same name in another domain, or a standard one, that the devices do have."""
        own = reason.subject.rpartition("/")[2].lower()
        candidates: set[str] = set()
        for place, _ in self._places():
            pools = self.fleet.catalog.pools_of(self.fleet.nodes[place].node)
            for pool in () if isinstance(pools, UnreadableSelector) else pools:
                for _, device in pool.devices():
                    candidates |= {
                        name for name in device.attributes if "/" in name and name.rpartition("/")[2].lower() == own
                    }
        for name in sorted(candidates - {reason.subject}):
            place = self._fits(lambda spec, name=name: with_attribute(spec, reason.subject, name), None)
            if place:
                return f"match on {name} instead: then {place} takes it"
        return f"publish {reason.subject} on the devices that lack it, or match on an attribute that all of them have"

    def spread(self) -> Why:
        """The reason, with what is used up told apart from what only lies in the wrong places: then one move helps."""
        if self.why.cause not in (Cause.COUNTERS_EXHAUSTED, Cause.CAPACITY_EXHAUSTED):
            return self.why
        if not self._free_one().startswith("move "):
            return self.why
        text = f"{self.why.text}; there is enough in sum, in other places"
        return replace(self.why, cause=Cause.FRAGMENTATION, text=text)

    def _free_one(self) -> str:
        """One claim whose end, or move to another node, makes room."""
        for place, spot in self._places():
            node = self.fleet.nodes[place]
            claims = self.pod.claims_on(spot.by_claim)
            for holder in self._holders(place):
                less = self._without(holder)
                if less is None:
                    continue
                outcome = allocate(node.node, claims, self.fleet.catalog, less)
                if not isinstance(outcome, Allocation):
                    continue
                taken = less.plus([each for claim in outcome.claims for each in claim.results], "planned")
                target = self._other_home(holder, place, taken)
                what = holder_text(holder, self.scene.cluster)
                if target:
                    return f"move {what} from {node.name} to {target}, then {node.name} takes the pod"
                return f"when {what} ends, {node.name} takes the pod"
        return ""

    def _holders(self, place: int) -> list[str]:
        """Claims with devices on a node, those with the fewest devices first."""
        counts: dict[str, int] = {}
        pools = self.fleet.catalog.pools_of(self.fleet.nodes[place].node)
        for pool in () if isinstance(pools, UnreadableSelector) else pools:
            use = self.allocated.use(pool.id)
            for _, device in pool.devices():
                for holder in use.holders(device.name):
                    counts[holder] = counts.get(holder, 0) + 1
        return sorted(counts, key=lambda name: (counts[name], name))[:_HOLDERS]

    def _without(self, holder: str) -> AllocatedState | None:
        claim = self._claim(holder)
        if claim is None or claim.allocation is None:
            return None
        return self.allocated.minus(claim.allocation.devices, claim.full_name)

    def _claim(self, holder: str) -> ResourceClaim | None:
        namespace, slash, name = holder.partition("/")
        return self.scene.snapshot.claim(namespace, name) if slash else None

    def _other_home(self, holder: str, place: int, taken: AllocatedState) -> str:
        """Other devices of the node, or another node, that the claim itself could have, with the pod in its place."""
        claim = self._claim(holder)
        if claim is None or not claim.spec.requests:
            return ""
        node = self.fleet.nodes[place]
        plain = ResourceClaim(claim.name, claim.namespace, self.scene.specs.one(claim.spec))
        here = allocate(node.node, [plain], self.fleet.catalog, taken)
        if isinstance(here, Allocation):
            return f"{device_names(each.device for each in here.claims[0].results)} there"
        others = [each for each in self.fleet.nodes if each is not node and each.ready and not each.unschedulable]
        for other in others[: _HOLDERS * 8]:
            if isinstance(allocate(other.node, [plain], self.fleet.catalog, taken), Allocation):
                return other.name
        return ""

    def _fewer(self, reason: Reason | None) -> str:
        if reason is None or not 0 < reason.found < reason.wanted:
            return ""
        return f"ask for {counted(reason.found, 'device')} instead of {reason.wanted}"

    def _smaller(self, reason: Reason | None) -> str:
        if reason is None or reason.code not in (ReasonCode.CAPACITY_USED, ReasonCode.CAPACITY_TOO_SMALL):
            return ""
        published = self.scene.published.devices.get(reason.devices[0]) if reason.devices else None
        capacity = published.capacity.get(reason.subject) if published is not None else None
        if capacity is None or reason.found_amount in ("", "0"):
            return ""
        most = amount_like(parse_quantity(reason.found_amount), capacity.value.written)
        return f"ask for at most {most} of {reason.subject}"

    def _publish(self, miss: Miss | None) -> str:
        if miss is not None and miss.spot is not None and miss.spot.barrier is not None:
            return self._barred(miss)
        refused = [each for each in self.scene.cluster.refusals() if each.key.kind == "ResourceSlice"]
        if refused:
            return f"mend {refused[0].field} of slice {refused[0].key.name} in its driver"
        if miss is not None and miss.rank == 0:
            return "restart the driver whose slice went away, or wait until it publishes again"
        return "install the driver, or add nodes that have such devices"


def _republish(reason: Reason, cause: Cause) -> str:
    if reason.code is ReasonCode.DEVICES_IGNORED:
        return f"the driver must publish devices and counters of slice {reason.subject} in slices of their own"
    pool, found = reason.pool, reason.pool_reason
    if pool is None or found is None:
        return "wait until the pool is whole"
    if cause is Cause.POOL_INCONSISTENT:
        return f"the driver {pool.driver} must publish one resourceSliceCount in all slices of pool {pool.name}"
    if cause is Cause.POOL_INVALID:
        return f"the driver {pool.driver} must mend pool {pool.name}: {found.sentence(pool)}"
    if found.defect is PoolDefect.MISSING_SLICES:
        missing = counted(found.wanted - found.found, "more slice")
        return f"wait until {pool.driver} publishes {missing} of pool {pool.name}; do not order nodes for it"
    return f"wait until {pool.driver} has updated pool {pool.name}; do not order nodes for it"
