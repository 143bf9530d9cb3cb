"""A cluster in memory behind the interface of a cluster directory: the API server of the simulation."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from datetime import datetime

from muster_kube import ClusterDirectory, Listing, Manifest
from muster_kube.directory import VersionConflict
from muster_kube.keys import object_key
from muster_kube.parts import mapping, text
from muster_kube.readings import Json, Source
from muster_types import ObjectKey

Watch = Callable[[ObjectKey, Json | None, Json | None], None]
Pause = Callable[[], float]
_SOURCE = Source("simulation")


class MemoryCluster(ClusterDirectory):
    """`watch` is told every change with the object before and after it."""

    def __init__(self, now: Callable[[], datetime], watch: Watch) -> None:
        super().__init__((), None)
        self._now = now
        self._watch = watch
        self._objects: dict[ObjectKey, Manifest] = {}
        self._version = 0
        self._shown = Listing({}, (), ())
        self._stale = False
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def objects(self) -> Mapping[ObjectKey, Manifest]:
        """Everything there is, in order of creation."""
        return self._objects

    def list(self) -> Listing:
        if self._stale:
            self._shown, self._stale = Listing(dict(self._objects), (), ()), False
        return self._shown

    async def follow(self, pause: Pause) -> AsyncGenerator[Listing]:
        """As `changes`; each change is seen after a pause."""
        last: Listing | None = None
        while True:
            if not self._stale and self._shown is last:
                waiter = asyncio.get_running_loop().create_future()
                self._waiters.append(waiter)
                await waiter
            await asyncio.sleep(pause())
            last = self.list()
            yield last

    def get(self, key: ObjectKey) -> Json | None:
        found = self._objects.get(key)
        return None if found is None else found.obj

    def put(self, obj: Mapping[str, object], *, expected_version: str | None = None) -> Json | VersionConflict:
        key = object_key(obj)
        current = self.get(key)
        found = text(mapping(mapping(current).get("metadata")).get("resourceVersion"))
        if expected_version is not None and (found != expected_version or (current and not expected_version)):
            return VersionConflict(key, expected_version, found)
        return self._keep(key, obj, current)

    def patch_status(self, key: ObjectKey, status: Mapping[str, object]) -> Json | None:
        current = self.get(key)
        if current is None:
            return None
        return self._keep(key, {**current, "status": _merged(mapping(current.get("status")), status)}, current)

    def delete(self, key: ObjectKey) -> bool:
        gone = self._objects.pop(key, None)
        if gone is not None:
            self._tell(key, gone.obj, None)
        return gone is not None

    def _keep(self, key: ObjectKey, obj: Mapping[str, object], current: Json | None) -> Json:
        old = mapping(mapping(current).get("metadata"))
        self._version += 1
        metadata = {
            **mapping(obj.get("metadata")),
            "uid": text(old.get("uid")) or text(mapping(obj.get("metadata")).get("uid")) or f"uid-{self._version}",
            "resourceVersion": str(self._version),
            "creationTimestamp": old.get("creationTimestamp") or self._now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        if key.namespace:
            metadata["namespace"] = key.namespace
        stored = {**obj, "metadata": metadata}
        self._objects[key] = Manifest(_SOURCE, key, stored)
        self._tell(key, current, stored)
        return stored

    def _tell(self, key: ObjectKey, before: Json | None, after: Json | None) -> None:
        self._stale = True
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._watch(key, before, after)


def _merged(old: Mapping[str, object], patch: Mapping[str, object]) -> dict[str, object]:
    merged = dict(old)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, dict):
            merged[name] = _merged(mapping(merged.get(name)), mapping(value))
        else:
            merged[name] = value
    return merged
