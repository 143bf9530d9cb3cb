"""The provisioner on a real server, with a client over a socket; stopped as by a signal, or crashed."""

from __future__ import annotations  # the async stub exists for type checkers alone

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
from google.protobuf.message import Message
from grpc import aio

from muster.api.provisioner.v1 import provisioner_service_pb2_grpc as rpc
from muster.commands.provisioning.v1 import provisioning_pb2 as commands
from muster.events.inventory.v1 import inventory_pb2
from muster.events.provisioning.v1 import provisioning_pb2
from muster_eventstore import (
    BATCH,
    Batch,
    Cause,
    Codec,
    CommandSubject,
    Decoded,
    EventStore,
    SendCommand,
    StoredMessage,
    caused,
    derived_id,
    event_subject,
    publish_command,
)
from muster_provisioner.bootstrap import build
from muster_provisioner.settings import Settings
from muster_servicekit.runtime import Runtime
from support.nats_server import wait_until

CLUSTER = "local"
GANG = "train-1a2b3c"
CODEC = Codec.of_modules(provisioning_pb2, inventory_pb2)
Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Running:
    """A running provisioner."""

    address: str
    channel: aio.Channel
    stub: rpc.ProvisionerServiceAsyncStub


@asynccontextmanager
async def running_provisioner(nats_url: str, state_dir: Path, **more: object) -> AsyncIterator[Running]:
    """Started with more settings than the usual ones, and stopped as by a signal."""
    runtime = Runtime("provisioner", grace=2)
    settings = Settings(
        nats_url=nats_url,
        grpc_listen="127.0.0.1:0",
        state_dir=state_dir,
        stop_grace=2,
        order_poll=timedelta(milliseconds=100),
        order_declaration_wait=timedelta(seconds=1),
        **more,  # pyright: ignore[reportArgumentType] -- settings by name
    )
    built = await build(runtime, settings)
    task = asyncio.create_task(runtime.run())
    try:
        async with aio.insecure_channel(built.grpc_address) as channel:
            await channel.channel_ready()
            yield Running(built.grpc_address, channel, rpc.ProvisionerServiceStub(channel))
    finally:
        runtime.request_stop()
        await task
        assert runtime.failure is None


class ProvisionerProcess:
    """`python -m muster_provisioner` as a process of its own."""

    def __init__(self, nats_url: str, state_dir: Path, **more: str) -> None:
        self._state_dir = state_dir
        environment = {
            **os.environ,
            "MUSTER_NATS_URL": nats_url,
            "MUSTER_STATE_DIR": str(state_dir),
            "MUSTER_GRPC_LISTEN": "127.0.0.1:0",
            "MUSTER_ORDER_POLL": "PT0.1S",
            **more,
        }
        self._process = subprocess.Popen([sys.executable, "-m", "muster_provisioner"], env=environment)

    async def wait_ready(self) -> str:
        """The address on which it listens, from its address file."""
        file = self._state_dir / "run" / "provisioner.json"

        def ready() -> bool:
            assert self._process.poll() is None, "the provisioner ended at its start"
            return file.exists() and orjson.loads(file.read_bytes())["pid"] == self._process.pid

        await wait_until(ready, "the provisioner is ready", deadline=20)
        return str(orjson.loads(file.read_bytes())["grpc"])

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.wait(10)

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(10)


