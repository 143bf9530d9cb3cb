"""A cluster directory keeps the contract."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from contract.request_status.suite import FOREIGN, KEY, LOCAL, REQUEST, RequestStatusContract
from muster_gang_coordinator.adapters.cluster_directory import DirectoryCluster
from muster_kube.directory import ClusterDirectory, VersionConflict
from muster_kube.parts import at, mapping, sequence, text
from muster_types import ObjectKey


class DirectoryWorld:
    """Files."""

    def __init__(self, overlay: Path) -> None:
        self._directory = ClusterDirectory((), overlay)
        self.adapter = DirectoryCluster({LOCAL: self._directory})

    async def put_request(self, uid: str, status: Mapping[str, object] | None = None) -> None:
        metadata = {**mapping(REQUEST["metadata"]), "uid": uid}
        self._directory.put({**REQUEST, "metadata": metadata, **({"status": status} if status else {})})

    async def status(self) -> Mapping[str, object]:
        return mapping(at(self._directory.get(KEY), "status"))

    async def put_node(self, name: str, *taints: str) -> None:
        self._directory.put(node_of(name, *taints))

    async def taints(self, name: str) -> set[str]:
        return taints_of(self._directory.get(ObjectKey("Node", "", name)))

    async def touch(self, value: str) -> None:
        def write() -> None:
            while True:
                obj = self._directory.get(KEY)
                assert obj is not None
                changed = touched(obj, value)
                version = text(at(obj, "metadata", "resourceVersion"))
                if not isinstance(self._directory.put(changed, expected_version=version), VersionConflict):
                    return

        await asyncio.to_thread(write)


def node_of(name: str, *taints: str) -> Mapping[str, object]:
    """A node with taints as key=value:effect."""
    listed: list[dict[str, str]] = []
    for taint in taints:
        key, _, rest = taint.partition("=")
        value, _, effect = rest.rpartition(":")
        listed.append({"key": key, "value": value, "effect": effect})
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"taints": listed}}


def taints_of(node: object) -> set[str]:
    """Taints as key=value:effect."""
    taints = [mapping(each) for each in sequence(at(node, "spec", "taints"))]
    return {f"{each['key']}={each['value']}:{each['effect']}" for each in taints}


def touched(obj: Mapping[str, object], value: str) -> Mapping[str, object]:
    """The request as somebody else leaves it, who has read it whole."""
    status = mapping(obj.get("status"))
    conditions = [each for each in sequence(status.get("conditions")) if mapping(each).get("type") != "Theirs"]
    metadata = {**mapping(obj.get("metadata")), "labels": {"touched": value}}
    theirs = {**FOREIGN, "message": value}
    return {**obj, "metadata": metadata, "status": {**status, "conditions": [*conditions, theirs]}}


class TestDirectory(RequestStatusContract):
    @pytest.fixture
    def world(self, tmp_path: Path) -> DirectoryWorld:
        return DirectoryWorld(tmp_path / "cluster")
