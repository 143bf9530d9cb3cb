"""A live cluster with Muster beside it, all of it processes; controllers and scheduler go round in the test."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from contract.driver.api_server import Controller
from contract.driver.clusterapi import FakeClusterApi, always
from contract.driver.karpenter import FakeKarpenter
from muster_kubeapi import Json, KubeClient, KubeError
from muster_servicekit.clock import SystemClock
from support.processes import SERVICES, MusterProcesses
from system.live import fleet
from system.live.cluster import ApiServerProcess, SimcloudProcess
from system.live.fleet import CAPI, KARPENTER
from system.live.scheduler import scheduling
from system.live.story import make


@dataclass(slots=True)
class Live:
    """A live cluster with Muster beside it, both as processes."""

    home: Path
    server: ApiServerProcess = field(init=False)
    cloud: SimcloudProcess = field(init=False)
    muster: MusterProcesses = field(init=False)

    def __post_init__(self) -> None:
        self.server = ApiServerProcess(self.home / "api")
        groups = fleet.node_groups(self.home / "groups")
        self.cloud = SimcloudProcess(self.home / "cloud", self.server.kubeconfig, groups)
        self.muster = MusterProcesses(
            self.home,
            groups,
            {
                "MUSTER_CLUSTER_SOURCE": "kubernetes",
                "MUSTER_KUBECONFIG": str(self.server.kubeconfig),
                "MUSTER_CLUSTER_DIRS": str(groups),
                "MUSTER_EXTERNALGRPC_CONFIG": str(self.cloud.config),
                "MUSTER_HOLDS": "scale-down,devices,requests",
                "MUSTER_ORDER_POLL": "PT0.2S",
                "MUSTER_RETRY_SETTLE": "0.1",
            },
        )

    def start(self) -> None:
        """The cluster first, for nobody else can be asked what it has."""
        self.server.start()
        self.started_server()
        asyncio.run(self._fill())
        self.cloud.start()
        self.muster.start(SERVICES)

    def started_server(self) -> None:
        """Between the cluster and those who call it."""

    def stop(self) -> None:
        """Everything that runs."""
        try:
            self.muster.stop()
        finally:
            self.cloud.stop()
            self.server.kill()

    async def _fill(self) -> None:
        async with self.server.client("test") as client:
            await make(client, fleet.objects())

    @asynccontextmanager
    async def at_work(
        self, joins: Callable[[Json], bool] = always, *, stock: Callable[[Json], bool] = always, bind: bool = True
    ) -> AsyncGenerator[KubeClient]:
        """The cluster's controllers and, with `bind`, its scheduler go round, as clients of the server. `joins` decides
        for each machine of Cluster API whether it becomes a node yet, `stock` for each NodeClaim whether it launches.
        """
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(self.server.client("test"))
            capi = FakeClusterApi(self.server, joins=joins, life=uuid4().hex[:4], outfit=fleet.machines_of(CAPI))
            karpenter = FakeKarpenter(self.server, SystemClock(), stock, outfit=fleet.machines_of(KARPENTER))
            stack.push_async_callback(capi.close)
            stack.push_async_callback(karpenter.close)
            await stack.enter_async_context(_reconciling(capi, karpenter))
            if bind:
                await stack.enter_async_context(
                    scheduling(await stack.enter_async_context(self.server.client("scheduler")))
                )
            yield client


@asynccontextmanager
async def _reconciling(*controllers: Controller) -> AsyncGenerator[None]:
    async def go_on(controller: Controller) -> None:
        while True:
            with suppress(KubeError):  # the server is away: once more
                await controller.reconcile()
            await asyncio.sleep(0.1)

    tasks = [asyncio.create_task(go_on(each)) for each in controllers]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(each, asyncio.CancelledError) for each in ended), ended
