"""Pods and claims that the owner of an offered gang would create, as Kubernetes JSON, out of a ProvisioningRequest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster_kube.parts import at, mapping, sequence, text, whole
from muster_types import NodeName, ObjectKey

Json = Mapping[str, object]
Objects = Mapping[ObjectKey, Json]
CONSUME = "autoscaling.x-k8s.io/consume-provisioning-request"
CONSUME_OLD = "cluster-autoscaler.kubernetes.io/consume-provisioning-request"
CLASS_NAME = "autoscaling.x-k8s.io/provisioning-class-name"
CREATOR = "muster.dev/simulated-owner"
GANG = "muster.dev/gang"
NODES = "muster.dev/nodes"
POD_CLAIM = "resource.kubernetes.io/pod-claim-name"
CLAIM_VERSION = "resource.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Offer:
    """A request whose capacity is there and not yet used up. `nodes` are those that the offer names."""

    key: ObjectKey
    uid: str
    gang: str
    class_name: str
    nodes: frozenset[NodeName]
    pod_sets: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """An object that the pods of an offer need and the cluster does not show."""

    key: ObjectKey


def read_offer(key: ObjectKey, request: Json) -> Offer | None:
    """The offer of a ProvisioningRequest; None while there is none, or when it has ended (group-capacity §1.12)."""
    conditions = {
        text(at(each, "type")): text(at(each, "status")) for each in sequence(at(request, "status", "conditions"))
    }
    ended = any(conditions.get(name) == "True" for name in ("Failed", "BookingExpired", "CapacityRevoked"))
    if conditions.get("Provisioned") != "True" or ended or at(request, "metadata", "deletionTimestamp"):
        return None
    details = mapping(at(request, "status", "provisioningClassDetails"))
    named = text(details.get(NODES)).split(",")
    sets = [
        (text(at(each, "podTemplateRef", "name")), whole(at(each, "count")))
        for each in sequence(at(request, "spec", "podSets"))
    ]
    return Offer(
        key,
        text(at(request, "metadata", "uid")),
        text(details.get(GANG)),
        text(at(request, "spec", "provisioningClassName")),
        frozenset(NodeName(name) for name in named if name and name != "…"),
        tuple(sets),
    )


def consumed_request(pod: Json) -> str:
    """Name of the ProvisioningRequest that a pod consumes; empty for none."""
    annotations = mapping(at(pod, "metadata", "annotations"))
    return text(annotations.get(CONSUME)) or text(annotations.get(CONSUME_OLD))


def is_ours(pod: Json) -> bool:
    """Whether the simulated owner made the pod."""
    return text(at(pod, "metadata", "annotations", CREATOR)) != ""


def pods_of(offer: Offer, objects: Objects) -> tuple[Json, ...] | Missing:
    """Every pod of the offer: pod set by pod set, each `<request>-<pod set>-<index>`."""
    pods: list[Json] = []
    names: set[str] = set()
    for template_name, count in offer.pod_sets:
        key = ObjectKey("PodTemplate", offer.key.namespace, template_name)
        template = objects.get(key)
        if template is None:
            return Missing(key)
        pod_set, number = template_name, 2
        while pod_set in names:  # two pod sets may use one template
            pod_set, number = f"{template_name}-{number}", number + 1
        names.add(pod_set)
        pods += [_pod(offer, template, f"{offer.key.name}-{pod_set}-{index}", objects) for index in range(count)]
    return tuple(pods)


def claims_of(pod: Json, objects: Objects) -> tuple[Json, ...] | Missing:
    """The claims that a pod's templates make: one for each entry, or one for its group where the group has the same
    entry (KEP-5729). Claims that it names itself are not made here."""
    namespace, found = text(at(pod, "metadata", "namespace")), []
    for entry in map(mapping, sequence(at(pod, "spec", "resourceClaims"))):
        template_name = text(entry.get("resourceClaimTemplateName"))
        if not template_name:
            continue
        key = ObjectKey("ResourceClaimTemplate", namespace, template_name)
        template = objects.get(key)
        if template is None:
            return Missing(key)
        found.append(_claim(pod, entry, template, objects))
    return tuple(found)


def claim_names(pod: Json, objects: Objects) -> Mapping[str, str]:
    """Name of the claim behind each entry of `spec.resourceClaims`, in their order."""
    return {
        text(entry.get("name")): text(entry.get("resourceClaimName")) or _claim_name(pod, entry, objects)
        for entry in map(mapping, sequence(at(pod, "spec", "resourceClaims")))
    }


def _pod(offer: Offer, template: Json, name: str, objects: Objects) -> Json:
    inner = mapping(template.get("template"))
    spec = dict(mapping(inner.get("spec")))
    spec["tolerations"] = [
        *sequence(spec.get("tolerations")),
        {"key": GANG, "operator": "Equal", "value": offer.gang, "effect": "NoSchedule"},
    ]
    spec.pop("schedulingGates", None)  # an owner lifts them once the capacity is there
    pod: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": offer.key.namespace,
            "labels": dict(mapping(at(inner, "metadata", "labels"))),
            "annotations": {
                **mapping(at(inner, "metadata", "annotations")),
                CONSUME: offer.key.name,
                CLASS_NAME: offer.class_name,
                CREATOR: offer.uid or offer.key.name,
            },
        },
        "spec": spec,
        "status": {"phase": "Pending"},
    }
    generated = [{"name": entry, "resourceClaimName": claim} for entry, claim in claim_names(pod, objects).items()]
    if generated:
        pod["status"] = {"phase": "Pending", "resourceClaimStatuses": generated}
    return pod


def _claim(pod: Json, entry: Json, template: Json, objects: Objects) -> Json:
    name = _claim_name(pod, entry, objects)
    version = text(template.get("apiVersion"))
    return {
        "apiVersion": version if version.startswith("resource.k8s.io/") else CLAIM_VERSION,
        "kind": "ResourceClaim",
        "metadata": {
            "name": name,
            "namespace": text(at(pod, "metadata", "namespace")),
            "labels": dict(mapping(at(template, "spec", "metadata", "labels"))),
            "annotations": {
                **mapping(at(template, "spec", "metadata", "annotations")),
                POD_CLAIM: text(entry.get("name")),
                CREATOR: text(at(pod, "metadata", "annotations", CREATOR)),
            },
        },
        "spec": dict(mapping(at(template, "spec", "spec"))),
    }


def _claim_name(pod: Json, entry: Json, objects: Objects) -> str:
    """A claim of the pod alone, or the one that its group has for an entry of the same name and reference."""
    group_name, own = text(at(pod, "spec", "schedulingGroup", "podGroupName")), text(entry.get("name"))
    group = objects.get(ObjectKey("PodGroup", text(at(pod, "metadata", "namespace")), group_name))
    if group is None or entry not in _entries(group):
        return f"{text(at(pod, 'metadata', 'name'))}-{own}"
    made = {
        text(at(each, "name")): text(at(each, "resourceClaimName"))
        for each in sequence(at(group, "status", "resourceClaimStatuses"))
    }
    return made.get(own) or text(entry.get("resourceClaimName")) or f"{group_name}-{own}"


def _entries(group: Json) -> Sequence[Json]:
    return [mapping(each) for each in sequence(at(group, "spec", "resourceClaims"))]
