"""Wiring of the provisioner: the only place that chooses adapters."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from nats.aio.client import Client

from clusterautoscaler.cloudprovider.v1.externalgrpc import externalgrpc_pb2_grpc as cloud_rpc
from muster.api.provisioner.v1 import provisioner_service_pb2_grpc as rpc
from muster.commands.provisioning.v1 import provisioning_pb2 as commands_pb2
from muster.events.inventory.v1 import inventory_pb2
from muster.events.provisioning.v1 import provisioning_pb2
from muster_eventstore import (
    Codec,
    CommandHandler,
    Decoded,
    EventStore,
    FileSnapshots,
    JetStreamStore,
    PermanentError,
    Projector,
    SnapshotStore,
    StoredMessage,
    connect,
    event_filter,
)
from muster_provisioner.adapters.cluster_drivers import open_drivers
from muster_provisioner.adapters.served_cloud.opened import CloudOptions, open_cloud
from muster_provisioner.domain.messages import Command, Event
from muster_provisioner.domain.order import ORDER, Order, OrderState, Stage
from muster_provisioner.entrypoints.consumers import order_worker
from muster_provisioner.entrypoints.grpc import NAME, ProvisionerServicer
from muster_provisioner.entrypoints.simcloud import NAME as CLOUD_PROVIDER
from muster_provisioner.entrypoints.simcloud import SimcloudServicer
from muster_provisioner.handlers.declared_groups import DeclaredGroups
from muster_provisioner.handlers.node_marks import NodeMarks
from muster_provisioner.handlers.order_book import OrderBook
from muster_provisioner.handlers.order_book import replay as fold
from muster_provisioner.handlers.order_desk import OrderDesk
from muster_provisioner.handlers.pace import Pace
from muster_provisioner.handlers.queries import Queries
from muster_provisioner.handlers.runners import Runners
from muster_provisioner.handlers.subjects import SOURCE, STREAM, cluster_of
from muster_provisioner.ports import Drivers, NodeMarker
from muster_provisioner.settings import Settings
from muster_provisioner.wire.events import OrderWire
from muster_provisioner.wire.inventory import from_inventory
from muster_servicekit.address_file import AddressFile
from muster_servicekit.clock import Clock, SystemClock
from muster_servicekit.grpc import Listen, Tls, settings_tls, start_server
from muster_servicekit.grpc import Service as Served
from muster_servicekit.health import Health
from muster_servicekit.leadership import ALONE, Leadership, take_leases
from muster_servicekit.runtime import Runtime
from muster_types import ClusterId

SERVICE = "provisioner"
SIMCLOUD = "simcloud"
_NO_MARKERS: Mapping[ClusterId, NodeMarker] = {}
_GRACE = 2.0  # seconds for running calls of the served cloud at a stop


@dataclass(frozen=True, slots=True)
class Built:
    """A service that is wired; it works while its runtime runs. `grpc_address` is host:port."""

    grpc_address: str
    health: Health


async def build(
    runtime: Runtime, settings: Settings, *, nats: Client | None = None, clock: Clock | None = None
) -> Built:
    """Connect (unless a connection is given), listen, and register everything on `runtime`."""
    leadership, clock = ALONE, clock or SystemClock()
    if nats is None:
        nats = await connect(settings.nats, SERVICE)
        runtime.stack.push_async_callback(nats.close)
        leadership = await take_leases(runtime, settings, JetStreamStore(nats), clock, SERVICE)
    opened = {
        cluster: await open_drivers(runtime, settings, cluster, clock) for cluster in map(ClusterId, settings.clusters)
    }
    return await assemble(
        runtime,
        settings,
        JetStreamStore(nats),
        clock,
        drivers={cluster: each.drivers for cluster, each in opened.items()},
        markers={cluster: each.marker for cluster, each in opened.items()},
        snapshots=await _snapshots(settings, runtime),
        leadership=leadership,
    )


async def assemble(
    runtime: Runtime,
    settings: Settings,
    store: EventStore,
    clock: Clock,
    *,
    drivers: Mapping[ClusterId, Drivers],
    snapshots: SnapshotStore,
    markers: Mapping[ClusterId, NodeMarker] = _NO_MARKERS,
    listen: Listen = start_server,
    leadership: Leadership = ALONE,
) -> Built:
    """The service on any store, clock and drivers; `markers` for clusters with drivers that cannot tag nodes."""
    codec = codec_of_events()
    book = OrderBook(OrderWire().from_wire)
    orders = Projector(
        store,
        codec,
        book,
        name="provisioner-orders",
        stream=STREAM,
        now=clock.now,
        snapshots=snapshots,
    )
    handler = CommandHandler(
        store, codec, ORDER, OrderWire(), stream=STREAM, source=SOURCE, now=clock.now, fence=leadership.fence
    )
    desk = OrderDesk(handler, book.trail)
    runners = Runners(desk, drivers, clock, _pace(settings))
    groups = Projector(
        store,
        codec,
        DeclaredGroups(from_inventory, drivers, runners.wake),
        name="provisioner-groups",
        stream="inventory",
        subjects=[event_filter("inventory", cluster, "nodegroup") for cluster in settings.clusters],
        now=clock.now,
    )
    marks = NodeMarks(OrderWire().from_wire, markers, drivers, clock)
    launches = Projector(store, codec, marks, name="provisioner-marks", stream=STREAM, now=clock.now)
    ready = Readiness(orders, groups, desk, leadership, handler)
    worker = order_worker(store, codec, runners, clock)

    async def work() -> None:
        await ready.wait()
        await worker.run()

    servicer = ProvisionerServicer(Queries(book, drivers), orders, settings.clusters, settings.query_wait)
    server = await listen(
        settings.grpc_listen,
        [Served(NAME, lambda server: rpc.add_ProvisionerServiceServicer_to_server(servicer, server))],
        tls=settings_tls(settings),
    )
    address = AddressFile(settings.state_dir, SERVICE)

    async def bring_to_end() -> None:
        await ready.wait()
        await server.health.serving()
        await runners.run()

    runtime.supervise("orders", orders.run)
    if markers:
        runtime.supervise("launches", launches.run)
        runtime.supervise("marks", marks.run)
    runtime.supervise("node-groups", groups.run)
    runtime.supervise("runners", bring_to_end)
    runtime.supervise("commands", work, stop=worker.stop)
    runtime.on_ready(lambda: address.write(server.address))
    runtime.on_stop(lambda: server.stop(settings.stop_grace))
    runtime.on_stop(address.remove)
    return Built(server.address, server.health)


async def build_simcloud(
    runtime: Runtime, options: CloudOptions, listen: str, *, tls: Tls | None = None, clock: Clock | None = None
) -> Built:
    """The simulated cloud alone, served to clients of the Cluster Autoscaler's cloud provider protocol."""
    cloud, catalogue = await open_cloud(runtime, options, clock or SystemClock())
    servicer = SimcloudServicer(cloud, catalogue, options.cluster)
    served = Served(CLOUD_PROVIDER, lambda server: cloud_rpc.add_CloudProviderServicer_to_server(servicer, server))
    server = await start_server(listen, [served], tls=tls)
    address = AddressFile(options.state, SIMCLOUD)
    runtime.supervise("cloud", cloud.run)
    runtime.on_ready(lambda: address.write(server.address))
    runtime.on_ready(server.health.serving)
    runtime.on_stop(lambda: server.stop(_GRACE))
    runtime.on_stop(address.remove)
    return Built(server.address, server.health)


