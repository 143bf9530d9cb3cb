"""A cluster directory keeps the contract: with objects in a dump, and with objects in the overlay."""

from collections.abc import Mapping
from pathlib import Path

import orjson
import pytest

from contract.cluster_source.suite import ClusterSourceContract
from muster_cluster_watcher.adapters.directory import DirectorySource
from muster_kube import ClusterDirectory, object_key
from muster_types import ObjectKey


class DumpWorld:
    """Files that a user edits."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        self.source = DirectorySource(ClusterDirectory([folder]), poll_seconds=60, fact_bytes=100_000)

    def put(self, obj: Mapping[str, object]) -> None:
        self._file(object_key(obj)).write_bytes(orjson.dumps(obj))

    def remove(self, key: ObjectKey) -> None:
        self._file(key).unlink()

    def spoil(self, id: str) -> None:
        (self._folder / f"{id}.yaml").write_text("kind: [")

    def mend(self, id: str) -> None:
        (self._folder / f"{id}.yaml").write_text("")

    def _file(self, key: ObjectKey) -> Path:
        return self._folder / f"{key.kind}-{key.name}.json"


class OverlayWorld:
    """Objects that other services put."""

    def __init__(self, overlay: Path) -> None:
        self._overlay = overlay
        self._writer = ClusterDirectory([], overlay)
        self.source = DirectorySource(ClusterDirectory([], overlay), poll_seconds=0.2, fact_bytes=100_000)

    def put(self, obj: Mapping[str, object]) -> None:
        self._writer.put(obj)

    def remove(self, key: ObjectKey) -> None:
        self._writer.delete(key)

    def spoil(self, id: str) -> None:
        (self._overlay / f"{id}.json").write_text("{")

    def mend(self, id: str) -> None:
        (self._overlay / f"{id}.json").unlink()


class TestDump(ClusterSourceContract):
    @pytest.fixture
    def world(self, tmp_path: Path) -> DumpWorld:
        return DumpWorld(tmp_path / "dump")


class TestOverlay(ClusterSourceContract):
    @pytest.fixture
    def world(self, tmp_path: Path) -> OverlayWorld:
        return OverlayWorld(tmp_path / "overlay")
