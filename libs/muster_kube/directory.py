"""A cluster that is a list of directories: dumps that are only read, and an overlay that stands for the API server.

Any number of processes may read and write the overlay `<state>/cluster/`: one JSON file for each object, replaced
atomically, under a lock, with `metadata.uid` and a counted `metadata.resourceVersion`.
"""

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from urllib.parse import quote
from uuid import uuid4

import orjson
from filelock import FileLock

from muster_kube.changes import watch_listing
from muster_kube.clock import Now, utc_now
from muster_kube.keys import object_key
from muster_kube.layers import Layer, Listing, merge
from muster_kube.parts import mapping, text
from muster_kube.readings import DEFAULT_LIMITS, Json, Limits, Manifest
from muster_kube.tombstones import Tombstone, read_own_file, tombstone_of
from muster_types import ClusterId, ObjectKey

DEFAULT_CLUSTER = ClusterId("local")
_LOCK, _COUNTER = ".lock", ".resource-version"
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class VersionConflict:
    """The object is not at the version that the writer had read: read it again and decide anew."""

    key: ObjectKey
    expected: str
    found: str


def overlay_path(state_dir: Path, cluster: ClusterId = DEFAULT_CLUSTER) -> Path:
    """Where a cluster's overlay lies: `<state>/cluster` for the default one, `<state>/clusters/<id>` for others."""
    return state_dir / "cluster" if cluster == DEFAULT_CLUSTER else state_dir / "clusters" / quote(cluster, safe="")


