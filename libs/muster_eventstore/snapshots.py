"""Snapshots of projections: a faster start, never the truth. Whatever does not match exactly is as good as absent."""

import asyncio
import os
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import orjson
import structlog

log = structlog.get_logger("muster.snapshots")
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A projection's state. It covers the stream up to `sequence`; `incarnation` tells a stream from one of the same
    name made anew; `schema` is the number of the code's form of `data`."""

    stream: str
    incarnation: str
    sequence: int
    schema: int
    data: bytes


class SnapshotStore(Protocol):
    """Where snapshots lie; losing them costs a replay."""

    async def load(self, name: str) -> Snapshot | None:
        """The newest snapshot of a projection; None when there is none or it cannot be read."""
        ...

    async def save(self, name: str, snapshot: Snapshot) -> None:
        """Replace the snapshot; a failure is logged, for the stream has everything."""
        ...


class FileSnapshots:
    """One file for each projection in a directory, replaced atomically."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def load(self, name: str) -> Snapshot | None:
        return await asyncio.to_thread(self._load, self._path(name))

    async def save(self, name: str, snapshot: Snapshot) -> None:
        try:
            await asyncio.to_thread(self._save, self._path(name), pack(snapshot))
        except OSError as error:
            log.warning("snapshot not saved", path=str(self._path(name)), error=str(error))

    def _path(self, name: str) -> Path:
        return (
            self._directory
            / f"{sha256(name.encode()).hexdigest()[:8]}-{''.join(c if c.isalnum() else '-' for c in name)}"
        )

    def _load(self, path: Path) -> Snapshot | None:
        try:
            blob = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("snapshot not read", path=str(path), error=str(error))
            return None
        return unpack(blob)

    def _save(self, path: Path, blob: bytes) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=self._directory, prefix=".")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(blob)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise


def pack(snapshot: Snapshot) -> bytes:
    """One line of JSON, then the data; the line carries a digest, so that a torn write is noticed."""
    head = {
        "format": _FORMAT,
        "stream": snapshot.stream,
        "incarnation": snapshot.incarnation,
        "sequence": snapshot.sequence,
        "schema": snapshot.schema,
        "sha256": sha256(snapshot.data).hexdigest(),
    }
    return orjson.dumps(head) + b"\n" + snapshot.data


def unpack(blob: bytes) -> Snapshot | None:
    """The inverse of `pack`; None for anything that `pack` did not write."""
    line, _, data = blob.partition(b"\n")
    try:
        head = orjson.loads(line)
        if head["format"] != _FORMAT or head["sha256"] != sha256(data).hexdigest():
            raise ValueError("another format, or damaged")
        return Snapshot(str(head["stream"]), str(head["incarnation"]), int(head["sequence"]), int(head["schema"]), data)
    except (ValueError, KeyError, TypeError) as error:
        log.warning("snapshot ignored", error=str(error))
        return None
