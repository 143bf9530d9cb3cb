"""The watcher of live clusters on a real NATS server, and what it has told."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import orjson
from google.protobuf.message import Message

from muster.events.observed.v1 import observed_pb2
from muster_cluster_watcher.bootstrap import Built, build
from muster_cluster_watcher.settings import Settings
from muster_eventstore import Codec, Decoded, EventStore
from muster_kubeapi import Json
from muster_servicekit.runtime import Runtime
from support.kube_api import KubeApi
from support.nats_server import wait_until

CODEC = Codec.of_modules(observed_pb2)
Told = dict[str, Message]


def settings(nats: str, home: Path, kubeconfig: Path, **fields: object) -> Settings:
    """Settings of a live watcher."""
    return Settings.model_validate(
        {
            "nats_url": nats,
            "state_dir": home / "state",
            "cluster_source": "kubernetes",
            "kubeconfig": kubeconfig,
            "grpc_listen": "127.0.0.1:0",
            **fields,
        }
    )


@asynccontextmanager
async def running(chosen: Settings, *, wait: bool = True) -> AsyncGenerator[Built]:
    """The service until the block ends; with `wait` begun with its first list told."""
    runtime = Runtime("cluster-watcher")
    built = await build(runtime, chosen)
    task = asyncio.create_task(runtime.run())
    try:
        if wait:
            async with asyncio.timeout(20):
                await built.reports.wait_synced()
        yield built
    finally:
        runtime.request_stop()
        await task
    assert runtime.failure is None, runtime.failure


async def told(store: EventStore) -> Told:
    """The newest message of each subject, without the common beginning."""
    found: Told = {}
    async with aclosing(store.read("observed")) as chunks:
        async for chunk in chunks:
            for message in chunk.messages:
                decoded = CODEC.decode(message.headers, message.data)
                assert isinstance(decoded, Decoded)
                (found[message.subject.removeprefix("muster.observed.")],) = decoded.batch.events
            if not chunk.pending:
                break
    return found


async def shown(store: EventStore, cluster: str = "local") -> dict[str, Json]:
    """JSON of the objects that a reader of the stream knows, by kind and name."""
    objects: dict[str, Json] = {}
    for subject, message in (await told(store)).items():
        if isinstance(message, observed_pb2.ObjectObserved) and subject.startswith(f"{cluster}."):
            objects[f"{message.object.kind}/{message.object.name}"] = orjson.loads(message.json)
    return objects


async def wait_shown(store: EventStore, names: Iterable[str], deadline: float = 20.0, cluster: str = "local") -> None:
    """Until a reader of the stream knows exactly these objects."""
    wanted, seen = sorted(names), -1

    async def level() -> bool:
        nonlocal seen
        before, seen = seen, await last_sequence(store)
        return seen != before and sorted(await shown(store, cluster)) == wanted

    await wait_until(level, f"the stream shows {wanted}", deadline)


async def last_sequence(store: EventStore) -> int:
    return (await store.state("observed")).last_sequence


def verbs(api: KubeApi) -> dict[str, int]:
    """How often each verb was called since the last time."""
    counted: dict[str, int] = {}
    for call in api.users.calls:
        counted[call.verb] = counted.get(call.verb, 0) + 1
    api.users.calls.clear()
    return counted
