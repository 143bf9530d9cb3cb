"""What is pending: ProvisioningRequests without an end, PodGroups with pending pods, and the pods that are left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from muster_evaluate.fields import Json, part, parts, text
from muster_plan import Gang, InvalidGang, Pod, PodGroup, PodSpec, PodTemplate, Snapshot, remaining
from muster_plan.pods import ClaimEntry
from muster_plan.running import CONSUME
from muster_types import GangId, ObjectKey

_NUMBERS = frozenset(
    {
        "batch.kubernetes.io/job-completion-index",
        "apps.kubernetes.io/pod-index",
        "statefulset.kubernetes.io/pod-name",
        "jobset.sigs.k8s.io/job-index",
        "jobset.sigs.k8s.io/job-key",
    }
)
"""Labels and annotations that number the pods of one controller."""


@dataclass(frozen=True, slots=True)
class Work:
    """`together`: all of its pods or none; else each pod stands for itself. `priority` orders the queue."""

    subject: str
    gang: Gang
    together: bool
    priority: int

    @property
    def pods(self) -> int:
        return sum(each.count for each in self.gang.pod_sets)


@dataclass(frozen=True, slots=True)
class Unread:
    subject: str
    why: str


@dataclass(frozen=True, slots=True)
class Pending:
    """`gated` pods have scheduling gates: neither a scheduler nor an autoscaler looks at them."""

    works: tuple[Work, ...]
    unread: tuple[Unread, ...]
    gated: int


def pending_work(objects: Sequence[Json], snapshot: Snapshot) -> Pending:
    """In the order of a scheduler's queue: priority first, then gangs before single pods, then by name."""
    works: list[Work] = []
    unread: list[Unread] = []
    requests = {_name(each): each for each in objects if text(each.get("kind")) == "ProvisioningRequest"}
    named: set[tuple[str, str]] = set()
    for name in sorted(requests):
        found = Gang.from_request(requests[name], snapshot)
        if _is_settled(requests[name]) or (isinstance(found, Gang) and _is_of_its_group(found, snapshot)):
            continue
        if isinstance(found, Gang):
            named |= {(found.namespace, group) for group in found.pod_groups}
        _add(f"ProvisioningRequest/{'/'.join(name)}", found, works, unread, snapshot)
    gated = {
        _name(each) for each in objects if text(each.get("kind")) == "Pod" and parts(each, "spec", "schedulingGates")
    }
    members: dict[tuple[str, str], list[Pod]] = {}
    single: dict[str, list[Pod]] = {}
    held = 0
    for key in sorted(snapshot.tables.pods):
        pod = snapshot.tables.pods[key]
        if pod.node or pod.finished or pod.terminating:
            continue
        request = next((pod.spec.annotations[name] for name in CONSUME if name in pod.spec.annotations), "")
        if request and (pod.namespace, request) in requests and pod.spec.pod_group != request:
            continue
        if (pod.namespace, pod.spec.pod_group) in named:
            continue
        if (pod.namespace, pod.name) in gated:
            held += 1
            continue
        group = snapshot.tables.pod_groups.get(ObjectKey("PodGroup", pod.namespace, pod.spec.pod_group))
        if group is not None and group.min_count is not None:
            members.setdefault((pod.namespace, pod.spec.pod_group), []).append(pod)
        else:
            single.setdefault(_likeness(pod, snapshot), []).append(pod)
    for (namespace, name), pods in sorted(members.items()):
        group = snapshot.tables.pod_groups[ObjectKey("PodGroup", namespace, name)]
        _add(f"PodGroup/{namespace}/{name}", _gang_of_group(group, pods, snapshot), works, unread, snapshot)
    for pods in sorted(single.values(), key=lambda pods: (pods[0].namespace, pods[0].name)):
        subject = f"Pod/{pods[0].namespace}/{pods[0].name}" + (f" and {len(pods) - 1} alike" if len(pods) > 1 else "")
        gang = _gang(subject, pods[0].namespace, [(pods[0], len(pods))], snapshot)
        _add(subject, gang, works, unread, snapshot, together=len(pods) == 1)
    works.sort(key=lambda each: (-each.priority, not each.together, each.subject))
    return Pending(tuple(works), tuple(unread), held)


def _add(
    subject: str,
    gang: Gang | InvalidGang,
    works: list[Work],
    unread: list[Unread],
    snapshot: Snapshot,
    *,
    together: bool = True,
) -> None:
    if isinstance(gang, InvalidGang):
        unread.append(Unread(subject, gang.sentence()))
        return
    left = remaining(gang, snapshot)
    if left.pod_sets:
        priority = max(each.spec.priority for each in left.pod_sets)
        works.append(Work(subject, left, together, priority))


