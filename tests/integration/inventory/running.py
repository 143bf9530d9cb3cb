"""The service on a real server, with a client over a socket."""

from __future__ import annotations  # the async stub exists for type checkers alone

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from muster.api.inventory.v1 import inventory_service_pb2_grpc as rpc
from muster_inventory.bootstrap import build
from muster_inventory.settings import Settings
from muster_servicekit.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Running:
    """A running inventory."""

    address: str
    channel: aio.Channel
    stub: rpc.InventoryServiceAsyncStub


@asynccontextmanager
async def running_inventory(nats_url: str, state_dir: Path) -> AsyncGenerator[Running, None]:
    """Started, and stopped as by a signal."""
    runtime = Runtime("inventory", grace=2)
    settings = Settings(nats_url=nats_url, grpc_listen="127.0.0.1:0", state_dir=state_dir, stop_grace=2)
    built = await build(runtime, settings)
    task = asyncio.create_task(runtime.run())
    try:
        async with aio.insecure_channel(built.grpc_address) as channel:
            await wait_serving(channel)
            yield Running(built.grpc_address, channel, rpc.InventoryServiceStub(channel))
    finally:
        runtime.request_stop()
        await task
        assert runtime.failure is None


async def wait_serving(channel: aio.Channel) -> None:
    """Until the service says that it knows everything that is stored."""
    async with asyncio.timeout(20):
        await channel.channel_ready()
        async for answer in health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest()):
            if answer.status == health_pb2.HealthCheckResponse.SERVING:
                return
