"""A gang: pod sets with their claims found, their domains and minimum read (group-capacity §1.8, §2.6, §3.6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from muster_dra import ClaimSpec, InvalidObject, ResourceClaim
from muster_plan.labels import HOSTNAME
from muster_plan.pod_groups import PodGroup
from muster_plan.pods import ClaimEntry, PodSpec
from muster_plan.requests import ProvisioningRequest, parse_provisioning_request
from muster_plan.snapshot import Snapshot
from muster_plan.topology import Topology, read_topology
from muster_types import GangId, NodeName, ObjectKey, PodSetName

REQUEST_SCOPE = "topologyScope"


@dataclass(frozen=True, slots=True)
class OwnClaim:
    """An entry from a template without a group claim of the same name and reference: one claim a pod (N-3.4)."""

    entry: str
    spec: ClaimSpec


@dataclass(frozen=True, slots=True)
class SharedClaim:
    """One claim for all pods whose entries lead to it. `id` is unique in a gang; `existing` is None for a group's
    claim that has yet to be made; `direct` entries make each pod a consumer, a group counts once."""

    id: str
    spec: ClaimSpec
    existing: ResourceClaim | None

    @property
    def pinned(self) -> bool:
        return self.existing is not None and self.existing.allocation is not None


@dataclass(frozen=True, slots=True)
class SharedEntry:
    """A pod set's way to a shared claim. `direct`: the pod names the claim itself and is a consumer of it."""

    entry: str
    claim: SharedClaim
    direct: bool


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods made from one template. `claims` are in the order of `spec.resourceClaims`."""

    name: PodSetName
    count: int
    spec: PodSpec
    claims: tuple[OwnClaim | SharedEntry, ...]
    topology: Topology

    @property
    def own_claims(self) -> tuple[OwnClaim, ...]:
        return tuple(claim for claim in self.claims if isinstance(claim, OwnClaim))

    @property
    def shared_claims(self) -> tuple[SharedEntry, ...]:
        return tuple(claim for claim in self.claims if isinstance(claim, SharedEntry))


@dataclass(frozen=True, slots=True)
class RunningMember:
    """A pod of the gang that is bound already."""

    pod_set: PodSetName
    node: NodeName


@dataclass(frozen=True, slots=True)
class InvalidGang:
    """The request cannot be read yet, or at all. `missing` may still be created; `faults` will not heal by waiting."""

    gang: GangId
    missing: tuple[ObjectKey, ...]
    faults: tuple[str, ...]

    def sentence(self) -> str:
        absent = [f"{key} does not exist" for key in self.missing]
        return "; ".join((*self.faults, *absent))


@dataclass(frozen=True, slots=True)
class Gang:
    """Pods that get their capacity together or not at all. `name` is that of the request, `running` are members that
    are bound already and no part of the pod sets' counts (`muster_plan.remaining`)."""

    id: GangId
    namespace: str
    pod_sets: tuple[PodSet, ...]
    pod_groups: Mapping[str, PodGroup]
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    name: str = ""
    running: tuple[RunningMember, ...] = ()

    @property
    def one_domain(self) -> bool:
        """Whether all annotated pod sets share a domain."""
        return self.parameters.get(REQUEST_SCOPE) == "Request"

    @classmethod
    def from_request(
        cls, request: Mapping[str, object], snapshot: Snapshot, *, gang: GangId | None = None
    ) -> "Gang | InvalidGang":
        """The gang of a ProvisioningRequest (Kubernetes JSON). Templates, named claims and PodGroups are looked up in
        the snapshot. The id is `namespace/name` unless given."""
        try:
            read = parse_provisioning_request(request)
        except InvalidObject as fault:
            return InvalidGang(gang or GangId(f"{fault.namespace}/{fault.name}"), (), (str(fault),))
        return _Builder(gang or GangId(f"{read.namespace}/{read.name}"), read.namespace, snapshot).build(read)


