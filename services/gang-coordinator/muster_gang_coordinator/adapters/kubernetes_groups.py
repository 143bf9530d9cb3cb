"""PodGroups that opted in, in a live cluster: their status as conditions of the group, and their pods that go on."""

from collections.abc import Mapping

from muster_eventstore import TransientError
from muster_gang_coordinator.adapters.kubernetes_calls import GROUP, ClusterApi, each_of, in_our_words
from muster_gang_coordinator.domain.groups import GATE, is_of_group
from muster_gang_coordinator.domain.status import TYPES, RequestStatus
from muster_gang_coordinator.wire.statuses import from_status, to_status
from muster_kube.parts import at, mapping, sequence, text
from muster_kubeapi import Conflict, Json, Missing, Resource, Target, get, patch
from muster_types import ClusterId, ObjectKey

_PODS = Resource("", "v1", "pods", "Pod", namespaced=True)
_PREFIX = "muster.dev/"  # of the condition types: those of a request, at an object that the scheduler writes too
_ATTEMPTS = 20


async def read_group(api: ClusterApi, group: ObjectKey, uid: str) -> RequestStatus | None:
    """The status of the request that stands for a group, as its conditions say; None for one that is gone. Raises
    KubeError."""
    obj = await _group(api, group, uid)
    if obj is None:
        return None
    conditions = map(mapping, sequence(at(obj, "status", "conditions")))
    ours = [{**each, "type": text(each.get("type")).removeprefix(_PREFIX)} for each in conditions if _is_ours(each)]
    return from_status({"conditions": ours})


async def write_group(api: ClusterApi, group: ObjectKey, uid: str, status: RequestStatus) -> bool:
    """Write it over the version that was read; conditions of others stay. Raises KubeError, TransientError."""
    for _ in range(_ATTEMPTS):
        obj, resource = await _group(api, group, uid), await api.resource(GROUP)
        if obj is None or resource is None:
            return False
        others = [each for each in sequence(at(obj, "status", "conditions")) if not _is_ours(mapping(each))]
        written = map(mapping, sequence(to_status(status)["conditions"]))
        ours = [{**each, "type": f"{_PREFIX}{each['type']}"} for each in written]
        version = {"resourceVersion": at(obj, "metadata", "resourceVersion")}
        change = {"metadata": version, "status": {"conditions": [*others, *ours]}}
        answer = await patch(api.client, Target(resource, group.namespace, group.name, "status"), change)
        if not isinstance(answer, Conflict):
            return not isinstance(answer, Missing)
    raise TransientError(f"cluster {api.cluster!r}: {group} changed {_ATTEMPTS} times while its status was written")


class KubernetesGroupPods:
    """The port GroupPods."""

    def __init__(self, apis: Mapping[ClusterId, ClusterApi]) -> None:
        self._apis = apis

    async def admit(self, cluster: ClusterId, taint: str, pods: tuple[ObjectKey, ...]) -> None:
        """Raises TransientError, PermanentError."""
        api = self._apis.get(cluster)
        if api is not None:
            with in_our_words(api):
                await each_of(pods, lambda pod: _admit(api, taint, pod))


async def _admit(api: ClusterApi, taint: str, key: ObjectKey) -> None:
    target = Target(_PODS, key.namespace, key.name)
    for _ in range(_ATTEMPTS):
        pod = await get(api.client, target)
        change = None if pod is None else _admitted(pod, taint)
        if pod is None or change is None:
            return
        version = {"resourceVersion": at(pod, "metadata", "resourceVersion")}
        if not isinstance(await patch(api.client, target, {"metadata": version, "spec": change}), Conflict):
            return
    raise TransientError(f"cluster {api.cluster!r}: {key} changed {_ATTEMPTS} times while it was written")


def _admitted(pod: Json, taint: str) -> Json | None:
    """Tolerations may be added to a pod, and gates taken away; nothing else of it may change."""
    name, _, rest = taint.partition("=")
    value, _, effect = rest.rpartition(":")
    wanted = {"key": name, "operator": "Equal", "value": value, "effect": effect}
    spec = mapping(pod.get("spec"))
    tolerations, gates = sequence(spec.get("tolerations")), sequence(spec.get("schedulingGates"))
    kept = [each for each in gates if mapping(each).get("name") != GATE]
    change: dict[str, object] = {}
    if spec.get("nodeName"):
        return None
    if wanted not in tolerations:
        change["tolerations"] = [*tolerations, wanted]
    if len(kept) < len(gates):
        change["schedulingGates"] = kept or None
    return change or None


def _is_ours(condition: Json) -> bool:
    return text(condition.get("type")).removeprefix(_PREFIX) in TYPES and text(condition.get("type")) not in TYPES


async def _group(api: ClusterApi, group: ObjectKey, uid: str) -> Json | None:
    resource = await api.resource(GROUP)
    obj = None if resource is None else await get(api.client, Target(resource, group.namespace, group.name))
    return obj if is_of_group(uid, text(at(obj, "metadata", "uid"))) else None
