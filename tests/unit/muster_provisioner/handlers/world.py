"""A provisioner process that can be crashed at every step, on a store, a clock and a cloud that outlive it."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from muster.events.inventory.v1 import inventory_pb2
from muster.events.provisioning.v1 import provisioning_pb2
from muster_eventstore import Batch, Cause, Codec, CommandHandler, MemoryServer, MemoryStore, Projector
from muster_eventstore.memory import Step as StoreStep
from muster_eventstore.memory import no_fault
from muster_kube import object_key
from muster_provisioner.adapters.drivers import DriversByType
from muster_provisioner.adapters.simulated.driver import SimulatedCloud
from muster_provisioner.adapters.simulated.state_file import StateFile
from muster_provisioner.domain.group import Instance
from muster_provisioner.domain.messages import CancelOrder, Event, InstanceId, OrderTerms
from muster_provisioner.domain.order import ORDER, Order
from muster_provisioner.domain.steps import Traits
from muster_provisioner.handlers.group_runner import GroupRunner
from muster_provisioner.handlers.order_book import OrderBook
from muster_provisioner.handlers.order_desk import GroupKey, OrderDesk
from muster_provisioner.handlers.pace import Pace
from muster_provisioner.ports import (
    DeclaredGroup,
    DriverError,
    DriverErrorKind,
    GroupBounds,
    NodeGroupDriver,
    OrderTags,
    Unserved,
)
from muster_provisioner.wire.events import OrderWire
from muster_servicekit.clock import FakeClock
from muster_types import ClusterId, GangId, NodeGroupName, NodeName, ObjectKey, OrderId

CLUSTER = ClusterId("local")
GROUP = NodeGroupName("h100-r7")
GANG = GangId("train-1a2b3c")
BASE = 2

Fault = Callable[[str], Awaitable[None]]


class Crash(BaseException):
    """The process ends here."""


async def no_crash(_: str) -> None:
    """Nothing goes wrong."""


class CrashAt:
    """Ends the process at the n-th point that it passes; `passed` lists the points."""

    def __init__(self, nth: int) -> None:
        self._nth = nth
        self.passed: list[str] = []

    async def __call__(self, point: str) -> None:
        self.passed.append(point)
        if len(self.passed) == self._nth:
            raise Crash(point)


def a_manifest(**driver: object) -> dict[str, object]:
    """A simulated node group of one GPU per node, with these driver settings."""
    slices = [{"driver": "gpu.example.com", "pool": {"name": "p"}, "devices": [{"name": "gpu-0"}]}]
    return {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "NodeGroup",
        "metadata": {"name": GROUP},
        "spec": {
            "minSize": 0,
            "maxSize": 16,
            "currentSize": BASE,
            "driver": {"type": "simulated", "settleSeconds": 10, **driver},
            "template": {"status": {"allocatable": {"cpu": "8", "pods": "110"}}, "resourceSlices": slices},
        },
    }


def an_order(count: int = 3, name: str = "train-1a2b3c-a1-1", first_ordinal: int = 0) -> OrderTerms:
    return OrderTerms(OrderId(name), GANG, GROUP, count, first_ordinal)


class FakeObjects:
    """`ClusterObjects` in memory."""

    def __init__(self) -> None:
        self.by_key: dict[ObjectKey, Mapping[str, object]] = {}

    def put(self, obj: Mapping[str, object]) -> None:
        self.by_key[object_key(obj)] = obj

    def delete(self, key: ObjectKey) -> None:
        self.by_key.pop(key, None)

    def names(self, kind: str) -> list[str]:
        return sorted(key.name for key in self.by_key if key.kind == kind)


class FaultyDriver:
    """A driver in front of another that passes a point before and after every write."""

    def __init__(self, inner: NodeGroupDriver, fault: Fault) -> None:
        self._inner = inner
        self._fault = fault
        self.tells_orders = True
        self.away = False

    def traits(self, group: NodeGroupName) -> Traits:
        traits = self._inner.traits(group)
        return Traits(self.tells_orders, traits.settle, traits.order_limit)

    async def groups(self) -> tuple[GroupBounds, ...]:
        return await self._inner.groups()

    async def target_size(self, group: NodeGroupName) -> int:
        self._reach()
        return await self._inner.target_size(group)

    async def instances(self, group: NodeGroupName) -> tuple[Instance, ...]:
        self._reach()
        found = await self._inner.instances(group)
        return found if self.tells_orders else tuple(Instance(i.id, i.node, i.state, failure=i.failure) for i in found)

    async def increase(self, group: NodeGroupName, delta: int, tags: OrderTags) -> None:
        await self._fault("before increase")
        await self._inner.increase(group, delta, tags)
        await self._fault("after increase")

    async def delete(self, group: NodeGroupName, instances: Sequence[InstanceId]) -> None:
        await self._fault("before delete")
        await self._inner.delete(group, instances)
        await self._fault("after delete")

    async def decrease_target(self, group: NodeGroupName, by: int) -> None:
        await self._fault("before decrease")
        await self._inner.decrease_target(group, by)
        await self._fault("after decrease")

    async def wait_change(self, group: NodeGroupName) -> None:
        await self._inner.wait_change(group)

    def _reach(self) -> None:
        if self.away:
            raise DriverError(DriverErrorKind.TRANSIENT, "the provider does not answer")


@dataclass(frozen=True, slots=True)
class OneDriver:
    """`Drivers` with one driver in front of those of a cluster."""

    inner: DriversByType
    driver: FaultyDriver

    @property
    def groups(self) -> tuple[NodeGroupName, ...]:
        return self.inner.groups

    def declare(self, declared: DeclaredGroup) -> None:
        self.inner.declare(declared)

    def withdraw(self, group: NodeGroupName) -> None:
        self.inner.withdraw(group)

    def of(self, group: NodeGroupName) -> NodeGroupDriver | Unserved | None:
        found = self.inner.of(group)
        return found if found is None or isinstance(found, Unserved) else self.driver

    def type_of(self, group: NodeGroupName) -> str:
        return self.inner.type_of(group)

    def keeper_of(self, group: NodeGroupName) -> NodeGroupDriver | None:
        return None if self.inner.keeper_of(group) is None else self.driver


@dataclass(slots=True)
class Process:
    """One life of the provisioner."""

    runner: GroupRunner
    desk: OrderDesk
    cloud: SimulatedCloud
    driver: FaultyDriver
    drivers: OneDriver
    book: OrderBook
    store: MemoryStore


@dataclass(slots=True)
class World:
    """What outlives a process."""

    path: Path
    clock: FakeClock = field(default_factory=FakeClock)
    objects: FakeObjects = field(default_factory=FakeObjects)
    manifest: dict[str, object] = field(default_factory=a_manifest)
    tells_orders: bool = True
    server: MemoryServer = field(init=False)

    def __post_init__(self) -> None:
        self.server = MemoryServer(self.clock.now)

    async def boot(self, fault: Fault = no_crash, *, declared: bool = True) -> Process:
        """A process that knows everything stored before it."""

        async def strike(step: StoreStep, subject: str) -> None:
            await no_fault(step, subject)
            if step in (StoreStep.BEFORE_APPEND, StoreStep.AFTER_APPEND):
                await fault(step.value)

        store = MemoryStore(self.server, strike)
        codec = Codec.of_modules(provisioning_pb2, inventory_pb2)
        book = OrderBook(OrderWire().from_wire)
        projector = Projector(store, codec, book, name="orders", stream="provisioning", now=self.clock.now)
        reading = asyncio.create_task(projector.run())
        await projector.wait_ready()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        handler = CommandHandler(
            store, codec, ORDER, OrderWire(), stream="provisioning", source="/test", now=self.clock.now
        )
        desk = OrderDesk(handler, book.trail)
        await desk.load()
        cloud = SimulatedCloud(CLUSTER, 1, StateFile(self.path / "cloud.json"), self.objects, self.clock)
        driver = FaultyDriver(cloud, fault)
        driver.tells_orders = self.tells_orders
        drivers = OneDriver(DriversByType(cloud), driver)
        if declared:
            drivers.declare(DeclaredGroup(GROUP, "simulated", self.manifest))
        runner = GroupRunner(GroupKey(CLUSTER, GROUP), desk, drivers, self.clock, Pace())
        return Process(runner, desk, cloud, driver, drivers, book, store)

    async def pass_time(self, process: Process, seconds: float) -> None:
        """Let cloud and runner work for a while."""
        end = self.clock.now().timestamp() + seconds
        while True:
            moment = await process.cloud.tick()
            pause = await process.runner.run_once()
            now = self.clock.now().timestamp()
            moment = await process.cloud.tick()
            waits = [end - now]
            if pause is not None:
                waits.append(max(pause.total_seconds(), 0.01))
            if moment is not None:
                waits.append(max(moment - now, 0.01))
            if now >= end:
                return
            await self.clock.advance(min(waits))

    async def events(self) -> list[Event]:
        """Everything recorded, in order."""
        found: list[Event] = []
        codec = Codec.of_modules(provisioning_pb2)
        for message in self.server.stream("provisioning").log:
            assert message is not None
            batch = codec.decode_batch(message.data)
            assert isinstance(batch, Batch)
            found.extend(map(OrderWire().from_wire, batch.events))
        return found


def cause(name: str) -> Cause:
    """A command's own identity, the same for each delivery of it."""
    return Cause.first(name)


def a_cancel(world: World, terms: OrderTerms, *kept: NodeName) -> CancelOrder:
    return CancelOrder(terms.order, terms.gang, terms.group, frozenset(kept), world.clock.now())


def order_of(process: Process, terms: OrderTerms) -> Order:
    found = process.desk.get(CLUSTER, terms.order)
    assert found is not None
    return found


def kinds(events: Sequence[Event]) -> Counter[str]:
    return Counter(type(event).__name__ for event in events)
