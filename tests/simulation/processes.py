"""The five services as processes that can be ended at any await and begun again from the store."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from grpc import aio

from muster_claim_matcher import bootstrap as claim_matcher
from muster_claim_matcher.settings import Settings as ClaimMatcherSettings
from muster_cluster_watcher import bootstrap as cluster_watcher
from muster_cluster_watcher.adapters.directory import DirectorySource
from muster_cluster_watcher.settings import Settings as ClusterWatcherSettings
from muster_eventstore import Snapshot, TransientError
from muster_gang_coordinator import bootstrap as gang_coordinator
from muster_gang_coordinator.adapters.cluster_directory import DirectoryCluster
from muster_gang_coordinator.domain.requests import GangSpec
from muster_gang_coordinator.domain.status import RequestStatus
from muster_gang_coordinator.settings import Settings as GangCoordinatorSettings
from muster_inventory import bootstrap as inventory
from muster_inventory.settings import Settings as InventorySettings
from muster_kube import ClusterDirectory, Listing
from muster_provisioner import bootstrap as provisioner
from muster_provisioner.adapters.drivers import DriversByType
from muster_provisioner.adapters.simulated.driver import SimulatedCloud
from muster_provisioner.settings import Settings as ProvisionerSettings
from muster_servicekit.grpc import ErrorInterceptor, GrpcServer, Service, Tls
from muster_servicekit.health import Health
from muster_servicekit.runtime import Runtime
from muster_types import ClusterId, NodeName, ObjectKey
from simulation.cloud import RemoteDriver, RemoteDrivers
from simulation.cluster import MemoryCluster
from simulation.faults import Faults, Kind
from simulation.lanes import Lane
from simulation.loop import SimLoop
from simulation.record import EPOCH
from simulation.store import SimStore, WatchedServer

CLUSTER = ClusterId("local")
_PATIENCE = 10.0
NAMES = ("cluster-watcher", "inventory", "claim-matcher", "gang-coordinator", "provisioner")
Told = Callable[[str], None]


@dataclass(slots=True)
class SimClock:
    """Wall time of one machine: virtual time, and how far the machine's clock is off."""

    loop: SimLoop
    ahead: float = 0.0

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.loop.time() + self.ahead)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _NoHealth(Health):
    """Nobody asks."""

    def __init__(self) -> None:
        self._services = ()

    async def serving(self) -> None:
        return

    async def not_serving(self) -> None:
        return


class CallTable:
    """Stands for a gRPC server: keeps the handlers, so that a caller in the same process can call them."""

    def __init__(self) -> None:
        self.methods: dict[str, Callable[[Any, Any], Awaitable[Any]]] = {}

    def add_generic_rpc_handlers(self, handlers: Sequence[Any]) -> None:
        """What generated code calls to add a servicer."""
        for handler in handlers:
            for name, method in handler._method_handlers.items():
                self.methods[name.rsplit("/", 1)[1]] = method.unary_unary

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """The same, as newer generated code calls it."""
        self.methods.update({name: method.unary_unary for name, method in handlers.items()})

    async def stop(self, grace: float | None) -> None:
        """There is nothing to close."""


class MemorySnapshots:
    """Snapshots that outlive a process, or get lost."""

    def __init__(self, process: str, faults: Faults) -> None:
        self._process = process
        self._faults = faults
        self._kept: dict[str, Snapshot] = {}

    async def load(self, name: str) -> Snapshot | None:
        if self._faults.strikes(Kind.SNAPSHOT, self._faults.place(f"{self._process}:{name}")):
            self._kept.pop(name, None)
        return self._kept.get(name)

    async def save(self, name: str, snapshot: Snapshot) -> None:
        await asyncio.sleep(0)
        self._kept[name] = snapshot


class FaultyWrites:
    """`ClusterWrites` over the real adapter, with a line in front that fails."""

    def __init__(self, inner: DirectoryCluster, faults: Faults, strike: Callable[[str], Awaitable[None]]) -> None:
        self._inner = inner
        self._faults = faults
        self._strike = strike

    async def read(self, cluster: ClusterId, key: ObjectKey, uid: str) -> RequestStatus | None:
        await self._before(f"read status {key.name}")
        return await self._inner.read(cluster, key, uid)

    async def write(self, cluster: ClusterId, key: ObjectKey, uid: str, status: RequestStatus) -> bool:
        await self._before(f"write status {key.name}")
        written = await self._inner.write(cluster, key, uid, status)
        await self._after(f"write status {key.name}")
        return written

    async def publish(self, cluster: ClusterId, spec: GangSpec) -> None:
        await self._before(f"publish {spec.name}")
        await self._inner.publish(cluster, spec)
        await self._after(f"publish {spec.name}")

    async def lift(self, cluster: ClusterId, taint: str, nodes: tuple[NodeName, ...]) -> None:
        await self._before(f"lift {taint}")
        await self._inner.lift(cluster, taint, nodes)
        await self._after(f"lift {taint}")

    async def _before(self, what: str) -> None:
        await self._strike(f"before cluster {what}")
        self._fail(what)

    async def _after(self, what: str) -> None:
        await self._strike(f"after cluster {what}")
        self._fail(f"{what} after")

    def _fail(self, what: str) -> None:
        if self._faults.strikes(Kind.WRITE_FAILED, self._faults.place(f"cluster:{what}")):
            raise TransientError(f"{what}: the API server does not answer")