class ClusterDirectory:
    """Reads and writes one cluster. Methods block for a disk access; instances and processes may share an overlay."""

    def __init__(
        self,
        layers: Sequence[Path],
        overlay: Path | None = None,
        *,
        limits: Limits = DEFAULT_LIMITS,
        now: Now = utc_now,
    ) -> None:
        """`layers`: directories or files of manifests, later ones over earlier ones. Without `overlay`: read only."""
        self._overlay = overlay
        self._below = [Layer(path, limits) for path in layers]
        self._above = [] if overlay is None else [Layer(overlay, limits, overlay=True)]
        self._now = now
        self._reading = Lock()
        self._listing: Listing | None = None
        self._underneath: Listing | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """Where the cluster is read from, lowest layer first."""
        return tuple(layer.path for layer in (*self._below, *self._above))

    def list(self) -> Listing:
        """Everything the directories show now; only files that changed are read."""
        layers = (*self._below, *self._above)
        with self._reading:
            changed = [layer.refresh() for layer in layers]
            if self._listing is None or any(changed):
                self._listing = merge(layers)
                self._underneath = None
            return self._listing

    def changes(self, *, poll_seconds: float = 5.0) -> AsyncGenerator[Listing]:
        """The listing now, then again after each change, for ever; several changes may come as one. Close it."""
        return watch_listing(self.paths, self.list, poll_seconds)

    def get(self, key: ObjectKey) -> Json | None:
        """The object as it is now."""
        own = None if self._overlay is None else read_own_file(self._file(key))
        if own is not None:
            return own.obj if isinstance(own, Manifest) else None
        return self._under(key)

    def put(self, obj: Mapping[str, object], *, expected_version: str | None = None) -> Json | VersionConflict:
        """Create or replace an object; gives it back as stored.

        `expected_version`: the resourceVersion that was read ("" for: it must not exist). The caller's uid,
        resourceVersion and generation are ignored where the object exists.
        """
        key = object_key(obj)
        with self._lock():
            current = self.get(key)
            found = text(mapping(mapping(current).get("metadata")).get("resourceVersion"))
            if expected_version is not None and (found != expected_version or (current and not expected_version)):
                return VersionConflict(key, expected_version, found)
            return self._store(key, obj, current)

    def patch_status(self, key: ObjectKey, status: Mapping[str, object]) -> Json | None:
        """Merge into the status as a JSON merge patch (RFC 7386): maps merge, lists and values replace, null removes.
        None when the object does not exist."""
        with self._lock():
            current = self.get(key)
            if current is None:
                return None
            merged = _merged(mapping(current.get("status")), status)
            return self._store(key, {**current, "status": merged}, current)

    def delete(self, key: ObjectKey) -> bool:
        """Take an object away; whether it was there."""
        with self._lock():
            if self.get(key) is None:
                return False
            if self._under(key) is not None:
                self._write(self._file(key), tombstone_of(key))
            else:
                self._file(key).unlink(missing_ok=True)
            return True

    def _under(self, key: ObjectKey) -> Json | None:
        if not self._below:
            return None
        with self._reading:
            changed = [layer.refresh() for layer in self._below]
            if any(changed):
                self._listing = None  # it has not seen what has just been read
            if self._underneath is None or any(changed):
                self._underneath = merge(self._below)
            found = self._underneath.objects.get(key)
        return None if found is None else found.obj

    def _store(self, key: ObjectKey, obj: Mapping[str, object], current: Json | None) -> Json:
        old = mapping(mapping(current).get("metadata"))
        metadata = {
            **mapping(obj.get("metadata")),
            "uid": text(old.get("uid")) or text(mapping(obj.get("metadata")).get("uid")) or str(uuid4()),
            "resourceVersion": str(self._next_version()),
            "creationTimestamp": old.get("creationTimestamp") or self._now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        if key.namespace:
            metadata["namespace"] = key.namespace
        if "spec" in obj:
            before = old.get("generation")
            generation = before if isinstance(before, int) else 0
            same = current is not None and obj["spec"] == current.get("spec")
            metadata["generation"] = generation if same and generation else generation + 1
        stored = {**obj, "metadata": metadata}
        self._write(self._file(key), stored)
        return stored

    def _root(self) -> Path:
        if self._overlay is None:
            raise ReadOnlyCluster(
                f"the cluster in {', '.join(map(str, self.paths))} is read only; start with a state directory to write"
            )
        return self._overlay

    def _lock(self) -> FileLock:
        root = self._root()
        root.mkdir(parents=True, exist_ok=True)
        return FileLock(root / _LOCK)

    def _file(self, key: ObjectKey) -> Path:
        """`<kind>/<namespace or _>.<name>.json`; a name that a file system cannot hold is cut and hashed."""
        name = f"{quote(key.namespace, safe='') or '_'}.{quote(key.name, safe='')}"
        if len(name) > _LONGEST_NAME:
            name = f"{name[:_LONGEST_NAME]}-{sha256(name.encode()).hexdigest()[:16]}"
        return self._root() / quote(key.kind, safe="") / f"{name}.json"

    def _next_version(self) -> int:
        """Counts up under the lock; a lost counter goes on above every version that is stored."""
        counter = self._root() / _COUNTER
        try:
            version = int(counter.read_text()) + 1
        except (FileNotFoundError, ValueError):
            version = 1 + max((self._version_of(file) for file in self._root().glob("*/*.json")), default=0)
        self._replace(counter, str(version).encode())
        return version

    @staticmethod
    def _version_of(file: Path) -> int:
        own = read_own_file(file)
        if own is None or isinstance(own, Tombstone):
            return 0
        version = text(mapping(own.obj.get("metadata")).get("resourceVersion"))
        return int(version) if version.isdecimal() else 0

    def _write(self, file: Path, obj: Mapping[str, object]) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._replace(file, orjson.dumps(obj, option=orjson.OPT_INDENT_2))

    @staticmethod
    def _replace(file: Path, data: bytes) -> None:
        """Readers see the old file or the new one. Not flushed to the disk: a process crash loses nothing, and after
        a machine crash the simulated cluster is gone anyway."""
        temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
        temporary.write_bytes(data)
        temporary.replace(file)


class ReadOnlyCluster(Exception):
    """A write to a cluster without overlay."""


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
