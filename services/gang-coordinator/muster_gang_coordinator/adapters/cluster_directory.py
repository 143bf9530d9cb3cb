"""Clusters that are directories: statuses, requests and holds as files of the overlay."""

import asyncio
from collections.abc import Mapping

from muster_gang_coordinator.domain.requests import GangSpec
from muster_gang_coordinator.domain.status import RequestStatus
from muster_gang_coordinator.wire.manifests import Json, Unreadable, read_json
from muster_gang_coordinator.wire.statuses import foreign_conditions, from_status, to_status
from muster_kube.directory import ClusterDirectory, VersionConflict
from muster_kube.keys import object_key
from muster_kube.parts import at, mapping, sequence, text
from muster_types import ClusterId, NodeName, ObjectKey


class DirectoryCluster:
    """The ports RequestStatuses, Requests and NodeHolds over one directory per cluster; others are passed over."""

    def __init__(self, directories: Mapping[ClusterId, ClusterDirectory]) -> None:
        self._directories = directories

    async def read(self, cluster: ClusterId, key: ObjectKey, uid: str) -> RequestStatus | None:
        directory = self._directories.get(cluster)
        if directory is None:
            return None
        obj = await asyncio.to_thread(directory.get, key)
        return None if obj is None or not _is(obj, uid) else from_status(mapping(obj.get("status")))

    async def write(self, cluster: ClusterId, key: ObjectKey, uid: str, status: RequestStatus) -> bool:
        directory = self._directories.get(cluster)
        return directory is not None and await asyncio.to_thread(_write_status, directory, key, uid, status)

    async def publish(self, cluster: ClusterId, spec: GangSpec) -> None:
        directory = self._directories.get(cluster)
        if directory is not None:
            await asyncio.to_thread(_publish, directory, spec)

    async def lift(self, cluster: ClusterId, taint: str, nodes: tuple[NodeName, ...]) -> None:
        directory = self._directories.get(cluster)
        if directory is not None:
            for node in nodes:
                await asyncio.to_thread(_lift, directory, taint, node)


def _is(obj: Json, uid: str) -> bool:
    """The object of that uid; one from a hand-written manifest has none before Muster writes it."""
    return text(at(obj, "metadata", "uid")) in {uid, ""}


def _write_status(directory: ClusterDirectory, key: ObjectKey, uid: str, status: RequestStatus) -> bool:
    while True:
        obj = directory.get(key)
        if obj is None or not _is(obj, uid):
            return False
        present = mapping(obj.get("status"))
        written = to_status(status)
        conditions = [*foreign_conditions(present), *sequence(written.pop("conditions"))]
        merged = {**present, **written, "conditions": conditions}
        new = {**obj, "metadata": {**mapping(obj.get("metadata")), "uid": uid}, "status": merged}
        version = text(at(obj, "metadata", "resourceVersion"))
        # A manifest of a dump may carry no version; then nobody has written it and there is nothing to race with.
        if not isinstance(directory.put(new, expected_version=version or None), VersionConflict):
            return True


def _publish(directory: ClusterDirectory, spec: GangSpec) -> None:
    """The objects first: who sees the request finds them."""
    objects = [read_json(data) for data in (*spec.objects_json, spec.request_json)]
    for obj in objects:
        if isinstance(obj, Unreadable):
            continue  # refused at the intake
        metadata = {"namespace": spec.namespace, **mapping(obj.get("metadata"))}
        if obj.get("kind") == "ProvisioningRequest":
            metadata |= {"namespace": spec.namespace, "uid": spec.uid}
        placed = {**obj, "metadata": metadata}
        if directory.get(object_key(placed)) is None:
            directory.put(placed, expected_version="")


def _lift(directory: ClusterDirectory, taint: str, node: NodeName) -> None:
    key, _, rest = taint.partition("=")
    value, _, effect = rest.rpartition(":")
    while True:
        obj = directory.get(ObjectKey("Node", "", node))
        if obj is None:
            return
        spec = mapping(obj.get("spec"))
        taints = [mapping(t) for t in sequence(spec.get("taints"))]
        kept = [t for t in taints if (t.get("key"), t.get("value"), t.get("effect")) != (key, value, effect)]
        if len(kept) == len(taints):
            return
        new = {**obj, "spec": {**spec, "taints": kept}}
        version = text(at(obj, "metadata", "resourceVersion"))
        if not isinstance(directory.put(new, expected_version=version or None), VersionConflict):
            return
