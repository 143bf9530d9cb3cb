import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from contract.driver.api_server import Cluster, wait_watching
from contract.driver.clusterapi import GROUP, NAMESPACE, FakeClusterApi, a_clusterapi_group, clusterapi_cluster
from contract.driver.suite import DriverContract
from muster_kubeapi import Json
from muster_provisioner.adapters.cluster_nodes import ApiNodes
from muster_provisioner.adapters.clusterapi.driver import ClusterApiDriver
from muster_servicekit.clock import FakeClock
from muster_types import NodeGroupName


@dataclass(slots=True)
class ClusterApiRig:
    driver: ClusterApiDriver
    cluster: Cluster
    capi: FakeClusterApi
    clock: FakeClock
    kind: str
    group: NodeGroupName = GROUP
    tells_of_changes: bool = True

    async def pass_time(self, seconds: float) -> None:
        await self.cluster.settle()
        await self.clock.advance(seconds)
        await self.cluster.settle()

    def sized(self) -> Json:
        """The object that is resized."""
        found = self.cluster.api.get(self.kind, NAMESPACE, GROUP)
        assert found is not None
        return found

    def replicas(self) -> int:
        return cast("int", cast("Json", self.sized()["spec"])["replicas"])

    def machines(self) -> list[Json]:
        return self.cluster.api.all("Machine")

    def change(self, **metadata: object) -> None:
        """Somebody else changes the object's metadata."""
        old = self.sized()
        changed = {**cast("Json", old["metadata"]), **metadata}
        self.cluster.api.put({**old, "kind": self.kind, "metadata": changed})


@dataclass(slots=True)
class Stock:
    """So many machines, and no more."""

    left: int

    def __call__(self, machine: Json) -> bool:
        self.left -= 1
        return self.left >= 0


@asynccontextmanager
async def clusterapi_rig(
    path: Path, kind: str = "MachineDeployment", *, pool_machines: bool = False, **driver: object
) -> AsyncGenerator[ClusterApiRig]:
    """A running driver on a management cluster."""
    clock = FakeClock()
    async with (
        clusterapi_cluster(path, kind, clock, pool_machines=pool_machines) as (cluster, capi),
        cluster.client("muster-provisioner") as client,
    ):
        nodes = ApiNodes(client)
        made = ClusterApiDriver(client, nodes, clock)
        assert made.declare(a_clusterapi_group(kind, **driver)) is None
        running = asyncio.create_task(made.run())
        await wait_watching(cluster)
        yield ClusterApiRig(made, cluster, capi, clock, kind)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await nodes.close()


class _Suite(DriverContract):
    kind = "MachineDeployment"

    @pytest.fixture
    async def rig(self, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncGenerator[ClusterApiRig]:
        async with clusterapi_rig(tmp_path, self.kind, pool_machines=True) as rig:
            if "runs_out_of_stock" in request.node.name:
                rig.capi.has_stock = Stock(2)  # the first order's machine, and one of the second's
            yield rig


class TestMachineDeployments(_Suite):
    kind = "MachineDeployment"


class TestMachineSets(_Suite):
    kind = "MachineSet"


class TestMachinePoolsWithMachines(_Suite):
    kind = "MachinePool"
