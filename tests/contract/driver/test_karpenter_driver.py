import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from contract.driver.api_server import Cluster, api_server
from contract.driver.karpenter import FakeKarpenter
from contract.driver.suite import DriverContract
from muster_kubeapi import Json
from muster_provisioner.adapters.karpenter.driver import KarpenterDriver
from muster_provisioner.ports import DeclaredGroup
from muster_servicekit.clock import FakeClock
from muster_types import NodeGroupName
from support.nats_server import wait_until

GROUP = NodeGroupName("h100-karpenter")
NODE_CLASS = {"group": "test.example.com", "kind": "TestNodeClass", "name": "gpu"}


def a_karpenter_group(**driver: object) -> DeclaredGroup:
    settings = {
        "type": "karpenter",
        "nodeClassRef": NODE_CLASS,
        "instanceType": "p5.48xlarge",
        "zone": "zone-a",
        "capacityType": "on-demand",
        **driver,
    }
    return DeclaredGroup(GROUP, "karpenter", {"spec": {"maxSize": 6, "driver": settings}})


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

    def claims(self) -> list[Json]:
        return self.cluster.api.all("NodeClaim")

    def claim(self, ordinal: int) -> Json:
        return next(each for each in self.claims() if labels(each).get("muster.dev/ordinal") == str(ordinal))


def labels(obj: Json) -> Json:
    return cast("Json", cast("Json", obj["metadata"]).get("labels") or {})


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
async def karpenter_rig(path: Path, group: DeclaredGroup | None = None) -> AsyncGenerator[KarpenterRig]:
    async with api_server(path) as cluster:
        cluster.api.put(
            {
                "apiVersion": "test.example.com/v1",
                "kind": "TestNodeClass",
                "metadata": {"name": "gpu"},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            }
        )
        for name in ("by-hand-1", "by-hand-2"):
            spec = {"nodeClassRef": NODE_CLASS, "requirements": []}
            metadata = {"name": name, "labels": {"muster.dev/node-group": GROUP}}
            cluster.api.put({"kind": "NodeClaim", "metadata": metadata, "spec": spec})
        karpenter, clock = FakeKarpenter(cluster), FakeClock()
        cluster.controllers.append(karpenter)
        await cluster.settle()
        async with cluster.client("muster-provisioner") as client:
            driver = KarpenterDriver(client, clock)
            assert driver.declare(group or a_karpenter_group()) is None
            running = asyncio.create_task(driver.run())
            watches = lambda: any(call.verb == "watch" for call in cluster.api.users.calls)  # noqa: E731
            await wait_until(watches, "the driver watches")
            yield KarpenterRig(driver, cluster, karpenter, clock)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        await karpenter.close()


class TestKarpenterDriver(DriverContract):
    @pytest.fixture
    async def rig(self, tmp_path: Path) -> AsyncGenerator[KarpenterRig]:
        async with karpenter_rig(tmp_path) as rig:
            rig.karpenter.has_stock = SecondOrderRunsOut()
            yield rig
