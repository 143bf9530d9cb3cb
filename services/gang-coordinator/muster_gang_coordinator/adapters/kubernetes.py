"""Live clusters: statuses of ProvisioningRequests, and the reservation of nodes, through the API server."""

from collections.abc import Mapping

from muster_eventstore import TransientError
from muster_gang_coordinator.adapters.kubernetes_calls import ClusterApi, in_our_words
from muster_gang_coordinator.adapters.kubernetes_groups import read_group, write_group
from muster_gang_coordinator.adapters.kubernetes_nodes import lift_reservation
from muster_gang_coordinator.domain.groups import group_of_request
from muster_gang_coordinator.domain.requests import GangSpec
from muster_gang_coordinator.domain.status import RequestStatus
from muster_gang_coordinator.wire.statuses import foreign_conditions, from_status, to_status
from muster_kube.parts import at, mapping, sequence, text
from muster_kubeapi import Conflict, Json, Missing, get, patch
from muster_types import ClusterId, NodeName, ObjectKey

_ATTEMPTS = 20


class KubernetesCluster:
    """The ports RequestStatuses, Requests and NodeHolds over one API server for each cluster; others are passed over.

    Requests are never published: who asks over gRPC gets the answer there, and nothing is made in a user's namespace.
    """

    def __init__(self, apis: Mapping[ClusterId, ClusterApi]) -> None:
        self._apis = apis

    async def read(self, cluster: ClusterId, key: ObjectKey, uid: str) -> RequestStatus | None:
        api = self._apis.get(cluster)
        if api is None:
            return None
        group = group_of_request(key, uid)
        with in_our_words(api):
            if group is not None:
                return await read_group(api, group, uid)
            obj = await _request(api, key, uid)
        return None if obj is None else from_status(mapping(obj.get("status")))

    async def write(self, cluster: ClusterId, key: ObjectKey, uid: str, status: RequestStatus) -> bool:
        """A merge patch of the status subresource over the version that was read, so that a condition which somebody
        else writes meanwhile is kept: conditions are one value to such a patch."""
        api = self._apis.get(cluster)
        if api is None:
            return False
        group = group_of_request(key, uid)
        with in_our_words(api):
            if group is not None:
                return await write_group(api, group, uid, status)
            for _ in range(_ATTEMPTS):
                obj, target = await _request(api, key, uid), await api.request(key, "status")
                if obj is None or target is None:
                    return False
                answer = await patch(api.client, target, _patch_of(obj, status))
                if isinstance(answer, Missing):
                    return False
                if not isinstance(answer, Conflict):
                    return True
        raise TransientError(f"cluster {cluster!r}: {key} changed {_ATTEMPTS} times while its status was written")

    async def publish(self, cluster: ClusterId, spec: GangSpec) -> None:
        del cluster, spec

    async def lift(self, cluster: ClusterId, taint: str, nodes: tuple[NodeName, ...]) -> None:
        api = self._apis.get(cluster)
        if api is not None:
            with in_our_words(api):
                await lift_reservation(api, taint, nodes)


async def _request(api: ClusterApi, key: ObjectKey, uid: str) -> Json | None:
    """The request of that uid; another one of its name is not it."""
    target = await api.request(key)
    obj = None if target is None else await get(api.client, target)
    return obj if text(at(obj, "metadata", "uid")) == uid else None


def _patch_of(obj: Json, status: RequestStatus) -> Json:
    """Muster's conditions beside foreign ones, for the generation that was read; details that go away are removed."""
    present = mapping(obj.get("status"))
    written = to_status(status)
    generation = at(obj, "metadata", "generation")
    ours = [_for_generation(mapping(each), generation) for each in sequence(written.pop("conditions"))]
    details = mapping(written.get("provisioningClassDetails"))
    gone = dict.fromkeys(name for name in mapping(present.get("provisioningClassDetails")) if name not in details)
    change: dict[str, object] = {"conditions": [*foreign_conditions(present), *ours]}
    if details or gone:
        change["provisioningClassDetails"] = {**details, **gone}
    return {"metadata": {"resourceVersion": at(obj, "metadata", "resourceVersion")}, "status": change}


def _for_generation(condition: Json, generation: object) -> Json:
    return {**condition, "observedGeneration": generation} if isinstance(generation, int) else condition
