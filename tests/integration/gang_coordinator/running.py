"""The coordinator on a real server: a client over a socket, and the other services played by the test."""

from __future__ import annotations  # the async stub exists for type checkers alone

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from google.protobuf.message import Message
from grpc import aio

from muster.api.capacity.v1 import capacity_service_pb2 as pb
from muster.api.capacity.v1 import capacity_service_pb2_grpc as rpc
from muster.commands.claims.v1 import claims_pb2 as claim_commands
from muster.commands.provisioning.v1 import provisioning_pb2 as order_commands
from muster.events.claims.v1 import claims_pb2
from muster.events.inventory.v1 import inventory_pb2
from muster.events.observed.v1 import observed_pb2
from muster.events.provisioning.v1 import provisioning_pb2
from muster.type.v1 import plan_pb2
from muster.type.v1.gang_pb2 import GangState
from muster.type.v1.object_pb2 import ObjectRef
from muster_eventstore import (
    Codec,
    ConsumerSpec,
    Delivery,
    EventMeta,
    JetStreamStore,
    Worker,
    command_filter,
    decode_or_refuse,
    derived_id,
    event_subject,
)
from muster_gang_coordinator.bootstrap import Service, build
from muster_gang_coordinator.settings import Settings
from muster_kube.directory import ClusterDirectory
from muster_kube.keys import object_key
from support.nats_server import now, wait_until

COMMANDS = Codec.of_modules(claim_commands, order_commands)
DEADLINE = 15.0


@dataclass
class World:
    """What the other services say, and what they were asked; commands are taken from the work queue as they come."""

    store: JetStreamStore
    state_dir: Path
    asked: list[Message] = field(default_factory=list)
    said: int = 0

    @property
    def directory(self) -> ClusterDirectory:
        return ClusterDirectory((), self.state_dir / "cluster")

    async def listen(self) -> None:
        """Take the commands to the claim-matcher and the provisioner."""
        workers = [
            Worker(self.store, ConsumerSpec("commands", f"test-{name}", (command_filter(name),)), self._hear, now=now)
            for name in ("claims", "provisioning")
        ]
        await asyncio.gather(*(worker.run() for worker in workers))

    async def _hear(self, delivery: Delivery) -> None:
        self.asked += decode_or_refuse(COMMANDS, delivery).batch.events

    async def wait_asked(self, type_: type, number: int = 1) -> list[Message]:
        """The first `number` commands of a type."""

        def found() -> list[Message]:
            return [m for m in self.asked if isinstance(m, type_)]

        await wait_until(lambda: len(found()) >= number, f"{number} {type_.__name__} among {self.asked}", DEADLINE)
        return found()

    async def say(self, context: str, kind: str, ids: tuple[str, ...], message: Message) -> None:
        """A fact of another service."""
        self.said += 1
        id = derived_id("test", context, self.said, message.SerializeToString(deterministic=True).hex())
        subject = event_subject(context, "local", kind, *ids)
        meta = EventMeta(id, message.DESCRIPTOR.full_name, f"/test/{context}", "/".join(ids), now(), id, id)
        await self.store.publish(subject, message.SerializeToString(deterministic=True), meta)

    async def claims(self, message: Message) -> None:
        await self.say("claims", "ledger", (), message)

    async def provisioning(self, message: Message) -> None:
        await self.say("provisioning", "order", (str(getattr(message, "order_id", "")),), message)

    async def inventory(self, message: Message) -> None:
        await self.say("inventory", "node", (str(getattr(message, "node", "")),), message)

    async def show(self, obj: Mapping[str, object], uid: str = "") -> None:
        """The cluster-watcher shows an object."""
        key = object_key(obj)
        ref = ObjectRef(kind=key.kind, namespace=key.namespace, name=key.name)
        fact = observed_pb2.ObjectObserved(object=ref, uid=uid, json=orjson.dumps(obj))
        await self.say("observed", key.kind, (key.namespace, key.name), fact)

    async def show_gone(self, kind: str, name: str, uid: str = "") -> None:
        ref = ObjectRef(kind=kind, namespace="ml", name=name)
        await self.say("observed", kind, ("ml", name), observed_pb2.ObjectRemoved(object=ref, uid=uid))

    async def booked(self, gang: str, plan: plan_pb2.Plan, attempt: int = 1) -> None:
        await self.claims(claims_pb2.GangBooked(gang_id=gang, attempt=attempt, plan=plan))

    async def refused(self, gang: str, kind: plan_pb2.NoPlanKind.ValueType, sentence: str, attempt: int = 1) -> None:
        reasons = [plan_pb2.Reason(code="SHAPE", sentence=sentence)]
        await self.claims(claims_pb2.GangNotBooked(gang_id=gang, attempt=attempt, kind=kind, reasons=reasons))

    async def confirmed(self, gang: str, *nodes: str, attempt: int = 1) -> None:
        await self.claims(claims_pb2.GangConfirmed(gang_id=gang, attempt=attempt, placements=places(*nodes)))

    async def filled(self, gang: str, order: str, group: str, *nodes: str) -> None:
        await self.provisioning(
            provisioning_pb2.OrderFilled(order_id=order, gang_id=gang, node_group=group, nodes=nodes)
        )

    async def arrived(self, gang: str, order: str, group: str, *nodes: str) -> None:
        for ordinal, node in enumerate(nodes):
            arrival = inventory_pb2.NodeArrived(
                node=node, node_group=group, order_id=order, gang_id=gang, ordinal=ordinal
            )
            await self.inventory(arrival)

    async def give_back_all(self, gang: str) -> None:
        """Answer every CancelOrder that keeps nothing, and the ReleaseGang."""
        for order in [m for m in self.asked if isinstance(m, order_commands.CancelOrder) and not m.kept_nodes]:
            await self.provisioning(provisioning_pb2.OrderCancelled(order_id=order.order_id, gang_id=gang))
        await self.claims(claims_pb2.GangReleased(gang_id=gang, cause="failed"))


