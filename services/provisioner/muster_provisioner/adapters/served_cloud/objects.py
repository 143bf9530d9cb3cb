"""Objects of simulated machines in a cluster whose nodes others edit too: a directory, or an API server."""

import asyncio
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TypeVar, cast

from muster_kube import ClusterDirectory, VersionConflict, object_key
from muster_kubeapi import (
    Conflict,
    Json,
    KubeClient,
    KubeError,
    Missing,
    Resource,
    Target,
    create,
    delete,
    get,
    patch,
)
from muster_provisioner.adapters.served_cloud.kept import kept_taints, merged_node
from muster_types import ObjectKey

T = TypeVar("T")

_NODE = Resource("", "v1", "nodes", "Node", namespaced=False)
_RESOURCES = {
    "Node": _NODE,
    "Pod": Resource("", "v1", "pods", "Pod", namespaced=True),
    "ResourceSlice": Resource("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", namespaced=False),
}
_WITH_STATUS = ("Node", "Pod")
_ATTEMPTS = 5


class SharedOverlay:
    """`ClusterObjects` on a directory: what others wrote on a node, such as a reservation, outlives its boot."""

    def __init__(self, overlay: Path) -> None:
        self._directory = ClusterDirectory((), overlay)

    def put(self, obj: Mapping[str, object]) -> None:
        """Create an object, or bring it up to date as its kubelet would."""
        key = object_key(obj)
        while True:
            held = self._directory.get(key)
            new = obj if held is None or key.kind != "Node" else merged_node(held, obj)
            version = "" if held is None else str(_metadata(held).get("resourceVersion") or "") or None
            if not isinstance(self._directory.put(new, expected_version=version), VersionConflict):
                return

    def delete(self, key: ObjectKey) -> None:
        """Remove an object; nothing happens when it is not there."""
        self._directory.delete(key)


class ApiObjects:
    """`ClusterObjects` on an API server, where a real scheduler finds them. Called from other threads than that of the
    loop it was made in; raises ConnectionError when the server does not do it."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()

    def put(self, obj: Mapping[str, object]) -> None:
        """Create an object, or bring it up to date as its kubelet would."""
        self._wait(self._put(obj))

    def delete(self, key: ObjectKey) -> None:
        """Remove an object; nothing happens when it is not there."""
        target = Target(_RESOURCES[key.kind], key.namespace, key.name)
        self._wait(delete(self._client, target))

    def _wait(self, call: Coroutine[None, None, T]) -> T:
        try:
            return asyncio.run_coroutine_threadsafe(call, self._loop).result()
        except KubeError as error:
            raise ConnectionError(str(error)) from error

    async def _put(self, obj: Json) -> None:
        key = object_key(obj)
        resource = _RESOURCES[key.kind]
        target = Target(resource, key.namespace, key.name)
        if isinstance(await create(self._client, resource, key.namespace, obj), Conflict):
            await self._update(target, obj)
        if key.kind in _WITH_STATUS:
            status = Target(resource, key.namespace, key.name, "status")
            await patch(self._client, status, {"status": obj.get("status", {})})

    async def _update(self, target: Target, obj: Json) -> None:
        for _ in range(_ATTEMPTS):
            held = await get(self._client, target)
            if held is None or target.resource.kind == "Pod":
                return  # gone again, or a pod, of which nothing but its status changes
            spec = {"taints": kept_taints(held, obj)} if target.resource.kind == "Node" else obj.get("spec")
            change = {"metadata": {"resourceVersion": _metadata(held).get("resourceVersion")}, "spec": spec}
            match await patch(self._client, target, change):
                case Conflict():
                    continue
                case Missing() | _:
                    return
        raise ConnectionError(f"{target.path}: other writers were faster {_ATTEMPTS} times")


def _metadata(obj: Json) -> Json:
    return cast("Json", obj.get("metadata") or {})
