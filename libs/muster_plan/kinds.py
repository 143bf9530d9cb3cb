"""Kinds of pods: what one member of a pod set needs of its node, ready for counting."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster_dra import ClaimSpec
from muster_plan.extended import class_of, extended_claim, is_extended
from muster_plan.gang import Gang, PodSet, SharedClaim
from muster_plan.labels import HOSTNAME
from muster_plan.pods import PODS, PodSpec
from muster_plan.snapshot import Snapshot
from muster_types import NANO, Nano


@dataclass(frozen=True, slots=True)
class Kind:
    """A pod set to the solver. `requests` are nano-units with one pod slot; `extended` names the resources that a
    device class can serve, with their class. `shared` are indices into the problem's shared claims."""

    index: int
    pod_set: PodSet
    requests: Mapping[str, Nano]
    extended: Mapping[str, str]
    maybe_extended: frozenset[str]
    shared: tuple[int, ...]
    slice_size: int  # pods on one node come in multiples of this (slices over the hostname key)
    home: str  # the node of running members where all must be on one host, empty without

    @property
    def name(self) -> str:
        return self.pod_set.name

    @property
    def count(self) -> int:
        return self.pod_set.count

    @property
    def spec(self) -> PodSpec:
        return self.pod_set.spec

    def by_claim(self, allocatable: Mapping[str, Nano]) -> frozenset[str] | None:
        """Which extended resources devices serve on a node; None when one of them is neither there nor mapped."""
        found: set[str] = set()
        for resource in self.maybe_extended:
            if allocatable.get(resource, 0) > 0:
                continue
            if resource not in self.extended:
                return None
            found.add(resource)
        return frozenset(found)

    def extended_spec(self, by_claim: frozenset[str]) -> ClaimSpec:
        wanted = {resource: self.extended[resource] for resource in sorted(by_claim)}
        return extended_claim(self.spec.containers, wanted)


def kinds_of(gang: Gang, snapshot: Snapshot) -> tuple[tuple[Kind, ...], tuple[SharedClaim, ...]]:
    """The kinds in pod set order, and the shared claims that still need devices, by id."""
    classes = [snapshot.tables.classes[key] for key in sorted(snapshot.tables.classes)]
    open_claims = {
        entry.claim.id: entry.claim
        for pod_set in gang.pod_sets
        for entry in pod_set.shared_claims
        if not entry.claim.pinned
    }
    shared = tuple(open_claims[id] for id in sorted(open_claims))
    place = {claim.id: index for index, claim in enumerate(shared)}
    kinds: list[Kind] = []
    for index, pod_set in enumerate(gang.pod_sets):
        requests = dict(pod_set.spec.requests)
        requests[PODS] = Nano(NANO)
        candidates = [resource for resource in requests if is_extended(resource)]
        mapped = {resource: class_of(resource, classes) for resource in candidates}
        kinds.append(
            Kind(
                index=index,
                pod_set=pod_set,
                requests=requests,
                extended={resource: name for resource, name in mapped.items() if name is not None},
                maybe_extended=frozenset(candidates),
                shared=tuple(
                    sorted({place[entry.claim.id] for entry in pod_set.shared_claims if entry.claim.id in place})
                ),
                slice_size=_hostname_slice(pod_set),
                home=_home(pod_set, gang),
            )
        )
    return tuple(kinds), shared


def _home(pod_set: PodSet, gang: Gang) -> str:
    if pod_set.topology.required != HOSTNAME:
        return ""
    return next((each.node for each in gang.running if each.pod_set == pod_set.name), "")


def _hostname_slice(pod_set: PodSet) -> int:
    size = 1
    for layer in pod_set.topology.layers:
        if layer.key == HOSTNAME:
            size = max(size, layer.size)
    return size