@dataclass(slots=True)
class Coordinator:
    """A running coordinator."""

    service: Service
    channel: aio.Channel
    stub: rpc.CapacityServiceAsyncStub

    async def request(self, name: str = "train", count: int = 4, request_id: str = "r1") -> str:
        """Ask over gRPC, with the template."""
        answer = await self.stub.RequestCapacity(
            pb.RequestCapacityRequest(
                cluster="local",
                request_id=request_id,
                request_json=orjson.dumps(a_request(name, count)),
                objects_json=[orjson.dumps(a_template()), orjson.dumps(a_claim_template())],
            )
        )
        return answer.gang_id

    async def gang(self, gang: str) -> pb.GangView:
        return (await self.stub.GetGang(pb.GetGangRequest(cluster="local", gang_id=gang))).gang

    async def wait_state(self, gang: str, state: GangState.ValueType) -> pb.GangView:
        async def there() -> bool:
            return (await self.gang(gang)).state == state

        await wait_until(there, f"{gang} in {GangState.Name(state)}", DEADLINE)
        return await self.gang(gang)

    async def history(self, gang: str) -> list[pb.WatchGangResponse]:
        """Everything recorded of an ended gang."""
        request = pb.WatchGangRequest(cluster="local", gang_id=gang, until_end=True)
        return [told async for told in self.stub.WatchGang(request)]

    async def export(self) -> bytes:
        return (await self.stub.ExportState(pb.ExportStateRequest(cluster="local"))).json

    async def kill(self) -> None:
        """As far as one process goes: every task ends where it stands, nothing is said to anybody."""
        await self.channel.close()
        await kill_service(self.service)


async def kill_service(service: Service) -> None:
    """Cancel the whole service in the middle of whatever it does."""
    task = service._task  # pyright: ignore[reportPrivateUsage] -- a crash asks nobody
    assert task is not None
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def start_coordinator(nats_url: str, state_dir: Path, **settings: object) -> Coordinator:
    values: dict[str, object] = {
        "nats_url": nats_url,
        "grpc_listen": "127.0.0.1:0",
        "state_dir": state_dir,
        "stop_grace": 1.0,
        "retry_settle": 0.05,
        **settings,
    }
    service = await build(Settings.model_validate(values))
    await service.start()
    channel = aio.insecure_channel(service.grpc_address)
    await channel.channel_ready()
    return Coordinator(service, channel, rpc.CapacityServiceStub(channel))


@asynccontextmanager
async def running_coordinator(nats_url: str, state_dir: Path, **settings: object) -> AsyncIterator[Coordinator]:
    """Started, and stopped as by a signal."""
    coordinator = await start_coordinator(nats_url, state_dir, **settings)
    try:
        yield coordinator
    finally:
        await coordinator.channel.close()
        await coordinator.service.stop()


@asynccontextmanager
async def a_world(store: JetStreamStore, state_dir: Path) -> AsyncIterator[World]:
    """The other services."""
    world = World(store, state_dir)
    listening = asyncio.create_task(world.listen())
    try:
        yield world
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


def a_request(name: str = "train", count: int = 4, **parameters: str) -> dict[str, object]:
    spec: dict[str, object] = {
        "provisioningClassName": "atomic.muster.dev",
        "podSets": [{"podTemplateRef": {"name": "worker"}, "count": count}],
    }
    if parameters:
        spec["parameters"] = parameters
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": spec,
    }


def a_template(name: str = "worker") -> dict[str, object]:
    container = {"name": "main", "image": "registry.example/train:1", "resources": {"claims": [{"name": "gpus"}]}}
    spec = {
        "containers": [container],
        "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "four-gpus"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": name, "namespace": "ml"},
        "template": {"metadata": {"labels": {"app": "train"}}, "spec": spec},
    }


def a_claim_template() -> dict[str, object]:
    request = {"name": "gpus", "exactly": {"deviceClassName": "gpu.example.com", "count": 4}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "four-gpus", "namespace": "ml"},
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }


def a_pod(name: str, node: str, request: str = "train") -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "ml",
            "annotations": {"autoscaling.x-k8s.io/consume-provisioning-request": request},
        },
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "registry.example/train:1"}]},
    }


def places(*nodes: str) -> list[plan_pb2.Placement]:
    return [plan_pb2.Placement(pod_set="workers", index=i, node=node) for i, node in enumerate(nodes)]


def a_plan(*orders: tuple[str, int], existing: tuple[str, ...] = ()) -> plan_pb2.Plan:
    new = [plan_pb2.NewNode(node_group=group, ordinal=n) for group, count in orders for n in range(count)]
    placements = places(*existing)
    placements += [
        plan_pb2.Placement(pod_set="workers", index=len(existing) + i, new_node=node) for i, node in enumerate(new)
    ]
    return plan_pb2.Plan(
        placements=placements,
        orders=[plan_pb2.GroupOrder(node_group=group, count=count, price_per_node=10) for group, count in orders],
        cost=10.0 * len(new),
        new_nodes=len(new),
    )


def conditions(world: World, name: str = "train") -> dict[str, tuple[str, str]]:
    """Status and reason of each condition of the request in the cluster directory."""
    from muster_types import ObjectKey

    found = world.directory.get(ObjectKey("ProvisioningRequest", "ml", name)) or {}
    status = found.get("status")
    listed = status.get("conditions", []) if isinstance(status, dict) else []
    return {c["type"]: (c["status"], c["reason"]) for c in listed}
