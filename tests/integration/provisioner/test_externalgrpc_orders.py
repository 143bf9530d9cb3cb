"""Orders through the externalgrpc protocol: a provisioner, and the simulated cloud served as a process of its own."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
import yaml

from integration.provisioner.running import (
    GANG,
    Json,
    Neighbours,
    ProvisionerProcess,
    a_group,
    running_provisioner,
    wait_event,
)
from integration.provisioner.test_provisioner_service import objects
from muster.events.provisioning.v1 import provisioning_pb2 as events
from muster_eventstore import JetStreamStore
from support.nats_server import wait_until

ORDER = f"{GANG}-a1-1"


class SimcloudProcess:
    """`muster simcloud` as a process of its own."""

    def __init__(self, load: Path, state: Path, listen: str = "127.0.0.1:0") -> None:
        self._file = state / "run" / "simcloud.json"
        arguments = ["simcloud", "--listen", listen, "--load", str(load), "--state", str(state)]
        self._process = subprocess.Popen([sys.executable, "-m", "muster_cli", *arguments], env=os.environ)

    async def wait_ready(self) -> str:
        """host:port."""

        def ready() -> bool:
            assert self._process.poll() is None, "the simulated cloud ended at its start"
            return self._file.exists()

        await wait_until(ready, "the simulated cloud serves", deadline=30)
        return str(orjson.loads(self._file.read_bytes())["grpc"])

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(10)


@asynccontextmanager
async def served(state: Path, **behaviour: object) -> AsyncGenerator[Json]:
    """The NodeGroup as its client sees it, of a cloud that shares the cluster's overlay."""
    load = state / "dump"
    await asyncio.to_thread(load.mkdir)
    sold = a_group("pool-7", **behaviour)
    await asyncio.to_thread((load / "groups.yaml").write_text, yaml.safe_dump(sold))
    process = SimcloudProcess(load, state)
    try:
        address = await process.wait_ready()
        manifest = a_group()
        spec = manifest["spec"]
        assert isinstance(spec, dict)
        spec["driver"] = {"type": "externalgrpc", "address": address, "id": "pool-7", "settleSeconds": 0.5}
        yield manifest
    finally:
        assert process.stop() == 0


async def test_nodes_that_the_provider_could_not_tag_are_marked_as_they_register(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    neighbours = Neighbours(store)
    async with served(tmp_path) as manifest:
        await neighbours.declare(manifest, driver="externalgrpc")
        async with running_provisioner(streams_url, tmp_path):
            await neighbours.place(ORDER, 2)
            filled = await wait_event(store, ORDER, "OrderFilled", deadline=30)
            assert isinstance(filled, events.OrderFilled)

            def marked() -> bool:
                nodes = [node for node in objects(tmp_path, "Node") if node["metadata"]["name"] in filled.nodes]
                return [node["metadata"]["labels"].get("muster.dev/gang") for node in nodes] == [GANG] * 2

            await wait_until(marked, "both nodes are marked")
            await wait_until(lambda: len(objects(tmp_path, "ResourceSlice")) == 4, "all slices are published", 20)
            nodes = {node["metadata"]["name"]: node for node in objects(tmp_path, "Node")}
            for ordinal, name in enumerate(filled.nodes):
                labels, taints = nodes[name]["metadata"]["labels"], nodes[name]["spec"]["taints"]
                assert (labels["muster.dev/order"], labels["muster.dev/ordinal"]) == (ORDER, str(ordinal))
                assert labels["muster.dev/node-group"] == "h100-r7"
                assert {"key": "muster.dev/gang", "value": GANG, "effect": "NoSchedule"} in taints
            await neighbours.cancel(ORDER)
            cancelled = await wait_event(store, ORDER, "OrderCancelled", deadline=20)
            assert isinstance(cancelled, events.OrderCancelled)
            assert cancelled.target == 2
            await wait_until(lambda: objects(tmp_path, "Node") == [], "the nodes are gone")


async def test_sigkill_while_nodes_come_and_the_order_was_sent_once(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    neighbours = Neighbours(store)
    async with served(tmp_path, bootSeconds=1.5) as manifest:
        await neighbours.declare(manifest, driver="externalgrpc")
        process = ProvisionerProcess(streams_url, tmp_path)
        await process.wait_ready()
        await neighbours.place(ORDER, 3)
        await wait_event(store, ORDER, "OrderIntended")
        process.kill()
        process = ProvisionerProcess(streams_url, tmp_path)
        await wait_event(store, ORDER, "OrderFilled", deadline=30)
        process.kill()
        process = ProvisionerProcess(streams_url, tmp_path)
        try:
            await process.wait_ready()
            state = orjson.loads((tmp_path / "cloud" / "local.json").read_bytes())
            (group,) = state["groups"]
            assert sum(group["applied"].values()) == 1
            assert group["target"] == 5
            await neighbours.cancel(ORDER)
            await wait_event(store, ORDER, "OrderCancelled", deadline=20)
            await wait_until(lambda: objects(tmp_path, "Node") == [], "the nodes are gone")
        finally:
            assert process.stop() == 0


async def test_a_provider_that_is_away_is_waited_for(store: JetStreamStore, streams_url: str, tmp_path: Path) -> None:
    neighbours = Neighbours(store)
    async with served(tmp_path) as manifest:
        pass
    await neighbours.declare(manifest, driver="externalgrpc")
    async with running_provisioner(streams_url, tmp_path):
        await neighbours.place(ORDER, 1)
        address = str(manifest["spec"]["driver"]["address"])
        process = SimcloudProcess(tmp_path / "dump", tmp_path, listen=address)
        try:
            await wait_event(store, ORDER, "OrderFilled", deadline=40)
        finally:
            assert process.stop() == 0