class Neighbours:
    """What the inventory and the gang-coordinator would write."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._count = 0

    async def declare(self, manifest: Mapping[str, object], name: str = "h100-r7", driver: str = "simulated") -> None:
        """NodeGroupDeclared."""
        await self._inventory(
            name, inventory_pb2.NodeGroupDeclared(name=name, driver=driver, json=orjson.dumps(manifest))
        )

    async def withdraw(self, name: str = "h100-r7") -> None:
        """NodeGroupWithdrawn."""
        await self._inventory(name, inventory_pb2.NodeGroupWithdrawn(name=name))

    async def place(self, order: str, count: int, group: str = "h100-r7", first_ordinal: int = 0) -> None:
        """PlaceOrder."""
        message = commands.PlaceOrder(
            order_id=order, gang_id=GANG, node_group=group, count=count, first_ordinal=first_ordinal
        )
        await self._command(order, message)

    async def cancel(self, order: str, *kept: str, group: str = "h100-r7") -> None:
        """CancelOrder."""
        message = commands.CancelOrder(order_id=order, gang_id=GANG, node_group=group, kept_nodes=kept)
        await self._command(order, message)

    async def garbage(self, order: str) -> None:
        """Bytes that are no command."""
        subject = str(CommandSubject("provisioning", CLUSTER, "PlaceOrder", order))
        cause = Cause.first(order)
        meta = caused(cause, "garbage", type="no.such.Type", source="/test", subject=order, time=datetime.now(UTC))
        await self._store.publish(subject, b"\xff\xff", meta)

    async def _inventory(self, name: str, event: Message) -> None:
        subject = event_subject("inventory", CLUSTER, "nodegroup", name)
        last = await self._store.last(subject)
        cause = Cause.first(f"{name}-{0 if last is None else last.sequence}")
        meta = caused(
            cause, derived_id(cause.id, subject), type=BATCH, source="/test", subject=subject, time=datetime.now(UTC)
        )
        expected = 0 if last is None else last.sequence
        await self._store.append(subject, expected, CODEC.encode(Batch((event,), 1)), meta)

    async def _command(self, order: str, message: Message) -> None:
        self._count += 1
        name = message.DESCRIPTOR.name
        to = CommandSubject("provisioning", CLUSTER, name, order)
        cause = Cause.first(f"saga-{order}-{name}-{self._count}")
        await publish_command(self._store, SendCommand(to, message), cause, source="/test", now=datetime.now(UTC))


async def stored(store: EventStore) -> list[StoredMessage]:
    """Everything in the stream `provisioning` now."""
    found: list[StoredMessage] = []
    async for chunk in store.read("provisioning"):
        found.extend(chunk.messages)
        if chunk.pending == 0:
            break
    return found


async def recorded(store: EventStore, order: str) -> list[Message]:
    """The events of one order, in order."""
    decoded = [CODEC.decode(message.headers, message.data) for message in await stored(store)]
    events = [event for each in decoded if isinstance(each, Decoded) for event in each.batch.events]
    return [event for event in events if getattr(event, "order_id", "") == order]


async def wait_event(store: EventStore, order: str, kind: str, deadline: float = 15.0) -> Message:
    """The first event of a kind of an order, as soon as it is recorded."""

    async def there() -> bool:
        return kind in [event.DESCRIPTOR.name for event in await recorded(store, order)]

    await wait_until(there, f"{kind} of {order} is recorded", deadline)
    return next(event for event in await recorded(store, order) if event.DESCRIPTOR.name == kind)


def a_group(name: str = "h100-r7", **driver: object) -> Json:
    """A node group with 2 GPUs and a NIC a node, whose PCIe roots nobody knows before boot."""
    return {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "NodeGroup",
        "metadata": {"name": name},
        "spec": {
            "minSize": 0,
            "maxSize": 16,
            "currentSize": 2,
            "driver": {"type": "simulated", "bootSeconds": 0.4, "slicesAfterSeconds": 0.2, **driver},
            "template": {
                "metadata": {"labels": {"topology.kubernetes.io/rack": "r7"}},
                "status": {"allocatable": {"cpu": "192", "memory": "2Ti", "pods": "110"}},
                "resourceSlices": [
                    {
                        "driver": "gpu.example.com",
                        "pool": {"name": "gpus"},
                        "devices": [
                            {"name": each, "attributes": {"uuid": {"string": "?"}, "numa": {"int": 0}}}
                            for each in ("gpu-0", "gpu-1")
                        ],
                    },
                    {"driver": "nic.example.com", "pool": {"name": "nics"}, "devices": [{"name": "nic-0"}]},
                ],
                "attributeBindings": [{"attribute": "resource.kubernetes.io/pcieRoot", "devices": ["gpu-0", "nic-0"]}],
                "uniqueAttributes": ["gpu.example.com/uuid"],
            },
        },
    }
