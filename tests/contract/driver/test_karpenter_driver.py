import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from contract.driver.api_server import Cluster, wait_watching
from contract.driver.karpenter import GROUP, FakeKarpenter, a_karpenter_group, karpenter_cluster, labels
from contract.driver.suite import DriverContract
from muster_kubeapi import Json
from muster_provisioner.adapters.karpenter.driver import KarpenterDriver
from muster_servicekit.clock import FakeClock
from muster_types import NodeGroupName


@dataclass(slots=True)
class KarpenterRig:
    driver: KarpenterDriver
    cluster: Cluster
    karpenter: FakeKarpenter
    clock: FakeClock
    group: NodeGroupName = GROUP
    tells_of_changes: bool = True

    async def pass_time(self, seconds: float) -> None:
        await self.cluster.settle()
        await self.clock.advance(seconds)
        await self.driver.keep(self.group)
        await self.cluster.settle()


class SecondOrderRunsOut:
    """Stock for everything but the second order, which gets one node."""

    def __init__(self) -> None:
        self._orders: list[str] = []
        self._second = 0

    def __call__(self, claim: Json) -> bool:
        order = labels(claim).get("muster.dev/order")
        if order is None:
            return True
        if order not in self._orders:
            self._orders.append(str(order))
        if self._orders.index(str(order)) != 1:
            return True
        self._second += 1
        return self._second == 1


@asynccontextmanager
async def karpenter_rig(path: Path, *, upkeep: bool = True, **driver: object) -> AsyncGenerator[KarpenterRig]:
    """A driver on a cluster with Karpenter; without upkeep its own loop does not run."""
    clock = FakeClock()
    async with karpenter_cluster(path, clock) as (cluster, karpenter), cluster.client("muster-provisioner") as client:
        made = KarpenterDriver(client, clock)
        assert made.declare(a_karpenter_group(**driver)) is None
        if not upkeep:
            yield KarpenterRig(made, cluster, karpenter, clock)
            return
        running = asyncio.create_task(made.run())
        await wait_watching(cluster)
        yield KarpenterRig(made, cluster, karpenter, clock)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


class TestKarpenterDriver(DriverContract):
    @pytest.fixture
    async def rig(self, tmp_path: Path) -> AsyncGenerator[KarpenterRig]:
        async with karpenter_rig(tmp_path) as rig:
            rig.karpenter.has_stock = SecondOrderRunsOut()
            yield rig
