"""Members of a gang that run already: a new plan is for the others, in the same domains (group-capacity F21, T36)."""

from collections.abc import Mapping
from dataclasses import replace

from muster_plan.gang import Gang, PodSet, RunningMember
from muster_plan.pod_groups import PodGroup
from muster_plan.pods import Pod
from muster_plan.snapshot import Snapshot

CONSUME = (
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request",
)


def remaining(gang: Gang, snapshot: Snapshot) -> Gang:
    """The gang without the members that are bound: counts and minimum are lowered, their nodes pin the domains.

    A pod is a member if it consumes the gang's request or is in one of its PodGroups, and looks like a pod of one of
    its pod sets. Pods that are finished or going away are not counted.
    """
    left = {pod_set.name: pod_set.count for pod_set in gang.pod_sets}
    running: list[RunningMember] = []
    pods = snapshot.tables.pods
    for key in sorted(pods):
        pod = pods[key]
        if pod.namespace != gang.namespace or not pod.node or pod.finished or pod.terminating:
            continue
        if not _belongs(pod, gang):
            continue
        pod_set = next((each for each in gang.pod_sets if left[each.name] and _looks_like(pod, each)), None)
        if pod_set is not None:
            left[pod_set.name] -= 1
            running.append(RunningMember(pod_set.name, pod.node))
    sets = tuple(replace(each, count=left[each.name]) for each in gang.pod_sets)
    return replace(
        gang,
        pod_sets=tuple(each for each in sets if each.count),
        pod_groups=_lowered(gang, running),
        running=tuple(running),
    )


def _belongs(pod: Pod, gang: Gang) -> bool:
    consumed = next((pod.spec.annotations[key] for key in CONSUME if key in pod.spec.annotations), "")
    if consumed:
        return consumed == gang.name
    return bool(pod.spec.pod_group) and pod.spec.pod_group in gang.pod_groups


def _looks_like(pod: Pod, pod_set: PodSet) -> bool:
    spec = pod_set.spec
    labels = all(pod.spec.labels.get(key) == value for key, value in spec.labels.items())
    return labels and pod.spec.pod_group == spec.pod_group and pod.spec.requests == spec.requests


def _lowered(gang: Gang, running: list[RunningMember]) -> Mapping[str, PodGroup]:
    groups = {each.name: each.spec.pod_group for each in gang.pod_sets}
    found: dict[str, PodGroup] = {}
    for name, group in gang.pod_groups.items():
        there = sum(1 for each in running if groups[each.pod_set] == name)
        least = group.min_count
        found[name] = group if least is None else replace(group, min_count=max(least - there, 0))
    return found
