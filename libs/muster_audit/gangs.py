"""What is asked for together: PodGroups with a minimum, and ProvisioningRequests, each as the planner's gang."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from muster_audit.cluster import Cluster
from muster_audit.parts import Json, part, parts, text
from muster_audit.pod_classes import PodClass, gang_of
from muster_plan import Gang, InvalidGang, PodGroup, PodSpec, parse_provisioning_request, remaining
from muster_plan.gang import PodSet
from muster_types import ObjectKey, PodSetName

CONSUME = (
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request",
)
_CHECK = "check-capacity"


@dataclass(frozen=True, slots=True)
class Subject:
    """A gang to be judged. `members` are its pending pods by pod set; `running` of `wanted` run already.

    `likeness` is equal for gangs that differ in their names alone. `missing` pods do not exist yet: they are assumed to
    be like the last of those that do.
    """

    key: ObjectKey
    gang: Gang
    members: Mapping[PodSetName, tuple[ObjectKey, ...]]
    running: int
    wanted: int
    missing: int
    priority: int
    likeness: Hashable
    only_checks: bool = False
    ordered_by: ObjectKey | None = None
    """The request that orders the capacity of a PodGroup."""

    @property
    def pods(self) -> int:
        return sum(each.count for each in self.gang.pod_sets)

    @property
    def repairs(self) -> bool:
        """Whether it runs and lacks members."""
        return 0 < self.running < self.wanted


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A gang that cannot be read; `members` are its pending pods."""

    key: ObjectKey
    fault: InvalidGang
    members: tuple[ObjectKey, ...]
    only_checks: bool = False


def pod_group_subjects(classes: Sequence[PodClass], cluster: Cluster) -> list[Subject | Unreadable]:
    """Every PodGroup with a gang policy that has pending pods, or none at all; in the order of the dump."""
    by_group: dict[tuple[str, str], list[PodClass]] = {}
    for each in classes:
        if each.pod.spec.pod_group:
            by_group.setdefault((each.namespace, each.pod.spec.pod_group), []).append(each)
    found: list[Subject | Unreadable] = []
    for key, _ in cluster.frame.of_kind("PodGroup"):
        group = cluster.snapshot.tables.pod_groups.get(key)
        mine = by_group.get((key.namespace, key.name), [])
        if group is not None and group.min_count is not None and mine:
            found.append(_of_group(key, group, mine, cluster))
    return found


def is_gang_member(pods: PodClass, cluster: Cluster) -> bool:
    """Whether the pods are judged with their PodGroup; with the basic policy every pod stands for itself."""
    group = cluster.snapshot.tables.pod_groups.get(ObjectKey("PodGroup", pods.namespace, pods.pod.spec.pod_group))
    return group is not None and group.min_count is not None


def _of_group(key: ObjectKey, group: PodGroup, classes: list[PodClass], cluster: Cluster) -> Subject | Unreadable:
    bound = _bound_members(key, cluster)
    counts = {each.template: len(each.members) for each in classes}
    unlike = 0
    for spec in bound:
        like = next((each for each in classes if _alike(spec, each.pod.spec)), None)
        if like is None:
            unlike += 1
        else:
            counts[like.template] += 1
    least = group.min_count or 0
    missing = max(least - len(bound) - sum(len(each.members) for each in classes), 0)
    counts[classes[-1].template] += missing
    whole = gang_of(str(key), key.namespace, key.name, counts, cluster.snapshot)
    if isinstance(whole, InvalidGang):
        return Unreadable(key, whole, tuple(member for each in classes for member in each.members))
    gang = remaining(whole, cluster.snapshot)
    groups = {
        name: replace(each, min_count=max(each.min_count - unlike, 0)) if each.min_count is not None else each
        for name, each in gang.pod_groups.items()
    }
    likeness = tuple(sorted((repr(each.likeness), counts[each.template]) for each in classes))
    return Subject(
        key,
        replace(gang, pod_groups=groups),
        {PodSetName(each.template): each.members for each in classes},
        len(bound),
        least,
        missing,
        max(group.priority, *(each.pod.spec.priority for each in classes)),
        (key.namespace, least, len(bound), group.topology_keys, likeness),
    )


