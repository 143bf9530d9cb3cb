"""Files of an overlay: one object each, or a tombstone that takes an object of the layers below away."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from muster_kube.keys import object_key
from muster_kube.manifests import read_file
from muster_kube.readings import Limits, Manifest, Reading, Source
from muster_types import ObjectKey

_DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Tombstone:
    """The object is deleted."""

    key: ObjectKey


def tombstone_of(key: ObjectKey) -> dict[str, object]:
    """The content of the file that deletes `key`."""
    metadata = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
    return {"kind": key.kind, "metadata": metadata, _DELETED: True}


def read_overlay_file(file: Path, limits: Limits) -> Iterator[Reading | Tombstone]:
    """A file of an overlay; one that was removed meanwhile holds nothing."""
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return
    except OSError:
        data = b""
    if b'"deleted"' in data:
        obj = _load(data)
        if obj is not None and obj.get(_DELETED) is True:
            yield Tombstone(object_key(obj))
            return
    yield from read_file(file, limits=limits)


def read_own_file(file: Path) -> Manifest | Tombstone | None:
    """A file that a cluster directory wrote; None when there is none, or somebody else wrote nonsense into it."""
    try:
        obj = _load(file.read_bytes())
    except FileNotFoundError:
        return None
    if obj is None:
        return None
    if obj.get(_DELETED) is True:
        return Tombstone(object_key(obj))
    return Manifest(Source(str(file)), object_key(obj), obj)


def _load(data: bytes) -> Mapping[str, object] | None:
    try:
        obj: object = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return obj if isinstance(obj, dict) else None
