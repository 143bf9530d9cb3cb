"""The providers of the crash tests: the served cloud, Karpenter and Cluster API on the fake API server."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from contract.driver.api_server import Cluster
from contract.driver.clusterapi import GROUP as CAPI_GROUP
from contract.driver.clusterapi import FakeClusterApi, a_clusterapi_group, clusterapi_cluster
from contract.driver.karpenter import GROUP as KARPENTER_GROUP
from contract.driver.karpenter import FakeKarpenter, a_karpenter_group, karpenter_cluster
from contract.driver.lives import Fault, Provider
from contract.driver.served_cloud import ServedCloud, a_sold_group, serving
from contract.driver.test_clusterapi_driver import Stock
from muster_kubeapi import KubeClient, KubeConfig
from muster_provisioner.adapters.cluster_nodes import ApiNodes, DirectoryNodes
from muster_provisioner.adapters.clusterapi.driver import ClusterApiDriver
from muster_provisioner.adapters.externalgrpc.driver import ExternalGrpcDriver
from muster_provisioner.adapters.karpenter.driver import KarpenterDriver
from muster_provisioner.domain.messages import InstanceId
from muster_provisioner.ports import DeclaredGroup, NodeGroupDriver, OrderTags
from muster_servicekit.clock import FakeClock
from muster_types import NodeGroupName

GRPC_GROUP = NodeGroupName("gpu-nodes")
_ROUND = 7.0  # seconds between rounds of a controller, so that a process sees what it wrote before anything came of it


@dataclass(slots=True)
class Rounds:
    """Lets the controllers of a cluster work now and then."""

    cluster: Cluster
    clock: FakeClock
    _next: float = 0.0

    async def work(self) -> None:
        """A round, if one is due."""
        now = self.clock.now().timestamp()
        if now >= self._next:
            self._next = now + _ROUND
            await self.cluster.settle()


class PointedGrpcDriver(ExternalGrpcDriver):
    """Passes a point before and after each write."""

    fault: Fault

    async def increase(self, group: NodeGroupName, delta: int, tags: OrderTags) -> None:
        await self.fault("before increase")
        await super().increase(group, delta, tags)
        await self.fault("after increase")

    async def delete(self, group: NodeGroupName, instances: Sequence[InstanceId]) -> None:
        await self.fault("before delete")
        await super().delete(group, instances)
        await self.fault("after delete")

    async def decrease_target(self, group: NodeGroupName, by: int) -> None:
        await self.fault("before decrease")
        await super().decrease_target(group, by)
        await self.fault("after decrease")


class PointedKubeClient(KubeClient):
    """Passes a point before and after each write that goes over the socket."""

    fault: Fault

    async def call(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
    ) -> bytes:
        if method == "GET":
            return await super().call(method, path, params or {}, body, content_type)
        await self.fault(f"before {method} {path}")
        answer = await super().call(method, path, params or {}, body, content_type)
        await self.fault(f"after {method} {path}")
        return answer


@dataclass(slots=True)
class GrpcProvider:
    """The served cloud."""

    served: ServedCloud
    group: NodeGroupName = GRPC_GROUP

    @property
    def clock(self) -> FakeClock:
        return self.served.clock

    @asynccontextmanager
    async def connected(self, fault: Fault) -> AsyncGenerator[NodeGroupDriver]:
        driver = PointedGrpcDriver({}, DirectoryNodes(self.served.directory))
        driver.fault = fault
        settings = {"type": "externalgrpc", "address": self.served.address, "id": "h100-r7", "settleSeconds": 30}
        assert driver.declare(DeclaredGroup(self.group, "externalgrpc", {"spec": {"driver": settings}})) is None
        yield driver
        await driver.close()

    async def work(self, driver: NodeGroupDriver) -> None:
        await self.served.cloud.tick()

    async def made(self) -> int:
        _, taken = await self.served.cloud.calls(NodeGroupName("h100-r7"))
        return taken * 3

    async def left(self) -> int:
        found = await self.served.cloud.instances(NodeGroupName("h100-r7"))
        return len(found) - 2


@dataclass(slots=True)
class KarpenterProvider:
    """Karpenter on the fake API server."""

    cluster: Cluster
    karpenter: FakeKarpenter
    clock: FakeClock
    rounds: Rounds
    group: NodeGroupName = KARPENTER_GROUP

    @asynccontextmanager
    async def connected(self, fault: Fault) -> AsyncGenerator[NodeGroupDriver]:
        async with PointedKubeClient(KubeConfig(self.cluster.kubeconfig), agent="muster-provisioner") as client:
            client.fault = fault
            driver = KarpenterDriver(client, self.clock)
            assert driver.declare(a_karpenter_group()) is None
            yield driver

    async def work(self, driver: NodeGroupDriver) -> None:
        assert isinstance(driver, KarpenterDriver)
        await driver.keep(self.group)
        await self.rounds.work()

    async def made(self) -> int:
        assert len(self.karpenter.seen) == len(set(self.karpenter.seen))
        return len(self.karpenter.seen) - 2

    async def left(self) -> int:
        return len(self.cluster.api.all("NodeClaim")) - 2


@dataclass(slots=True)
class ClusterApiProvider:
    """Cluster API on the fake API server."""

    cluster: Cluster
    capi: FakeClusterApi
    clock: FakeClock
    rounds: Rounds
    group: NodeGroupName = CAPI_GROUP

    @asynccontextmanager
    async def connected(self, fault: Fault) -> AsyncGenerator[NodeGroupDriver]:
        async with PointedKubeClient(KubeConfig(self.cluster.kubeconfig), agent="muster-provisioner") as client:
            client.fault = fault
            nodes = ApiNodes(client)
            driver = ClusterApiDriver(client, nodes, self.clock)
            assert driver.declare(a_clusterapi_group("MachineDeployment")) is None
            yield driver
            await nodes.close()

    async def work(self, driver: NodeGroupDriver) -> None:
        await self.rounds.work()

    async def made(self) -> int:
        return self.capi.made - 2

    async def left(self) -> int:
        return len(self.cluster.api.all("Machine")) - 2


@asynccontextmanager
async def opened(name: str, path: Path, stock: int) -> AsyncGenerator[Provider]:
    """One of the providers, with so many machines in stock for the first order."""
    clock = FakeClock()
    match name:
        case "externalgrpc":
            script = [{"order": 1, "stockoutAfter": stock}]
            group = a_sold_group(driver={"type": "simulated", "deleteSeconds": 1, "script": script})
            async with serving(path, group) as served:
                yield GrpcProvider(served)
        case "karpenter":
            async with karpenter_cluster(path, clock) as (cluster, karpenter):
                karpenter.has_stock = Stock(stock)
                yield KarpenterProvider(cluster, karpenter, clock, Rounds(cluster, clock))
        case _:
            async with clusterapi_cluster(path, "MachineDeployment", clock) as (cluster, capi):
                capi.has_stock = Stock(stock)
                yield ClusterApiProvider(cluster, capi, clock, Rounds(cluster, clock))