class WatchedDirectory(ClusterDirectory):
    """The cluster as the watcher follows it: each change is seen after a pause."""

    def __init__(self, cluster: MemoryCluster, pause: Callable[[], float]) -> None:
        super().__init__((), None)
        self._cluster = cluster
        self._pause = pause

    def list(self) -> Listing:
        return self._cluster.list()

    def changes(self, *, poll_seconds: float = 5.0) -> Any:
        return self._cluster.follow(self._pause)


@dataclass(slots=True)
class World:
    """What outlives every process."""

    loop: SimLoop
    server: WatchedServer
    cluster: MemoryCluster
    cloud: SimulatedCloud
    cloud_lane: Lane
    faults: Faults
    settings: "AllSettings"
    driver_told: Told
    note: Told


@dataclass(frozen=True, slots=True)
class AllSettings:
    """One for each service; short deadlines, so that little virtual time decides much."""

    inventory: InventorySettings
    claim_matcher: ClaimMatcherSettings
    gang_coordinator: GangCoordinatorSettings
    provisioner: ProvisionerSettings
    cluster_watcher: ClusterWatcherSettings

    @classmethod
    @lru_cache
    def short(cls, state: Path) -> "AllSettings":
        """Deadlines of a minute where a real cluster has many."""
        return cls._of(state, node_deadline=40, device_deadline=70, booking_seconds=60)

    @classmethod
    @lru_cache
    def generous(cls, state: Path) -> "AllSettings":
        """Deadlines that no fault of the system alone uses up."""
        return cls._of(state, node_deadline=900, device_deadline=900, booking_seconds=900)

    @classmethod
    def _of(cls, state: Path, **deadlines: Any) -> "AllSettings":
        shared: dict[str, Any] = {"state_dir": state, "clusters": (str(CLUSTER),), "query_wait": 3.0}
        return cls(
            InventorySettings(**shared),
            ClaimMatcherSettings(**shared),
            GangCoordinatorSettings(
                **shared,
                **deadlines,
                template_wait=20,
                request_lifetime=3000,
                retry_after=45,
                max_setbacks=4,
                patience=45,
                unready_grace=20,
                successor_hold=15,
            ),
            ProvisionerSettings(
                **shared,
                order_late_window=timedelta(seconds=60),
                order_late_poll=timedelta(seconds=5),
            ),
            ClusterWatcherSettings(**{k: v for k, v in shared.items() if k != "query_wait"}),
        )


