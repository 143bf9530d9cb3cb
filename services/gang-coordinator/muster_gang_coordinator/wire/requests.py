"""Requests made over gRPC: the port `Specs` over Kubernetes JSON."""

from datetime import timedelta

from muster_gang_coordinator.domain.requests import GangSpec
from muster_gang_coordinator.ports import Lookup
from muster_gang_coordinator.wire.manifests import Json, Unreadable, is_grouped, read_json
from muster_gang_coordinator.wire.specs import read_spec
from muster_kube.keys import object_key
from muster_kube.parts import at, mapping, text
from muster_kube.readings import Problem, Severity
from muster_kube.validate import validate
from muster_servicekit.errors import Invalid
from muster_types import ObjectKey


class JsonSpecs:
    """`booking` is how long an offer stands without the parameter `ValidUntilSeconds`."""

    def __init__(self, booking: timedelta) -> None:
        self._booking = booking

    def key_of(self, request_json: bytes) -> ObjectKey:
        return object_key(self._request(request_json))

    def class_of(self, request_json: bytes) -> str:
        return text(at(_parse(request_json, "request_json"), "spec", "provisioningClassName"))

    def uid_of(self, request_json: bytes) -> str:
        return text(at(_parse(request_json, "request_json"), "metadata", "uid"))

    def read(self, request_json: bytes, uid: str, lookup: Lookup) -> GangSpec:
        spec = read_spec(request_json, uid, lookup, self._booking)
        if isinstance(spec, Unreadable):
            raise Invalid(f"request_json: {spec.reason}")
        return spec

    def groups_pods(self, objects_json: tuple[bytes, ...]) -> bool:
        objects = [obj for data in objects_json if not isinstance(obj := read_json(data), Unreadable)]
        templates = [mapping(obj.get("template")) for obj in objects if obj.get("kind") == "PodTemplate"]
        return bool(templates) and all(map(is_grouped, templates))

    def with_objects(self, objects_json: tuple[bytes, ...], lookup: Lookup, namespace: str) -> Lookup:
        given: dict[ObjectKey, bytes] = {}
        for index, data in enumerate(objects_json):
            obj = _parse(data, f"objects_json[{index}]")
            _refuse(obj, f"objects_json[{index}]")
            key = object_key(obj)
            stated = text(mapping(obj.get("metadata")).get("namespace"))
            given[ObjectKey(key.kind, stated or namespace, key.name)] = data
        return lambda key: given.get(key) or lookup(key)

    def _request(self, request_json: bytes) -> Json:
        request = _parse(request_json, "request_json")
        if text(request.get("kind")) != "ProvisioningRequest":
            raise Invalid(f"request_json: kind is {text(request.get('kind'))!r}; send a ProvisioningRequest")
        _refuse(request, "request_json")
        return request


def _parse(data: bytes, field: str) -> Json:
    obj = read_json(data)
    if isinstance(obj, Unreadable):
        raise Invalid(f"{field}: {obj.reason}; send one Kubernetes object as JSON")
    return obj


def _refuse(obj: Json, field: str) -> None:
    problems: list[Problem] = [p for p in validate(obj) if p.severity is Severity.ERROR]
    if problems:
        key = object_key(obj)
        told = "; ".join(f"{p.field}: {p.reason}" for p in problems[:5])
        raise Invalid(f"{field}: {key}: {told}", "INVALID_OBJECT")
