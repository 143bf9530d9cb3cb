"""What waits for devices in a dump: pods with their claims, and claims that no pod has (dra-semantics §5.1, §5.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from muster_cli.exits import UserError
from muster_dra import ContainerRequests, ResourceClaim, classes_by_resource, is_candidate
from muster_plan import Pod, Snapshot
from muster_plan.pods import ClaimEntry, ContainerRole
from muster_types import ObjectKey

Objects = Mapping[ObjectKey, Mapping[str, object]]
_EXTENDED = "resource.kubernetes.io/extended-resource-claim"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is allocated together: `claims` that have no devices yet, in pod order, beside those `held` already.

    `refusal` says why the scheduler would not even look at a node; `notes` what was assumed.
    """

    name: str
    claims: tuple[ResourceClaim, ...] = ()
    held: tuple[ResourceClaim, ...] = ()
    containers: tuple[ContainerRequests, ...] = ()
    refusal: str = ""
    notes: tuple[str, ...] = ()


def subject_of_pod(snapshot: Snapshot, objects: Objects, name: str) -> Subject:
    """The claims of one pod. Raises UserError: it is not there, or it runs already."""
    key = _key("Pod", name)
    pod = snapshot.tables.pods.get(key)
    if pod is None:
        raise UserError(
            f"{key} is not in the dump{_unread(snapshot, key)}; the pods there: {_some(snapshot.tables.pods)}"
        )
    if pod.node:
        raise UserError(f"{key} is on node {pod.node} already; its claims are allocated")
    return _subject(snapshot, objects, key, pod)


def subject_of_claims(snapshot: Snapshot, names: Sequence[str]) -> Subject:
    """Claims together, as if one pod had them all. Raises UserError: one is not there."""
    found = [_claim(snapshot, _key("ResourceClaim", name)) for name in names]
    return _sorted_out(Subject(f"ResourceClaim/{' + '.join(claim.full_name for claim in found)}"), found)


def waiting_subjects(snapshot: Snapshot, objects: Objects) -> list[Subject]:
    """Every pending pod that wants devices, then every claim without devices that no such pod has; by name."""
    found: list[Subject] = []
    of_pods: set[str] = set()
    for key, pod in sorted(snapshot.tables.pods.items()):
        if pod.node or pod.finished or pod.terminating or not (pod.spec.claims or _wants_extended(snapshot, pod)):
            continue
        subject = _subject(snapshot, objects, key, pod)
        of_pods.update(claim.full_name for claim in (*subject.claims, *subject.held))
        found.append(subject)
    alone = [
        claim
        for _, claim in sorted(snapshot.tables.claims.items())
        if claim.allocation is None and claim.full_name not in of_pods
    ]
    return found + [_sorted_out(Subject(f"ResourceClaim/{claim.full_name}"), [claim]) for claim in alone]


def _subject(snapshot: Snapshot, objects: Objects, key: ObjectKey, pod: Pod) -> Subject:
    subject = Subject(str(key), containers=_containers(pod) if _wants_extended(snapshot, pod) else ())
    claims: list[ResourceClaim] = []
    for entry in pod.spec.claims:
        found = _claim_of_entry(snapshot, objects, key, pod, entry)
        if isinstance(found, str):
            return replace(subject, refusal=found)
        if found is not None:
            claim, note = found
            claims.append(claim)
            subject = replace(subject, notes=(*subject.notes, note) if note else subject.notes)
    leftover = _leftover(objects, key)
    if leftover and subject.containers:
        text = f"claim {leftover} of its extended resources is left over from an earlier attempt; it is deleted first"
        return replace(subject, refusal=text)
    return _sorted_out(subject, claims)


def _sorted_out(subject: Subject, claims: Sequence[ResourceClaim]) -> Subject:
    deleting = [claim.full_name for claim in claims if claim.deleting]
    if deleting:
        return replace(subject, refusal=f"claim {deleting[0]} is being deleted")
    return replace(
        subject,
        claims=tuple(claim for claim in claims if claim.allocation is None),
        held=tuple(claim for claim in claims if claim.allocation is not None),
    )