@dataclass(eq=False, slots=True)
class Process:
    """One service. `lane` is its present life, None while it is down."""

    name: str
    world: World
    clock: SimClock
    snapshots: MemorySnapshots
    lane: Lane | None = None
    lives: int = 0
    runtime: Runtime | None = None
    methods: dict[str, Callable[[Any, Any], Awaitable[Any]]] = field(default_factory=dict[str, Any])
    exits: list[str] = field(default_factory=list[str])
    graveyard: list[Lane] = field(default_factory=list[Lane])
    held_down: bool = False

    @property
    def up(self) -> bool:
        """It runs, and is not being started."""
        return self.lane is not None and self.runtime is not None

    def boot(self) -> None:
        """Begin a life."""
        if self.lane is not None or self.held_down:
            return
        self.lives += 1
        self.lane = Lane(self.name, self.lives)
        self.world.loop.spawn(self.lane, self._live(self.lane))

    def crash(self, why: str, back_in: float) -> None:
        """End this life at once; the next one begins after a while."""
        lane = self.lane
        if lane is None:
            return
        self.world.note(f"{lane} crashes: {why}; back in {back_in:.1f} s")
        self.world.loop.kill(lane)
        self.graveyard.append(lane)
        self.lane, self.runtime, self.methods = None, None, {}
        self.world.loop.call_later(back_in, self.boot, context=self.world.loop.world.context.copy())

    def stop(self) -> None:
        """Ask for an orderly end; the next life begins when it has come."""
        if self.runtime is not None:
            self.world.note(f"{self.lane} is asked to stop")
            self.runtime.request_stop()

    async def call(self, method: str, request: object) -> Any:
        """A gRPC call to this process, without the wire."""
        handler = self.methods.get(method)
        if handler is None or self.lane is None:
            raise TransientError(f"{self.name} does not serve")
        return await asyncio.shield(self.world.loop.spawn(self.lane, cast("Any", handler(request, None))))

    async def strike(self, point: str) -> None:
        """A step of this process: it takes a moment, and may be the last."""
        faults, lane = self.world.faults, self.lane
        place = faults.place(f"{self.name}:{point}")
        pause = faults.chance.around(0.002, f"pause|{place}")
        if faults.strikes(Kind.SLOW, place):
            pause += faults.chance.around(1.5, f"slow|{place}")
        if faults.strikes(Kind.CRASH, place):
            self.crash(point, faults.chance.around(2.0, f"back|{place}"))
        elif faults.strikes(Kind.STOP, place):
            self.stop()
        if lane is None or lane.dead:
            await self.world.loop.create_future()  # nothing follows
        await asyncio.sleep(pause)

    async def _live(self, lane: Lane) -> None:
        runtime = Runtime(self.name, grace=2.0)
        store = SimStore(self.world.server, self.name, self.world.faults, self.strike, patience=_PATIENCE)
        try:
            await self._assemble(runtime, store)
        except TransientError as error:
            self._ended(lane, f"cannot start: {error}")
            return
        except Exception as error:  # noqa: BLE001 -- a process that fails at its start has a bug, whatever it is
            self.exits.append(f"cannot start by a bug: {type(error).__name__}: {error}")
            self._ended(lane, str(error))
            return
        self.runtime = runtime
        await runtime.run()
        if runtime.failure is not None:
            self.exits.append(runtime.failure)
        self._ended(lane, runtime.failure or "stopped")

    def _ended(self, lane: Lane, why: str) -> None:
        self.world.note(f"{lane} has ended: {why}")
        self.world.loop.kill(lane)  # with the process goes whatever it had left running
        self.graveyard.append(lane)
        self.lane, self.runtime, self.methods = None, None, {}
        self.world.loop.call_later(0.5, self.boot, context=self.world.loop.world.context.copy())

    async def _listen(self, listen: str, services: Sequence[Service], *, tls: Tls | None = None) -> GrpcServer:
        table = CallTable()
        for service in services:
            service.add(cast("aio.Server", table))
        self.methods = table.methods
        return GrpcServer(cast("aio.Server", table), _NoHealth(), "simulated:0", ErrorInterceptor())

    async def _assemble(self, runtime: Runtime, store: SimStore) -> None:
        world, settings = self.world, self.world.settings
        match self.name:
            case "inventory":
                await inventory.assemble(runtime, settings.inventory, store, self.clock, listen=self._listen)
            case "claim-matcher":
                await claim_matcher.assemble(
                    runtime,
                    settings.claim_matcher,
                    store,
                    self.clock,
                    snapshots=self.snapshots,
                    listen=self._listen,
                )
            case "gang-coordinator":
                writes = FaultyWrites(DirectoryCluster({CLUSTER: world.cluster}), world.faults, self.strike)
                await gang_coordinator.assemble(
                    runtime, settings.gang_coordinator, store, self.clock, writes=writes, listen=self._listen
                )
            case "provisioner":
                line = RemoteDriver(world.cloud, world.cloud_lane, world.faults, self.strike, world.driver_told)
                await provisioner.assemble(
                    runtime,
                    settings.provisioner,
                    store,
                    self.clock,
                    drivers={CLUSTER: RemoteDrivers(DriversByType(world.cloud), line)},
                    snapshots=self.snapshots,
                    listen=self._listen,
                )
            case _:
                await self._assemble_watcher(runtime, store)

    async def _assemble_watcher(self, runtime: Runtime, store: SimStore) -> None:
        faults = self.world.faults

        def pause() -> float:
            place = faults.place("watch")
            late = faults.chance.around(3.0, f"late|{place}") if faults.strikes(Kind.SLOW, place) else 0.0
            return late + faults.chance.around(0.05, place)

        directory = WatchedDirectory(self.world.cluster, pause)
        source = DirectorySource(directory, poll_seconds=5.0, fact_bytes=900_000)
        await cluster_watcher.assemble(
            runtime,
            self.world.settings.cluster_watcher,
            store,
            self.clock,
            sources={CLUSTER: source},
            listen=self._listen,
        )
