"""Parts of Kubernetes JSON that may be absent or of another type: then they read as empty."""

from collections.abc import Mapping, Sequence
from typing import cast

from muster_types import ObjectKey

Json = Mapping[str, object]

_NOTHING: Json = {}
NAMESPACED = frozenset(
    {
        "Pod",
        "PodTemplate",
        "PodGroup",
        "ProvisioningRequest",
        "ResourceClaim",
        "ResourceClaimTemplate",
        "ResourceQuota",
        "Workload",
    }
)


def mapping(value: object) -> Json:
    return cast("Json", value) if isinstance(value, Mapping) else _NOTHING


def items(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def whole(value: object, default: int = 0) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def part(obj: Json, *path: str) -> Json:
    """The object at a path of field names."""
    found: object = obj
    for name in path:
        found = mapping(found).get(name)
    return mapping(found)


def parts(obj: Json, *path: str) -> list[Json]:
    """The objects of the list at a path."""
    return [mapping(each) for each in items(part(obj, *path[:-1]).get(path[-1]))]


def texts(obj: Json, *path: str) -> dict[str, str]:
    """A map of strings, such as labels."""
    return {key: value for key, value in part(obj, *path).items() if isinstance(value, str)}


def key_of(obj: Json) -> ObjectKey:
    """Kind, namespace ("default" where a namespaced object says nothing) and name."""
    kind, metadata = text(obj.get("kind")), part(obj, "metadata")
    namespace = (text(metadata.get("namespace")) or "default") if kind in NAMESPACED else ""
    return ObjectKey(kind, namespace, text(metadata.get("name")))
