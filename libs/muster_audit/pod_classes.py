"""Pending pods that differ in name only are judged once: classes of equal pods."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from muster_audit.cluster import Cluster
from muster_audit.parts import Json, items, mapping, part, text, whole
from muster_dra import ResourceClaim
from muster_plan import Gang, InvalidGang, Pod, Snapshot
from muster_plan.pods import ClaimEntry
from muster_types import GangId, ObjectKey

_MADE = "muster.dev/audit"
"""Begins the names of templates that the audit makes; no object of a cluster has a slash in its name."""
_KUEUE = "kueue.x-k8s.io/"


@dataclass(frozen=True, slots=True)
class PodClass:
    """Equal pods, in the order of their age and of the dump. `template` stands for them all in the snapshot;
    `shared` are claims that several pods name; pods of equal `likeness` differ in their PodGroup at most."""

    members: tuple[ObjectKey, ...]
    namespace: str
    template: str
    pod: Pod
    shared: frozenset[str]
    likeness: Hashable

    @property
    def first(self) -> ObjectKey:
        return self.members[0]


def is_pending(pod: Json) -> bool:
    """Not bound, not finished, not going away."""
    return (
        not part(pod, "spec").get("nodeName")
        and text(part(pod, "status").get("phase")) in ("", "Pending")
        and not part(pod, "metadata").get("deletionTimestamp")
    )


def pending_classes(cluster: Cluster) -> tuple[PodClass, ...]:
    """Every pending pod that can be read, by class; classes in the order of their first pod."""
    snapshot = cluster.snapshot
    identities = _Identities(snapshot)
    found: dict[Hashable, list[ObjectKey]] = {}
    order = {key: place for place, key in enumerate(cluster.frame.objects)}
    pending = [key for key, obj in cluster.frame.of_kind("Pod") if is_pending(obj) and key in snapshot.tables.pods]
    pending.sort(key=lambda key: (_age(cluster.frame.objects[key]), order[key]))
    for key in pending:
        found.setdefault(identities.of(snapshot.tables.pods[key]), []).append(key)
    return tuple(
        PodClass(
            tuple(keys),
            keys[0].namespace,
            f"{_MADE}/{keys[0].name}",
            pod,
            identities.shared(pod),
            identities.of(replace(pod, spec=replace(pod.spec, pod_group=""))),
        )
        for keys in found.values()
        for pod in (snapshot.tables.pods[keys[0]],)
    )


def _age(pod: Json) -> tuple[int, str]:
    """Higher priority first, then older first; pods of a dump without times are of one age."""
    return -whole(part(pod, "spec").get("priority")), text(part(pod, "metadata").get("creationTimestamp"))


class _Identities:
    """What makes two pods equal: all that decides where they can go, and nothing that only names them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        pods = snapshot.tables.pods.values()
        # Labels tell pods apart only where some rule selects others by them.
        self._labelled = any(pod.spec.anti_affinity or pod.spec.pod_affinity or pod.spec.spread for pod in pods)
        self._users: dict[tuple[str, str], int] = {}
        self._specs: dict[int, tuple[ResourceClaim, str]] = {}
        for pod in pods:
            for name in _claim_names(pod):
                self._users[pod.namespace, name] = self._users.get((pod.namespace, name), 0) + 1

    def of(self, pod: Pod) -> Hashable:
        spec = pod.spec
        return (
            pod.namespace,
            spec.pod_group,
            spec.priority,
            tuple(spec.requests.items()),
            repr(spec.containers) if any("/" in resource for resource in spec.requests) else "",
            tuple(sorted(spec.node_selector.items())),
            spec.affinity,
            spec.tolerations,
            spec.anti_affinity,
            spec.pod_affinity,
            spec.spread,
            spec.host_ports,
            tuple(sorted(spec.labels.items())) if self._labelled else (),
            tuple(sorted((key, value) for key, value in spec.annotations.items() if key.startswith(_KUEUE))),
            tuple(self._claim(pod, entry) for entry in spec.claims),
        )

    def shared(self, pod: Pod) -> frozenset[str]:
        """Claims of the pod that other pods name too."""
        return frozenset(name for name in _claim_names(pod) if self._users[pod.namespace, name] > 1)

    def _claim(self, pod: Pod, entry: ClaimEntry) -> Hashable:
        """What a claim asks for; one that several pods name, or that is placed, is itself."""
        name = pod.claim_names.get(entry.name, "") or entry.claim
        if not name:
            return "template", entry.template
        claim = self._snapshot.claim(pod.namespace, name)
        if claim is None:
            return "absent", entry.template or name
        if claim.allocation is not None or claim.reserved_for or claim.deleting or self._users[pod.namespace, name] > 1:
            return "claim", name
        return "spec", self._written(claim)

    def _written(self, claim: ResourceClaim) -> str:
        known = self._specs.get(id(claim))
        if known is None:
            known = self._specs[id(claim)] = (claim, repr((claim.spec.requests, claim.spec.constraints)))
        return known[1]


def _claim_names(pod: Pod) -> list[str]:
    found = [pod.claim_names.get(entry.name, "") or entry.claim for entry in pod.spec.claims]
    return [name for name in found if name]


def templates_of(classes: Sequence[PodClass], cluster: Cluster) -> list[Json]:
    """A PodTemplate for each class, so that the planner can read its pods as a gang's."""
    return [template_of(cluster.frame.objects[each.first], each.template, cluster.snapshot) for each in classes]


def template_of(pod: Json, name: str, snapshot: Snapshot) -> Json:
    """The pod as a template: claims that were made for it already stand by their names."""
    metadata = part(pod, "metadata")
    namespace = text(metadata.get("namespace")) or "default"
    parsed = snapshot.tables.pods.get(ObjectKey("Pod", namespace, text(metadata.get("name"))))
    made = parsed.claim_names if parsed is not None else {}
    claims: list[Json] = []
    for each in items(part(pod, "spec").get("resourceClaims")):
        entry = mapping(each)
        claim = made.get(text(entry.get("name")), "")
        if claim and snapshot.claim(namespace, claim) is not None:
            entry = {"name": entry.get("name"), "resourceClaimName": claim}
        claims.append(entry)
    spec = {field: value for field, value in part(pod, "spec").items() if field != "resourceClaims"}
    if claims:
        spec["resourceClaims"] = claims
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": name, "namespace": namespace},
        "template": {
            "metadata": {field: metadata[field] for field in ("labels", "annotations") if field in metadata},
            "spec": spec,
        },
    }


def gang_of(
    subject: str, namespace: str, name: str, counts: Mapping[str, int], snapshot: Snapshot
) -> Gang | InvalidGang:
    """Pods made from templates, so many of each, as one gang."""
    request = {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "provisioningClassName": "audit.muster.dev",
            "podSets": [{"podTemplateRef": {"name": each}, "count": count} for each, count in counts.items()],
        },
    }
    return Gang.from_request(request, snapshot, gang=GangId(subject))
