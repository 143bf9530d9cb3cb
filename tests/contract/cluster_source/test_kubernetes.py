"""A live cluster keeps the contract, over HTTP to a fake API server."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from contract.cluster_source.suite import ClusterSourceContract
from muster_cluster_watcher.adapters.kubernetes import KubernetesSource
from muster_cluster_watcher.adapters.kubernetes_cursor import Cursors
from muster_cluster_watcher.adapters.kubernetes_watches import LiveOptions
from muster_eventstore import FileSnapshots, MemoryServer, MemoryStore
from muster_kube import object_key
from muster_kubeapi import KubeClient, KubeConfig, Pace
from muster_servicekit.clock import FakeClock
from muster_types import ClusterId, ObjectKey
from support.kube_api import KubeApi


class LiveWorld:
    """Objects in an API server."""

    def __init__(self, api: KubeApi, client: KubeClient, folder: Path) -> None:
        self._api = api
        cursors = Cursors(FileSnapshots(folder), MemoryStore(MemoryServer(FakeClock().now)))
        options = LiveOptions(fact_bytes=100_000, pace=Pace(first_pause=0.01))
        self.source = KubernetesSource(ClusterId("local"), client, cursors, options)

    def put(self, obj: Mapping[str, object]) -> None:
        self._api.put(obj)

    def remove(self, key: ObjectKey) -> None:
        self._api.remove(key.kind, key.namespace, key.name)

    def spoil(self, id: str) -> None:
        group = {"apiVersion": "muster.dev/v1alpha1", "kind": "NodeGroup", "metadata": {"name": id}, "spec": "?"}
        self._api.put(group)

    def mend(self, id: str) -> None:
        self.remove(object_key({"kind": "NodeGroup", "metadata": {"name": id}}))


class TestKubernetes(ClusterSourceContract):
    @pytest.fixture
    async def world(self, tmp_path: Path) -> AsyncIterator[LiveWorld]:
        async with KubeApi() as api, KubeClient(KubeConfig(api.kubeconfig(tmp_path / "config"))) as client:
            yield LiveWorld(api, client, tmp_path / "snapshots")