def _gang_of_group(group: PodGroup, pods: Sequence[Pod], snapshot: Snapshot) -> Gang | InvalidGang:
    """Pods that do not exist yet are taken to be like the last one; bound members are counted, to be left out again."""
    classes: dict[str, list[Pod]] = {}
    for pod in pods:
        classes.setdefault(_likeness(pod, snapshot), []).append(pod)
    sets = [(alike[0], len(alike)) for alike in classes.values()]
    bound = [
        pod
        for pod in snapshot.tables.pods.values()
        if (pod.namespace, pod.spec.pod_group) == (group.namespace, group.name)
        and pod.node
        and not pod.finished
        and not pod.terminating
    ]
    for pod in sorted(bound, key=lambda each: each.name):
        like = next((at for at, (each, _) in enumerate(sets) if each.spec.requests == pod.spec.requests), None)
        if like is not None:
            sets[like] = (sets[like][0], sets[like][1] + 1)
    missing = max((group.min_count or 0) - len(bound) - len(pods), 0)
    sets[-1] = (sets[-1][0], sets[-1][1] + missing)
    return _gang(f"PodGroup/{group.namespace}/{group.name}", group.namespace, sets, snapshot)


def _gang(subject: str, namespace: str, sets: Sequence[tuple[Pod, int]], snapshot: Snapshot) -> Gang | InvalidGang:
    """Pods as the planner reads them: one template for each class."""
    templates = {
        ObjectKey("PodTemplate", namespace, pod.name): PodTemplate(namespace, pod.name, _spec(pod, snapshot))
        for pod, _ in sets
    }
    tables = replace(snapshot.tables, pod_templates={**snapshot.tables.pod_templates, **templates})
    request = {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {"name": sets[0][0].name, "namespace": namespace},
        "spec": {
            "provisioningClassName": "evaluate.muster.dev",
            "podSets": [{"podTemplateRef": {"name": pod.name}, "count": count} for pod, count in sets],
        },
    }
    return Gang.from_request(request, replace(snapshot, tables=tables), gang=GangId(subject))


def _spec(pod: Pod, snapshot: Snapshot) -> PodSpec:
    """With the numbers of the pod left out. A claim that was made for it counts where it holds devices already, or
    where its template is gone."""
    entries: list[ClaimEntry] = []
    for entry in pod.spec.claims:
        made = snapshot.claim(pod.namespace, pod.claim_names.get(entry.name, "")) if entry.template else None
        template = ObjectKey("ResourceClaimTemplate", pod.namespace, entry.template)
        lost = template not in snapshot.tables.claim_templates
        own = made is not None and (made.allocation is not None or lost)
        entries.append(replace(entry, claim=made.name, template="") if own and made is not None else entry)
    return replace(
        pod.spec,
        labels=_unnumbered(pod.spec.labels),
        annotations=_unnumbered(pod.spec.annotations),
        claims=tuple(entries),
    )


def _is_of_its_group(gang: Gang, snapshot: Snapshot) -> bool:
    """Whether a request asks for the pods of the PodGroup of its own name, which stands for them: it has the domain."""
    group = snapshot.tables.pod_groups.get(ObjectKey("PodGroup", gang.namespace, gang.name))
    if group is None or group.min_count is None or gang.pod_groups:
        return False
    members = [
        pod.spec
        for pod in snapshot.tables.pods.values()
        if (pod.namespace, pod.spec.pod_group) == (gang.namespace, gang.name) and not pod.node and not pod.finished
    ]
    asked = [(each.spec.requests, each.spec.claims, each.spec.node_selector) for each in gang.pod_sets]
    return bool(members) and all((each.requests, each.claims, each.node_selector) in asked for each in members)


def _likeness(pod: Pod, snapshot: Snapshot) -> str:
    return repr((pod.namespace, _spec(pod, snapshot)))


def _unnumbered(written: Mapping[str, str]) -> dict[str, str]:
    return {name: written[name] for name in sorted(written) if name not in _NUMBERS}


def _is_settled(request: Json) -> bool:
    return any(
        text(each.get("type")) in ("Provisioned", "Failed") and text(each.get("status")) == "True"
        for each in parts(request, "status", "conditions")
    )


def _name(obj: Json) -> tuple[str, str]:
    metadata = part(obj, "metadata")
    return text(metadata.get("namespace")) or "default", text(metadata.get("name"))