def _bound_members(key: ObjectKey, cluster: Cluster) -> list[PodSpec]:
    pods = cluster.snapshot.tables.pods
    return [
        pods[each].spec
        for each in sorted(pods)
        if pods[each].namespace == key.namespace
        and pods[each].spec.pod_group == key.name
        and pods[each].node
        and not pods[each].finished
        and not pods[each].terminating
    ]


def _alike(bound: PodSpec, pending: PodSpec) -> bool:
    labels = all(bound.labels.get(name) == value for name, value in pending.labels.items())
    return labels and bound.requests == pending.requests


def request_subjects(classes: Sequence[PodClass], cluster: Cluster) -> list[Subject | Unreadable]:
    """Every ProvisioningRequest that has no end yet; in the order of the dump."""
    found: list[Subject | Unreadable] = []
    for key, obj in cluster.frame.of_kind("ProvisioningRequest"):
        if _is_settled(obj):
            continue
        checks = text(part(obj, "spec").get("provisioningClassName")).startswith(_CHECK)
        whole = Gang.from_request(obj, cluster.snapshot, gang=None)
        if isinstance(whole, InvalidGang):
            found.append(Unreadable(key, whole, (), checks))
            continue
        group = _group_of(key, whole, classes, cluster)
        gang = remaining(whole if group is None else _under(group, whole), cluster.snapshot)
        wanted = sum(each.count for each in parse_provisioning_request(obj).pod_sets)
        running = len(gang.running)
        found.append(Subject(key, gang, {}, running, wanted, 0, 0, key, only_checks=checks))
    return found


def _is_settled(request: Json) -> bool:
    return any(
        text(each.get("type")) in ("Provisioned", "Failed") and text(each.get("status")) == "True"
        for each in parts(request, "status", "conditions")
    )


def _group_of(key: ObjectKey, gang: Gang, classes: Sequence[PodClass], cluster: Cluster) -> PodGroup | None:
    """The PodGroup whose capacity the request asks for, where its templates do not name one: that of the pods that
    consume it, else the one of its name whose pods are like its own."""
    if gang.pod_groups or any(each.topology.required for each in gang.pod_sets):
        return None
    groups = cluster.snapshot.tables.pod_groups
    for each in classes:
        annotations = each.pod.spec.annotations
        if each.namespace == key.namespace and each.pod.spec.pod_group and consumed_by(annotations) == key.name:
            return groups.get(ObjectKey("PodGroup", key.namespace, each.pod.spec.pod_group))
    same = groups.get(ObjectKey("PodGroup", key.namespace, key.name))
    mine = [each for each in classes if each.namespace == key.namespace and each.pod.spec.pod_group == key.name]
    alike = all(any(_asks_alike(each.pod.spec, pod_set.spec) for pod_set in gang.pod_sets) for each in mine)
    return same if same is not None and mine and alike else None


def consumed_by(annotations: Mapping[str, str]) -> str:
    """The request that a pod consumes, "" for none."""
    return next((annotations[name] for name in CONSUME if name in annotations), "")


def _asks_alike(one: PodSpec, other: PodSpec) -> bool:
    return one.requests == other.requests and one.claims == other.claims and one.node_selector == other.node_selector


def _under(group: PodGroup, gang: Gang) -> Gang:
    """The gang's pods as members of the PodGroup: its topology binds them, all of them are asked for."""

    def member(each: PodSet) -> PodSet:
        return replace(each, spec=replace(each.spec, pod_group=group.name))

    return replace(
        gang,
        pod_sets=tuple(map(member, gang.pod_sets)),
        pod_groups={group.name: replace(group, min_count=None)},
    )


def linked(
    groups: Sequence[Subject | Unreadable], requests: Sequence[Subject | Unreadable]
) -> list[Subject | Unreadable]:
    """PodGroups with the request that orders for them, so that their nodes are not ordered twice."""
    by_group: dict[tuple[str, str], ObjectKey] = {}
    for each in requests:
        if isinstance(each, Subject) and not each.only_checks:
            for name in each.gang.pod_groups:
                by_group.setdefault((each.key.namespace, name), each.key)
    return [
        replace(each, ordered_by=by_group.get((each.key.namespace, each.key.name)))
        if isinstance(each, Subject)
        else each
        for each in groups
    ]
