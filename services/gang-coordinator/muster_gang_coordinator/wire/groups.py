"""PodGroups and their pods as Kubernetes JSON, to a request that asks for their capacity."""

from collections.abc import Iterable

import orjson

from muster_gang_coordinator.domain.groups import GroupAttempt
from muster_gang_coordinator.wire.manifests import Json, Unreadable, read_json
from muster_gang_coordinator.wire.templates import look_of, opted_in
from muster_kube.parts import at, mapping, text, whole

# What the API server or the scheduler has written on a pod, and its template does not have.
_OWN = ("nodeName", "schedulingGates")


class JsonGroups:
    """The port `Groups`; requests are of the first class that is no pattern, or else of Muster's own."""

    def __init__(self, classes: tuple[str, ...]) -> None:
        self._class_name = next((each for each in classes if "*" not in each), "atomic.muster.dev")

    def opted_in(self, group_json: bytes) -> bool:
        return opted_in(group_json)

    def least(self, group_json: bytes) -> int:
        return max(1, whole(at(_read(group_json), "spec", "schedulingPolicy", "gang", "minCount")))

    def request(self, attempt: GroupAttempt, pods_json: Iterable[bytes]) -> tuple[bytes, tuple[bytes, ...]]:
        sets: dict[str, list[Json]] = {}
        for pod in map(_read, pods_json):
            sets.setdefault(look_of(pod.get("spec")), []).append(pod)
        namespace, name = attempt.request.namespace, attempt.request.name
        templates = {f"{name}-{index}": pods for index, (_, pods) in enumerate(sorted(sets.items()))}
        pod_sets = [{"podTemplateRef": {"name": each}, "count": len(pods)} for each, pods in templates.items()]
        metadata = {"name": name, "namespace": namespace, "uid": attempt.uid}
        request = {
            "apiVersion": "autoscaling.x-k8s.io/v1",
            "kind": "ProvisioningRequest",
            "metadata": metadata,
            "spec": {"provisioningClassName": self._class_name, "podSets": pod_sets},
        }
        made = [_template(each, namespace, pods[0]) for each, pods in templates.items()]
        return orjson.dumps(request), tuple(map(orjson.dumps, made))


def _template(name: str, namespace: str, pod: Json) -> Json:
    metadata = mapping(pod.get("metadata"))
    spec = {field: value for field, value in mapping(pod.get("spec")).items() if field not in _OWN}
    shown = {"labels": mapping(metadata.get("labels")), "annotations": mapping(metadata.get("annotations"))}
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": name, "namespace": namespace},
        "template": {"metadata": shown, "spec": spec},
    }


def is_gated(pod: Json, gate: str) -> bool:
    """Whether a pod carries that scheduling gate."""
    gates = at(pod, "spec", "schedulingGates")
    return any(text(mapping(each).get("name")) == gate for each in gates) if isinstance(gates, list) else False


def _read(data: bytes) -> Json:
    obj = read_json(data)
    return {} if isinstance(obj, Unreadable) else obj
