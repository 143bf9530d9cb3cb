"""Orders through an API server: Karpenter's NodeClaims, and Cluster API's replicas, with their controllers at work."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from contract.driver.api_server import Cluster
from contract.driver.clusterapi import GROUP as CAPI_GROUP
from contract.driver.clusterapi import a_clusterapi_group, clusterapi_cluster
from contract.driver.karpenter import GROUP as KARPENTER_GROUP
from contract.driver.karpenter import a_karpenter_group, karpenter_cluster
from integration.provisioner.running import GANG, Json, Neighbours, ProvisionerProcess, running_provisioner, wait_event
from muster.events.provisioning.v1 import provisioning_pb2 as events
from muster_eventstore import JetStreamStore
from muster_provisioner.settings import SourceKind
from muster_servicekit.clock import SystemClock
from support.nats_server import wait_until

ORDER = f"{GANG}-a1-1"


class Backend:
    """A cluster with one group that has two nodes already; its controllers work on."""

    def __init__(self, cluster: Cluster, driver: str, manifest: Json, made: Callable[[], int]) -> None:
        self.cluster = cluster
        self.driver = driver
        self.manifest = manifest
        self.made = made

    @property
    def group(self) -> str:
        return str(cast("Json", self.manifest["metadata"])["name"])

    def nodes(self) -> dict[str, Json]:
        """Nodes by name."""
        return {str(node["metadata"]["name"]): node for node in self.cluster.api.all("Node")}

    async def work(self) -> None:
        """Controllers go round until cancelled."""
        while True:
            for controller in self.cluster.controllers:
                await controller.reconcile()
            await asyncio.sleep(0.05)


def a_manifest(name: str, declared: dict[str, object]) -> Json:
    return {"apiVersion": "muster.dev/v1alpha1", "kind": "NodeGroup", "metadata": {"name": name}, **declared}


@asynccontextmanager
async def opened(driver: str, path: Path) -> AsyncGenerator[Backend]:
    if driver == "karpenter":
        async with karpenter_cluster(path, SystemClock()) as (cluster, karpenter):
            manifest = a_manifest(KARPENTER_GROUP, dict(a_karpenter_group(settleSeconds=0.5).manifest))
            backend = Backend(cluster, driver, manifest, lambda: len(karpenter.seen) - 2)
            async with working(backend):
                yield backend
        return
    async with clusterapi_cluster(path, "MachineDeployment", SystemClock()) as (cluster, capi):
        manifest = a_manifest(CAPI_GROUP, dict(a_clusterapi_group("MachineDeployment", settleSeconds=0.5).manifest))
        backend = Backend(cluster, driver, manifest, lambda: capi.made - 2)
        async with working(backend):
            yield backend


@asynccontextmanager
async def working(backend: Backend) -> AsyncGenerator[None]:
    task = asyncio.create_task(backend.work())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture(params=["karpenter", "clusterapi"])
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Backend]:
    async with opened(request.param, tmp_path) as backend:
        yield backend


async def test_an_order_becomes_reserved_nodes_and_goes_again(
    backend: Backend, store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    neighbours = Neighbours(store)
    await neighbours.declare(backend.manifest, backend.group, driver=backend.driver)
    live = {"cluster_source": SourceKind.KUBERNETES, "kubeconfig": backend.cluster.kubeconfig}
    async with running_provisioner(streams_url, tmp_path / "state", **live):
        await neighbours.place(ORDER, 2, backend.group)
        filled = await wait_event(store, ORDER, "OrderFilled", deadline=30)
        assert isinstance(filled, events.OrderFilled)
        assert set(filled.nodes) < set(backend.nodes())

        def reserved() -> bool:
            shown = [backend.nodes()[name]["metadata"].get("labels", {}) for name in filled.nodes]
            return [labels.get("muster.dev/gang") for labels in shown] == [GANG] * 2

        await wait_until(reserved, "both nodes are reserved")
        for ordinal, name in enumerate(filled.nodes):
            node = backend.nodes()[name]
            labels = node["metadata"]["labels"]
            assert (labels["muster.dev/order"], labels["muster.dev/ordinal"]) == (ORDER, str(ordinal))
            assert {"key": "muster.dev/gang", "value": GANG, "effect": "NoSchedule"} in node["spec"]["taints"]
        await neighbours.cancel(ORDER, filled.nodes[0], group=backend.group)
        cancelled = await wait_event(store, ORDER, "OrderCancelled", deadline=20)
        assert isinstance(cancelled, events.OrderCancelled)
        assert (list(cancelled.deleted_nodes), cancelled.target) == ([filled.nodes[1]], 3)
        await wait_until(lambda: filled.nodes[1] not in backend.nodes(), "the node is gone")
        assert filled.nodes[0] in backend.nodes()


async def test_sigkill_in_the_middle_of_an_order_and_it_was_sent_once(
    backend: Backend, store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    neighbours = Neighbours(store)
    await neighbours.declare(backend.manifest, backend.group, driver=backend.driver)
    live = {"MUSTER_CLUSTER_SOURCE": "kubernetes", "MUSTER_KUBECONFIG": str(backend.cluster.kubeconfig)}
    state = tmp_path / "state"
    process = ProvisionerProcess(streams_url, state, **live)
    await process.wait_ready()
    await neighbours.place(ORDER, 3, backend.group)
    await wait_event(store, ORDER, "OrderIntended")
    process.kill()
    process = ProvisionerProcess(streams_url, state, **live)
    await wait_event(store, ORDER, "OrderFilled", deadline=40)
    process.kill()
    process = ProvisionerProcess(streams_url, state, **live)
    try:
        await process.wait_ready()
        assert backend.made() == 3
        await neighbours.cancel(ORDER, group=backend.group)
        cancelled = await wait_event(store, ORDER, "OrderCancelled", deadline=30)
        assert isinstance(cancelled, events.OrderCancelled)
        assert cancelled.target == 2
        await wait_until(lambda: len(backend.nodes()) == 2, "the nodes are gone")
        assert backend.made() == 3
    finally:
        assert process.stop() == 0