@dataclass(slots=True)
class _Builder:
    gang: GangId
    namespace: str
    snapshot: Snapshot
    missing: set[ObjectKey] = field(default_factory=set[ObjectKey])
    faults: list[str] = field(default_factory=list[str])
    shared: dict[str, SharedClaim] = field(default_factory=dict[str, SharedClaim])
    groups: dict[str, PodGroup] = field(default_factory=dict[str, PodGroup])

    def build(self, request: ProvisioningRequest) -> Gang | InvalidGang:
        names: set[str] = set()
        pod_sets: list[PodSet] = []
        for wanted in request.pod_sets:
            key = ObjectKey("PodTemplate", self.namespace, wanted.template)
            template = self.snapshot.tables.pod_templates.get(key)
            if template is None:
                self._absent(key)
                continue
            name = _unique(wanted.template, names)
            pod_sets.append(self._pod_set(PodSetName(name), wanted.count, template.spec))
        if self.missing or self.faults:
            return InvalidGang(self.gang, tuple(sorted(self.missing)), tuple(self.faults))
        gang = Gang(
            id=self.gang,
            namespace=self.namespace,
            pod_sets=tuple(pod_sets),
            pod_groups=self.groups,
            parameters=request.parameters,
            annotations=request.annotations,
            name=request.name,
        )
        faults = unplanned_affinity(pod_sets)
        return InvalidGang(self.gang, (), faults) if faults else gang

    def _pod_set(self, name: PodSetName, count: int, spec: PodSpec) -> PodSet:
        topology = read_topology(spec.annotations)
        if isinstance(topology, str):
            self.faults.append(f"pod set {name}: {topology}")
            topology = Topology()
        for layer in topology.layers:
            if count % layer.size:
                self.faults.append(
                    f"pod set {name}: {count} pods cannot be cut into slices of {layer.size}; "
                    f"make the count a multiple of {layer.size}"
                )
        group = self._pod_group(spec.pod_group) if spec.pod_group else None
        claims = [self._claim(entry, group) for entry in spec.claims]
        return PodSet(name, count, spec, tuple(claim for claim in claims if claim is not None), topology)

    def _pod_group(self, name: str) -> PodGroup | None:
        key = ObjectKey("PodGroup", self.namespace, name)
        group = self.snapshot.tables.pod_groups.get(key)
        if group is None:
            self._absent(key)
        else:
            self.groups[name] = group
        return group

    def _claim(self, entry: ClaimEntry, group: PodGroup | None) -> OwnClaim | SharedEntry | None:
        if group is not None and entry in group.claims:
            return self._group_claim(entry, group)
        if entry.claim:
            claim = self._named(entry.claim)
            return None if claim is None else SharedEntry(entry.name, claim, direct=True)
        spec = self._template(entry.template)
        return None if spec is None else OwnClaim(entry.name, spec)

    def _group_claim(self, entry: ClaimEntry, group: PodGroup) -> SharedEntry | None:
        """Same name and same reference as an entry of the group: one claim for the group (KEP-5729)."""
        made = group.claim_names.get(entry.name, "") or entry.claim
        if made:
            claim = self._named(made)
            return None if claim is None else SharedEntry(entry.name, claim, direct=False)
        spec = self._template(entry.template)
        if spec is None:
            return None
        id = f"group/{self.namespace}/{group.name}/{entry.name}"
        return SharedEntry(entry.name, self.shared.setdefault(id, SharedClaim(id, spec, None)), direct=False)

    def _named(self, name: str) -> SharedClaim | None:
        key = ObjectKey("ResourceClaim", self.namespace, name)
        claim = self.snapshot.tables.claims.get(key)
        if claim is None:
            self._absent(key)
            return None
        if claim.deleting:
            self.faults.append(f"{key} is being deleted")
        id = f"claim/{self.namespace}/{name}"
        return self.shared.setdefault(id, SharedClaim(id, claim.spec, claim))

    def _template(self, name: str) -> ClaimSpec | None:
        key = ObjectKey("ResourceClaimTemplate", self.namespace, name)
        template = self.snapshot.tables.claim_templates.get(key)
        if template is None:
            self._absent(key)
            return None
        return template.spec

    def _absent(self, key: ObjectKey) -> None:
        problem = self.snapshot.problems.get(key)
        if problem is None:
            self.missing.add(key)
        else:
            self.faults.append(str(problem))


def _unique(name: str, taken: set[str]) -> str:
    """Two pod sets may use one template: the later ones get a number."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name}-{number}", number + 1
    taken.add(found)
    return found


def unplanned_affinity(pod_sets: Sequence[PodSet]) -> tuple[str, ...]:
    """Terms that cannot be planned: a pod set that must share a node with another one."""
    return tuple(
        f"pod set {pod_set.name}: required pod affinity to pod set {other.name} over {HOSTNAME} is not planned; "
        "put both in one pod set group with the required topology of the hostname"
        for pod_set in pod_sets
        for term in pod_set.spec.pod_affinity
        if term.topology_key == HOSTNAME
        for other in pod_sets
        if other is not pod_set and term.selects(other.spec.labels, other.spec.namespace, pod_set.spec.namespace)
    )
