"""Everything as processes on a live cluster: the fake API server, all services, a cloud behind each driver."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from contract.driver.api_server import Controller
from contract.driver.clusterapi import FakeClusterApi
from contract.driver.karpenter import FakeKarpenter
from muster_kube.parts import at, mapping, sequence, text
from muster_kubeapi import KubeClient, KubeError
from muster_servicekit.clock import SystemClock
from support.processes import SERVICES, MusterProcesses
from support.stories import promised_twice
from system.live import fleet
from system.live.cluster import ApiServerProcess, SimcloudProcess
from system.live.fleet import CAPI, GRPC, KARPENTER, THERE
from system.live.scheduler import Objects, scheduling
from system.live.story import GANG, SCALE_DOWN, consumed, gang_of, holds_in, make, nodes_of, pods_of, wait_seen

pytestmark = pytest.mark.slow


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
        asyncio.run(self._fill())
        self.cloud.start()
        self.muster.start(SERVICES)

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
    async def at_work(self) -> AsyncGenerator[KubeClient]:
        """The cluster's controllers and its scheduler go round, as clients of the server."""
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(self.server.client("test"))
            capi = FakeClusterApi(self.server, outfit=fleet.machines_of(CAPI))
            karpenter = FakeKarpenter(self.server, SystemClock(), outfit=fleet.machines_of(KARPENTER))
            stack.push_async_callback(capi.close)
            stack.push_async_callback(karpenter.close)
            await stack.enter_async_context(_reconciling(capi, karpenter))
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


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Up for all tests of this file; each asks for something of its own."""
    running = Live(tmp_path_factory.mktemp("live"))
    try:
        running.start()
        yield running
    finally:
        running.stop()
    assert running.muster.tracebacks() == []


async def test_a_gang_gets_a_node_that_is_there_and_one_of_the_served_cloud(live: Live) -> None:
    async with live.at_work() as client:
        await make(client, fleet.a_request(GRPC, "mixed"))
        objects = await consumed(live.server, client, "mixed")
    new = [text(at(node, "metadata", "name")) for node in nodes_of(objects, GRPC) if not _is_there(node)]
    assert len(new) == 1
    _check_new(live, objects, new)
    journal = live.server.journal()
    rules = [write for write in journal if write.plural == "devicetaintrules"]
    assert [(text(at(each.obj, "spec", "deviceSelector", "pool")), each.gone) for each in rules] == [
        (THERE, False),
        (THERE, False),
        (THERE, True),
        (THERE, True),
    ]
    gang = text(at(rules[0].obj, "spec", "taint", "value"))
    request = next(write.obj for write in reversed(journal) if write.name == "mixed" and "status" in write.obj)
    details = mapping(at(request, "status", "provisioningClassDetails"))
    assert details["muster.dev/reservation-taint"] == f"{GANG}={gang}:NoSchedule"
    assert details["muster.dev/nodes"] == ",".join(sorted([THERE, *new]))


@pytest.mark.parametrize("pool", [CAPI, KARPENTER])
async def test_a_gang_gets_nodes_through_the_objects_of_another_back_end(live: Live, pool: str) -> None:
    async with live.at_work() as client:
        await make(client, fleet.a_request(pool, f"by-{pool}"))
        objects = await consumed(live.server, client, f"by-{pool}")
    new = [text(at(node, "metadata", "name")) for node in nodes_of(objects, pool)]
    assert len(new) == 2
    _check_new(live, objects, new)


async def test_a_server_that_is_killed_then_compacts_and_cuts_every_second_changes_no_end(live: Live) -> None:
    pools = (GRPC, CAPI, KARPENTER)
    async with live.at_work() as client:
        await asyncio.gather(*(make(client, fleet.a_request(pool, f"{pool}-again")) for pool in pools))
        live.server.kill()
        live.server.start(unrest=1.0)
        await asyncio.gather(*(consumed(live.server, client, f"{pool}-again") for pool in pools))
        objects = await wait_seen(client, lambda objects: holds_in(objects) == [], "nothing is held any more")
    live.server.kill()
    live.server.start()
    assert promised_twice(objects) == []
    for pool in pools:
        gang = gang_of(objects, f"{pool}-again")
        made = {each.name for each in live.server.journal() if each.plural == "nodes" and _is_for(each.obj, gang)}
        used = {text(at(pod, "spec", "nodeName")) for pod in pods_of(objects, f"{pool}-again")}
        assert (len(made), made) == (2, used), "each order was sent once"


def _is_there(node: object) -> bool:
    return at(node, "metadata", "name") == THERE


def _is_for(node: object, gang: str) -> bool:
    return mapping(at(node, "metadata", "labels")).get(GANG) == gang


def _check_new(live: Live, objects: Objects, names: list[str]) -> None:
    """New nodes carried the reservation and were kept from scale-down until they were used; now they are plain."""
    for name in names:
        forms = [each.obj for each in live.server.journal() if each.plural == "nodes" and each.name == name]
        tainted = [any(mapping(t).get("key") == GANG for t in sequence(at(form, "spec", "taints"))) for form in forms]
        kept = [mapping(at(form, "metadata", "annotations")).get(SCALE_DOWN) == "true" for form in forms]
        assert (any(tainted), tainted[-1]) == (True, False)
        assert (any(kept), kept[-1]) == (True, False)
        slices = [
            obj for key, obj in objects.items() if key.kind == "ResourceSlice" and at(obj, "spec", "nodeName") == name
        ]
        assert len(slices) == 1