def _claim_of_entry(
    snapshot: Snapshot, objects: Objects, key: ObjectKey, pod: Pod, entry: ClaimEntry
) -> tuple[ResourceClaim, str] | str | None:
    """The claim behind an entry with what was assumed; None: none is needed; a text: the pod cannot be placed."""
    if entry.claim:
        claim_key = ObjectKey("ResourceClaim", key.namespace, entry.claim)
        claim = snapshot.tables.claims.get(claim_key)
        return (claim, "") if claim is not None else f"{claim_key} is not in the dump{_unread(snapshot, claim_key)}"
    if entry.name in pod.claim_names:
        name = pod.claim_names[entry.name]
        if not name:
            return None
        claim_key = ObjectKey("ResourceClaim", key.namespace, name)
        claim = snapshot.tables.claims.get(claim_key)
        if claim is None:
            return f"{claim_key}, made for entry {entry.name}, is not in the dump{_unread(snapshot, claim_key)}"
        owned = _is_owned(objects[claim_key], objects[key])
        return (claim, "") if owned else f"{claim_key} of entry {entry.name} does not belong to this pod"
    template_key = ObjectKey("ResourceClaimTemplate", key.namespace, entry.template)
    template = snapshot.tables.claim_templates.get(template_key)
    if template is None:
        return f"{template_key} of entry {entry.name} is not in the dump{_unread(snapshot, template_key)}"
    claim = ResourceClaim(f"{key.name}-{entry.name}", key.namespace, template.spec)
    return claim, f"entry {entry.name} has no claim yet; answered with what {template_key} asks for"


def _is_owned(claim: Mapping[str, object], pod: Mapping[str, object]) -> bool:
    """Whether the pod, or the group that it belongs to, controls the claim; a dump without uids is believed."""
    uid = _part(pod, "metadata").get("uid")
    owners = _part(claim, "metadata").get("ownerReferences")
    controllers = [
        owner
        for owner in (owners if isinstance(owners, list) else [])
        if isinstance(owner, Mapping) and owner.get("controller") is True
    ]
    if not uid or not controllers:
        return not controllers
    in_group = bool(_part(pod, "spec").get("schedulingGroup"))
    return any(owner.get("uid") == uid or (in_group and owner.get("kind") == "PodGroup") for owner in controllers)


def _leftover(objects: Objects, pod: ObjectKey) -> str:
    """The claim that an earlier attempt made for the pod's extended resources."""
    for key, claim in sorted(objects.items()):
        metadata = _part(claim, "metadata")
        if key.kind != "ResourceClaim" or key.namespace != pod.namespace:
            continue
        if _part(metadata, "annotations").get(_EXTENDED) == "true" and _is_of(metadata, objects[pod]):
            return f"{key.namespace}/{key.name}"
    return ""


def _is_of(metadata: Mapping[str, object], pod: Mapping[str, object]) -> bool:
    owners, uid = metadata.get("ownerReferences"), _part(pod, "metadata").get("uid")
    return isinstance(owners, list) and any(
        isinstance(owner, Mapping) and bool(uid) and owner.get("uid") == uid for owner in owners
    )


def _wants_extended(snapshot: Snapshot, pod: Pod) -> bool:
    mapped = classes_by_resource(snapshot.tables.classes.values(), strict=snapshot.features.strict)
    return any(
        amount > 0 and is_candidate(resource) and resource in mapped
        for container in pod.spec.containers
        for resource, amount in container.requests.items()
    )


def _containers(pod: Pod) -> tuple[ContainerRequests, ...]:
    return tuple(
        ContainerRequests(
            each.name,
            each.requests,
            each.role is not ContainerRole.APP,
            each.role is ContainerRole.SIDECAR,
        )
        for each in pod.spec.containers
    )


def _claim(snapshot: Snapshot, key: ObjectKey) -> ResourceClaim:
    claim = snapshot.tables.claims.get(key)
    if claim is None:
        there = _some(snapshot.tables.claims)
        raise UserError(f"{key} is not in the dump{_unread(snapshot, key)}; the claims there: {there}")
    return claim


def _key(kind: str, name: str) -> ObjectKey:
    namespace, slash, own = name.partition("/")
    return ObjectKey(kind, namespace, own) if slash else ObjectKey(kind, "default", name)


def _unread(snapshot: Snapshot, key: ObjectKey) -> str:
    problem = snapshot.problems.get(key)
    return f" (it could not be read: {problem.field}: {problem.reason})" if problem is not None else ""


def _some(keys: Mapping[ObjectKey, object]) -> str:
    names = [f"{key.namespace}/{key.name}" for key in sorted(keys)]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return (", ".join(names[:5]) + more) or "none"


def _part(obj: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = obj.get(name)
    return value if isinstance(value, Mapping) else {}
