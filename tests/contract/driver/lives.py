"""A provisioner that can be crashed at every step and write, on a provider behind a socket that outlives it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from muster.events.inventory.v1 import inventory_pb2
from muster.events.provisioning.v1 import provisioning_pb2
from muster_eventstore import Cause, Codec, CommandHandler, MemoryServer, MemoryStore, Projector
from muster_eventstore.memory import Step as StoreStep
from muster_provisioner.domain.messages import CancelOrder, OrderTerms
from muster_provisioner.domain.order import ORDER, Order
from muster_provisioner.handlers.group_runner import GroupRunner
from muster_provisioner.handlers.order_book import OrderBook
from muster_provisioner.handlers.order_desk import GroupKey, OrderDesk
from muster_provisioner.handlers.pace import Pace
from muster_provisioner.ports import DeclaredGroup, NodeGroupDriver
from muster_provisioner.wire.events import OrderWire
from muster_servicekit.clock import FakeClock
from muster_types import ClusterId, GangId, NodeGroupName, NodeName, OrderId

CLUSTER = ClusterId("local")
GANG = GangId("train-1a2b3c")
_PACE = Pace(poll=timedelta(seconds=5))
Fault = Callable[[str], Awaitable[None]]


class Crash(BaseException):
    """The process ends here."""


class CrashAt:
    """Ends the process at the n-th point that it passes, for good: whatever it still tries fails too."""

    def __init__(self, nth: int = 0) -> None:
        self._nth = nth
        self.passed: list[str] = []

    async def __call__(self, point: str) -> None:
        self.passed.append(point)
        if self._nth and len(self.passed) >= self._nth:
            raise Crash(point)


class Provider(Protocol):
    """What outlives a process, with one group in which two nodes exist already."""

    @property
    def group(self) -> NodeGroupName: ...

    @property
    def clock(self) -> FakeClock: ...

    def connected(self, fault: Fault) -> AbstractAsyncContextManager[NodeGroupDriver]:
        """A new process's driver; it passes points of `fault` before and after each write that it sends."""
        ...

    async def work(self, driver: NodeGroupDriver) -> None:
        """Everything happens that is due."""
        ...

    async def made(self) -> int:
        """Machines that were ever made for orders."""
        ...

    async def left(self) -> int:
        """Machines that exist beside the two from before."""
        ...


@dataclass(slots=True)
class OnlyDriver:
    """`Drivers` with one."""

    group: NodeGroupName
    driver: NodeGroupDriver

    @property
    def groups(self) -> tuple[NodeGroupName, ...]:
        return (self.group,)

    def declare(self, declared: DeclaredGroup) -> None:
        raise AssertionError("the group is declared already")

    def withdraw(self, group: NodeGroupName) -> None:
        raise AssertionError("nobody withdraws it")

    def of(self, group: NodeGroupName) -> NodeGroupDriver:
        return self.driver

    def type_of(self, group: NodeGroupName) -> str:
        return "tested"

    def keeper_of(self, group: NodeGroupName) -> NodeGroupDriver:
        return self.driver


@dataclass(slots=True)
class Life:
    """One process, until it ends."""

    provider: Provider
    driver: NodeGroupDriver
    desk: OrderDesk
    runner: GroupRunner

    def order(self, terms: OrderTerms) -> Order:
        found = self.desk.get(CLUSTER, terms.order)
        assert found is not None
        return found

    async def place(self, terms: OrderTerms, seconds: float = 60) -> None:
        """The command is delivered, and time passes."""
        await self.runner.place(terms, Cause.first(f"place-{terms.order}"))
        await self.pass_time(seconds)

    async def cancel(self, terms: OrderTerms, *kept: NodeName, seconds: float = 60) -> None:
        """The command is delivered, and time passes."""
        now = self.provider.clock.now()
        command = CancelOrder(terms.order, terms.gang, terms.group, frozenset(kept), now)
        await self.runner.cancel(command, Cause.first(f"cancel-{terms.order}-{len(kept)}"))
        await self.pass_time(seconds)

    async def pass_time(self, seconds: float) -> None:
        """Runner and provider work for so long."""
        clock = self.provider.clock
        end = clock.now().timestamp() + seconds
        while True:
            await self.provider.work(self.driver)
            pause = await self.runner.run_once()
            await self.provider.work(self.driver)
            now = clock.now().timestamp()
            if now >= end:
                return
            least = seconds if pause is None else max(pause.total_seconds(), 1.0)
            await clock.advance(min(end - now, least))


@dataclass(slots=True)
class World:
    """The event store and the provider."""

    provider: Provider
    server: MemoryServer = field(init=False)

    def __post_init__(self) -> None:
        self.server = MemoryServer(self.provider.clock.now)

    @asynccontextmanager
    async def life(self, fault: Fault) -> AsyncGenerator[Life]:
        """A process that knows everything stored before it."""

        async def strike(step: StoreStep, subject: str) -> None:
            if step in (StoreStep.BEFORE_APPEND, StoreStep.AFTER_APPEND):
                await fault(f"{step.value} {subject}")

        store, now = MemoryStore(self.server, strike), self.provider.clock.now
        codec = Codec.of_modules(provisioning_pb2, inventory_pb2)
        book = OrderBook(OrderWire().from_wire)
        projector = Projector(store, codec, book, name="orders", stream="provisioning", now=now)
        reading = asyncio.create_task(projector.run())
        await projector.wait_ready()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        handler = CommandHandler(store, codec, ORDER, OrderWire(), stream="provisioning", source="/test", now=now)
        desk = OrderDesk(handler, book.trail)
        await desk.load()
        async with self.provider.connected(fault) as driver:
            key, drivers = GroupKey(CLUSTER, self.provider.group), OnlyDriver(self.provider.group, driver)
            yield Life(self.provider, driver, desk, GroupRunner(key, desk, drivers, self.provider.clock, _PACE))


Deliver = Callable[[Life], Awaitable[None]]


async def tell(world: World, deliveries: Sequence[Deliver], fault: CrashAt) -> None:
    """Deliver each command until it was handled; after the crash a new process goes on without faults."""
    faults = iter((fault, CrashAt()))
    current: Fault = next(faults)
    rest = list(deliveries)
    while rest:
        try:
            async with world.life(current) as life:
                while rest:
                    await rest[0](life)
                    rest.pop(0)
        except Crash:
            current = next(faults)


def terms_of(group: NodeGroupName, count: int = 3, name: str = f"{GANG}-a1-1", first: int = 0) -> OrderTerms:
    return OrderTerms(OrderId(name), GANG, group, count, first)
