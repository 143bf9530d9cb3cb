"""What an accepted request says of its pods: how they look, which group they are in, and what has changed since."""

from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256

import orjson

from muster_gang_coordinator.domain.groups import OPT_IN
from muster_gang_coordinator.domain.requests import GangSpec
from muster_gang_coordinator.wire.manifests import Json, Unreadable, read_json
from muster_kube.keys import object_key
from muster_kube.parts import at, mapping, sequence, text
from muster_types import ObjectKey

_CONTENT = {"PodTemplate": "template", "ResourceClaimTemplate": "spec"}


class JsonTemplates:
    """The port `Templates` over Kubernetes JSON."""

    def looks(self, spec: GangSpec) -> frozenset[str]:
        return _looks(spec.objects_json)

    def group_of(self, spec: GangSpec) -> str:
        return next((group for obj in _templates(spec.objects_json) if (group := _group(obj))), "")

    def opted_in(self, group_json: bytes) -> bool:
        return opted_in(group_json)

    def drifted(self, spec: GangSpec, key: ObjectKey, shown: bytes) -> bool:
        part = _CONTENT.get(key.kind)
        now = read_json(shown)
        if part is None or isinstance(now, Unreadable):
            return False
        held = (obj for data in spec.objects_json if not isinstance(obj := read_json(data), Unreadable))
        return any(_key_in(obj, spec.namespace) == key and obj.get(part) != now.get(part) for obj in held)

    def parameters_changed(self, spec: GangSpec, shown: bytes) -> bool:
        before, now = read_json(spec.request_json), read_json(shown)
        if isinstance(before, Unreadable) or isinstance(now, Unreadable):
            return False
        return mapping(at(before, "spec", "parameters")) != mapping(at(now, "spec", "parameters"))


def opted_in(group_json: bytes) -> bool:
    """Whether a PodGroup asks for its capacity itself."""
    group, (key, value) = read_json(group_json), OPT_IN
    return not isinstance(group, Unreadable) and mapping(at(group, "metadata", "annotations")).get(key) == value


def look_of(pod_spec: object) -> str:
    """A hash that pods of one template share; empty without containers. What admission adds is left out."""
    spec = mapping(pod_spec)
    containers = sorted((_container(mapping(each)) for each in sequence(spec.get("containers"))), key=str)
    if not containers:
        return ""
    claims = [
        [text(each.get("name")), text(each.get("resourceClaimTemplateName")), text(each.get("resourceClaimName"))]
        for each in map(mapping, sequence(spec.get("resourceClaims")))
    ]
    return sha256(orjson.dumps([containers, sorted(claims)], option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def _container(container: Json) -> list[object]:
    resources = mapping(container.get("resources"))
    requests = {**mapping(resources.get("limits")), **mapping(resources.get("requests"))}
    return [
        text(container.get("name")),
        text(container.get("image")),
        requests,
        list(sequence(resources.get("claims"))),
    ]


@lru_cache(maxsize=512)
def _looks(objects_json: tuple[bytes, ...]) -> frozenset[str]:
    return frozenset(look for obj in _templates(objects_json) if (look := look_of(at(obj, "template", "spec"))))


def _templates(objects_json: tuple[bytes, ...]) -> Iterator[Json]:
    for data in objects_json:
        obj = read_json(data)
        if not isinstance(obj, Unreadable) and obj.get("kind") == "PodTemplate":
            yield obj


def _group(template: Json) -> str:
    return text(at(template, "template", "spec", "schedulingGroup", "podGroupName"))


def _key_in(obj: Json, namespace: str) -> ObjectKey:
    key = object_key(obj)
    return ObjectKey(key.kind, key.namespace or namespace, key.name)
