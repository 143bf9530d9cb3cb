"""Wiring of the inventory: the only place that chooses adapters."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nats.aio.client import Client

from muster.api.inventory.v1 import inventory_service_pb2_grpc as rpc
from muster.events.inventory.v1 import inventory_pb2
from muster.events.observed.v1 import observed_pb2
from muster_eventstore import (
    Codec,
    CommandHandler,
    Decoded,
    EventStore,
    InvalidSubject,
    JetStreamStore,
    PermanentError,
    Projector,
    StoredMessage,
    connect,
    event_filter,
    parse_event,
)
from muster_inventory.domain.node import NODE
from muster_inventory.domain.node_group import NODE_GROUP
from muster_inventory.domain.pool import POOL
from muster_inventory.entrypoints.grpc import NAME, InventoryServicer
from muster_inventory.entrypoints.observed import ObservedModel, Settling
from muster_inventory.handlers import subjects
from muster_inventory.handlers.queries import Queries
from muster_inventory.handlers.replay import NodeBatch, NodeGroupBatch, PoolBatch, RecordedBatch
from muster_inventory.handlers.replay import replay as fold
from muster_inventory.handlers.settle import Settler
from muster_inventory.handlers.world import World
from muster_inventory.settings import Settings
from muster_inventory.wire.events import NodeGroupWire, NodeWire, PoolWire
from muster_servicekit.address_file import AddressFile
from muster_servicekit.clock import Clock, SystemClock
from muster_servicekit.grpc import Listen, settings_tls, start_server
from muster_servicekit.grpc import Service as Served
from muster_servicekit.health import Health
from muster_servicekit.leadership import ALONE, Leadership, take_leases
from muster_servicekit.runtime import Runtime
from muster_types import ClusterId

SERVICE = "inventory"
SOURCE = "/muster/inventory"


@dataclass(frozen=True, slots=True)
class Built:
    """A service that is wired; it works while its runtime runs. `grpc_address` is host:port."""

    grpc_address: str
    health: Health


async def build(
    runtime: Runtime, settings: Settings, *, nats: Client | None = None, clock: Clock | None = None
) -> Built:
    """Connect (unless a connection is given), load what was decided, listen, and register everything on `runtime`."""
    leadership, clock = ALONE, clock or SystemClock()
    if nats is None:
        nats = await connect(settings.nats, SERVICE)
        runtime.stack.push_async_callback(nats.close)
        leadership = await take_leases(runtime, settings, JetStreamStore(nats), clock, SERVICE)
    return await assemble(runtime, settings, JetStreamStore(nats), clock, leadership=leadership)


async def assemble(
    runtime: Runtime,
    settings: Settings,
    store: EventStore,
    clock: Clock,
    *,
    listen: Listen = start_server,
    leadership: Leadership = ALONE,
) -> Built:
    """The service on any store and clock.

    Nothing is fenced ahead of need: what a former holder may still append follows from the same observed facts.
    """
    codec, fence = codec_of_events(), leadership.fence
    nodes = CommandHandler(
        store, codec, NODE, NodeWire(), stream=subjects.STREAM, source=SOURCE, now=clock.now, fence=fence
    )
    groups = CommandHandler(
        store, codec, NODE_GROUP, NodeGroupWire(), stream=subjects.STREAM, source=SOURCE, now=clock.now, fence=fence
    )
    pools = CommandHandler(
        store, codec, POOL, PoolWire(), stream=subjects.STREAM, source=SOURCE, now=clock.now, fence=fence
    )
    for handler, kind in ((nodes, subjects.NODE), (groups, subjects.NODE_GROUP), (pools, subjects.POOL)):
        await handler.load([event_filter(subjects.STREAM, cluster, kind) for cluster in settings.clusters])
    world = World()
    model = ObservedModel(world, settings.clusters)
    projector = Projector(store, codec, model, name="inventory-observed", stream="observed", now=clock.now)
    settling = Settling(model, world, Settler(world, nodes, groups, pools), projector)
    servicer = InventoryServicer(
        queries=Queries(world, groups),
        nodes=nodes,
        groups=groups,
        pools=pools,
        settling=settling,
        store=store,
        codec=codec,
        clusters=settings.clusters,
        query_wait=settings.query_wait,
    )
    server = await listen(
        settings.grpc_listen,
        [Served(NAME, lambda server: rpc.add_InventoryServiceServicer_to_server(servicer, server))],
        tls=settings_tls(settings),
    )
    address = AddressFile(settings.state_dir, SERVICE)

    async def readiness() -> None:
        """Serving from the moment at which everything that is stored has been decided."""
        await settling.wait_ready()
        await address.write(server.address)
        await server.health.serving()
        await asyncio.Event().wait()

    runtime.supervise("observed", projector.run)
    runtime.supervise("settling", settling.run)
    runtime.supervise("readiness", readiness)
    runtime.on_stop(lambda: server.stop(settings.stop_grace))
    runtime.on_stop(address.remove)
    return Built(server.address, server.health)


def codec_of_events() -> Codec:
    """Every message type that the inventory reads or writes."""
    return Codec.of_modules(inventory_pb2, observed_pb2)


def replay(messages: Iterable[StoredMessage], cluster: ClusterId) -> bytes:
    """The canonical state of the inventory after recorded messages, in stream order; those of other streams are passed
    over, nothing is sent. Raises PermanentError for a message of the stream `inventory` that cannot be read."""
    return fold(_batches(messages), cluster)


def _batches(messages: Iterable[StoredMessage]) -> Iterator[RecordedBatch]:
    codec = Codec.of_modules(inventory_pb2)
    nodes, groups, pools = NodeWire(), NodeGroupWire(), PoolWire()
    for message in messages:
        subject = parse_event(message.subject)
        if isinstance(subject, InvalidSubject) or subject.context != subjects.STREAM:
            continue
        decoded = codec.decode(message.headers, message.data)
        if not isinstance(decoded, Decoded):
            raise PermanentError("UNDECODABLE", f"stream {message.stream!r}, sequence {message.sequence}: {decoded}")
        events = decoded.batch.events
        match subject.kind:
            case subjects.NODE:
                yield NodeBatch(message.subject, tuple(map(nodes.from_wire, events)))
            case subjects.NODE_GROUP:
                yield NodeGroupBatch(message.subject, tuple(map(groups.from_wire, events)))
            case subjects.POOL:
                yield PoolBatch(message.subject, tuple(map(pools.from_wire, events)))
            case _:
                raise PermanentError("UNKNOWN_KIND", f"{message.subject}: no aggregate of this service")
