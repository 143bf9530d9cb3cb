"""API versions that the input proves to be served: APIServices, CRDs, and the objects themselves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from muster_evaluate.fields import Json, part, parts, text

GROUPS = (
    "resource.k8s.io",
    "scheduling.k8s.io",
    "autoscaling.x-k8s.io",
    "kueue.x-k8s.io",
    "karpenter.sh",
    "cluster.x-k8s.io",
)


@dataclass(frozen=True, slots=True, order=True)
class ServedVersion:
    group: str
    version: str
    read_from: str


def served_versions(objects: Sequence[Json]) -> tuple[ServedVersion, ...]:
    """Each version of the groups that matter once, with the first object that shows it; sorted."""
    found: dict[tuple[str, str], str] = {}
    for obj in objects:
        for group, version, where in _shown(obj):
            if group in GROUPS and version:
                known = found.setdefault((group, version), where)
                found[group, version] = min(known, where, key=_strength)
    return tuple(sorted(ServedVersion(*key, where) for key, where in found.items()))


def _shown(obj: Json) -> Iterator[tuple[str, str, str]]:
    kind, name = text(obj.get("kind")), text(part(obj, "metadata").get("name"))
    if kind == "APIService":
        spec = part(obj, "spec")
        down = any(
            text(each.get("type")) == "Available" and text(each.get("status")) == "False"
            for each in parts(obj, "status", "conditions")
        )
        if not down:
            yield text(spec.get("group")), text(spec.get("version")), f"APIService/{name} spec"
    elif kind == "CustomResourceDefinition":
        for index, each in enumerate(parts(obj, "spec", "versions")):
            if each.get("served") is True:
                where = f"CustomResourceDefinition/{name} spec.versions[{index}]"
                yield text(part(obj, "spec").get("group")), text(each.get("name")), where
    else:
        group, slash, version = text(obj.get("apiVersion")).rpartition("/")
        if slash:
            yield group, version, f"{kind}/{name} apiVersion"


def _strength(where: str) -> tuple[int, str]:
    """What the server lists says more than an object, which may have been written by hand."""
    listed = where.startswith(("APIService/", "CustomResourceDefinition/"))
    return (0 if listed else 1, where)