class Readiness:
    """Orders move only once everything stored before this process is known: trails, node groups, aggregates."""

    def __init__(
        self,
        orders: Projector,
        groups: Projector,
        desk: OrderDesk,
        leadership: Leadership,
        handler: CommandHandler[Command, OrderState, Event],
    ) -> None:
        self._leadership = leadership
        self._handler = handler
        self._orders = orders
        self._groups = groups
        self._desk = desk
        self._lock = asyncio.Lock()
        self._loaded = False

    async def wait(self) -> None:
        """Until that is so."""
        await self._orders.wait_ready()
        await self._groups.wait_ready()
        async with self._lock:
            if not self._loaded:
                await self._desk.load()
                await self._leadership.begin(self._handler, self._desk.load, _is_open)
                self._loaded = True


def _is_open(state: OrderState) -> bool:
    return isinstance(state, Order) and state.stage in (Stage.INTENDED, Stage.ACKNOWLEDGED, Stage.CANCELLING)


def codec_of_events() -> Codec:
    """Every message type that the provisioner reads or writes."""
    return Codec.of_modules(provisioning_pb2, inventory_pb2, commands_pb2)


def replay(messages: Iterable[StoredMessage], cluster: ClusterId) -> bytes:
    """The canonical state of a cluster's orders after recorded messages, in stream order; those of other streams are
    passed over, nothing is sent. Raises PermanentError for a message of `provisioning` that cannot be read."""
    return fold(_batches(messages, cluster))


def _batches(messages: Iterable[StoredMessage], cluster: ClusterId) -> Iterator[tuple[Event, ...]]:
    codec, wire = Codec.of_modules(provisioning_pb2), OrderWire()
    for message in messages:
        if message.stream != STREAM or cluster_of(message.subject) != cluster:
            continue
        decoded = codec.decode(message.headers, message.data)
        if not isinstance(decoded, Decoded):
            raise PermanentError("UNDECODABLE", f"stream {message.stream!r}, sequence {message.sequence}: {decoded}")
        yield tuple(map(wire.from_wire, decoded.batch.events))


async def _snapshots(settings: Settings, runtime: Runtime) -> SnapshotStore:
    if settings.redis_url is None:
        return FileSnapshots(settings.state_dir / "snapshots")
    from redis.asyncio import Redis

    from muster_eventstore.redis_snapshots import RedisSnapshots

    redis = Redis.from_url(settings.redis_url)
    runtime.stack.push_async_callback(redis.aclose)
    return RedisSnapshots(redis)


def _pace(settings: Settings) -> Pace:
    return Pace(
        poll=settings.order_poll,
        late_poll=settings.order_late_poll,
        late_window=settings.order_late_window,
        declaration_wait=settings.order_declaration_wait,
    )
