"""A ProvisioningRequest and what it names, as Kubernetes JSON, to what the coordinator reads of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256

import orjson

from muster_kube.parts import at, mapping, sequence, text, whole
from muster_types import ObjectKey

# Annotations that name the request itself (group-capacity §1.10); they say nothing about what is wanted.
_OWN_NAMES = frozenset(
    f"{prefix}/{name}"
    for prefix in ("autoscaling.x-k8s.io", "cluster-autoscaler.kubernetes.io")
    for name in ("consume-provisioning-request", "provisioning-class-name")
)
CONSUME_ANNOTATIONS = (
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request",
)
_CLASS_ANNOTATIONS = (
    "autoscaling.x-k8s.io/provisioning-class-name",
    "cluster-autoscaler.kubernetes.io/provisioning-class-name",
)

Json = Mapping[str, object]
Lookup = Callable[[ObjectKey], bytes | None]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Bytes that are no JSON object."""

    reason: str


@dataclass(frozen=True, slots=True)
class Reference:
    """An object that another one names. A PodGroup may be made after the capacity is there, so it is not waited for."""

    key: ObjectKey
    required: bool = True


def read_json(data: bytes) -> Json | Unreadable:
    """The object that `data` holds."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        return Unreadable(f"no JSON: {error}")
    return value if isinstance(value, dict) else Unreadable("JSON, but no object")


def is_grouped(pod: Json) -> bool:
    """Whether a pod, or the pod of a template, names a scheduling group (`spec.schedulingGroup`)."""
    return bool(text(at(pod, "spec", "schedulingGroup", "podGroupName")))


def pod_sets(request: Json) -> list[tuple[str, int]]:
    """Template name and number of pods of each pod set, in order."""
    sets = sequence(at(request, "spec", "podSets"))
    return [(text(at(each, "podTemplateRef", "name")), whole(mapping(each).get("count"))) for each in sets]


def collect(request: Json, namespace: str, lookup: Lookup) -> tuple[dict[ObjectKey, bytes], tuple[ObjectKey, ...]]:
    """Every object that the request needs, as far as `lookup` gives it, and the required ones that it does not give."""
    found: dict[ObjectKey, bytes] = {}
    missing: list[ObjectKey] = []
    open_: list[Reference] = [Reference(ObjectKey("PodTemplate", namespace, name)) for name, _ in pod_sets(request)]
    seen: set[ObjectKey] = set()
    while open_:
        reference = open_.pop(0)
        if reference.key in seen:
            continue
        seen.add(reference.key)
        data = lookup(reference.key)
        obj = None if data is None else read_json(data)
        if data is None or obj is None or isinstance(obj, Unreadable):
            if reference.required:
                missing.append(reference.key)
            continue
        found[reference.key] = data
        open_ += references(obj, namespace)
    return dict(sorted(found.items())), tuple(sorted(missing))


def references(obj: Json, namespace: str) -> Iterator[Reference]:
    """What a PodTemplate or PodGroup names; other kinds name nothing that is needed here."""
    kind = text(obj.get("kind"))
    if kind == "PodTemplate":
        spec = mapping(at(obj, "template", "spec"))
        yield from _claims(spec.get("resourceClaims"), namespace)
        group = text(at(spec, "schedulingGroup", "podGroupName"))
        if group:
            yield Reference(ObjectKey("PodGroup", namespace, group), required=False)
    elif kind == "PodGroup":
        yield from _claims(at(obj, "spec", "resourceClaims"), namespace)


def content_hash(request: Json, namespace: str, objects: Mapping[ObjectKey, bytes]) -> str:
    """A hash over what is asked and not over its names: attempts of one workload agree (group-capacity N-2.1, F2)."""
    spec = mapping(request.get("spec"))
    asked = {
        "class": spec.get("provisioningClassName"),
        "parameters": mapping(spec.get("parameters")),
        "podSets": [[count, _template(objects, namespace, name)] for name, count in pod_sets(request)],
        "objects": sorted(
            [key.kind, key.name, mapping(_json(data)).get("spec")]
            for key, data in objects.items()
            if key.kind != "PodTemplate"
        ),
    }
    return sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def workload_key(request: Json) -> str:
    """Uid of the owning workload and name of the admission check; empty without an owner.

    Names follow `<workload>-<check>-<attempt>` (group-capacity §2.2); one that was cut short stands for itself.
    """
    metadata = mapping(request.get("metadata"))
    owners = [mapping(o) for o in sequence(metadata.get("ownerReferences"))]
    owner = next((o for o in owners if o.get("controller") is True), None)
    if owner is None or not text(owner.get("uid")):
        return ""
    stem, _, attempt = text(metadata.get("name")).rpartition("-")
    check = stem if attempt.isdigit() else text(metadata.get("name"))
    return f"{text(owner.get('uid'))}/{check.removeprefix(text(owner.get('name')) + '-')}"


def priority(request: Json, objects: Iterable[bytes]) -> int:
    """The parameter `Priority`, else the highest pod priority among the templates."""
    given = text(at(request, "spec", "parameters", "Priority"))
    if given.lstrip("-").isdigit():
        return int(given)
    return max((whole(at(_json(data), "template", "spec", "priority")) for data in objects), default=0)


def consumed_request(pod: Json) -> str:
    """Name of the ProvisioningRequest that a pod consumes; empty for none (group-capacity §1.10)."""
    annotations = mapping(at(pod, "metadata", "annotations"))
    return next((text(annotations[key]) for key in CONSUME_ANNOTATIONS if annotations.get(key)), "")


def consumed_class(pod: Json) -> str:
    """The class of that request, as the pod says; it need not."""
    annotations = mapping(at(pod, "metadata", "annotations"))
    return next((text(annotations[key]) for key in _CLASS_ANNOTATIONS if annotations.get(key)), "")


def _claims(claims: object, namespace: str) -> Iterator[Reference]:
    for claim in map(mapping, sequence(claims)):
        template, name = text(claim.get("resourceClaimTemplateName")), text(claim.get("resourceClaimName"))
        if template:
            yield Reference(ObjectKey("ResourceClaimTemplate", namespace, template))
        elif name:
            yield Reference(ObjectKey("ResourceClaim", namespace, name))


def _template(objects: Mapping[ObjectKey, bytes], namespace: str, name: str) -> object:
    data = objects.get(ObjectKey("PodTemplate", namespace, name))
    template = dict(mapping(mapping(_json(data)).get("template"))) if data is not None else {}
    metadata = dict(mapping(template.get("metadata")))
    annotations = {k: v for k, v in mapping(metadata.get("annotations")).items() if k not in _OWN_NAMES}
    return {"spec": template.get("spec"), "labels": metadata.get("labels"), "annotations": annotations}


def _json(data: bytes) -> Json:
    value = read_json(data)
    return {} if isinstance(value, Unreadable) else value
