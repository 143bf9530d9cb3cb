"""The service on a real server, with a client over a socket, and what it recorded."""

from __future__ import annotations  # the async stub exists for type checkers alone

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.message import Message
from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from muster.api.matcher.v1 import matcher_service_pb2_grpc as rpc
from muster.events.claims.v1 import claims_pb2
from muster_claim_matcher.bootstrap import build
from muster_claim_matcher.settings import Settings
from muster_eventstore import Codec, Decoded, EventStore, StoredMessage
from muster_servicekit.runtime import Runtime

CODEC = Codec.of_modules(claims_pb2)


@dataclass(frozen=True, slots=True)
class Running:
    """A running claim-matcher."""

    address: str
    channel: aio.Channel
    stub: rpc.MatcherServiceAsyncStub


@asynccontextmanager
async def running_matcher(nats_url: str, state_dir: Path, **settings: float) -> AsyncGenerator[Running, None]:
    """Started, and stopped as by a signal."""
    runtime = Runtime("claim-matcher", grace=2)
    read = Settings.model_validate(
        {"nats_url": nats_url, "grpc_listen": "127.0.0.1:0", "state_dir": state_dir, "stop_grace": 2, **settings}
    )
    built = await build(runtime, read)
    task = asyncio.create_task(runtime.run())
    try:
        async with aio.insecure_channel(built.grpc_address) as channel:
            await wait_serving(channel)
            yield Running(built.grpc_address, channel, rpc.MatcherServiceStub(channel))
    finally:
        runtime.request_stop()
        await task
        assert runtime.failure is None


async def stored(store: EventStore) -> list[StoredMessage]:
    """Everything in the stream `claims` now."""
    found: list[StoredMessage] = []
    async for chunk in store.read("claims"):
        found.extend(chunk.messages)
        if chunk.pending == 0:
            break
    return found


async def recorded(store: EventStore) -> list[Message]:
    """The events in it, in order."""
    decoded = [CODEC.decode(message.headers, message.data) for message in await stored(store)]
    return [event for each in decoded if isinstance(each, Decoded) for event in each.batch.events]


async def wait_events(store: EventStore, count: int, deadline: float = 15.0) -> list[Message]:
    """The events of the ledger as soon as there are `count` of them."""
    found: list[Message] = []
    try:
        async with asyncio.timeout(deadline):
            async for chunk in store.read("claims"):
                for message in chunk.messages:
                    decoded = CODEC.decode(message.headers, message.data)
                    assert isinstance(decoded, Decoded)
                    found.extend(decoded.batch.events)
                if len(found) >= count:
                    return found
    except TimeoutError:
        pass
    raise AssertionError(f"after {deadline:g} s the ledger has {len(found)} events, not {count}: {found}")


async def wait_serving(channel: aio.Channel) -> None:
    """Until the service says that it knows everything that is stored."""
    async with asyncio.timeout(20):
        await channel.channel_ready()
        async for answer in health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest()):
            if answer.status == health_pb2.HealthCheckResponse.SERVING:
                return
