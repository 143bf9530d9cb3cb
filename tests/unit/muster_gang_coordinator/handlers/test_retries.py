"""Waiting gangs try again: after a helpful change, in a fair order, and not for ever in a circle."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from muster.events.gangs.v1 import gangs_pb2
from muster_eventstore import Cause, Codec, CommandHandler, MemoryServer, MemoryStore, Projector, event_filter
from muster_gang_coordinator.domain.commands import RecordNoPlan, RequestGang
from muster_gang_coordinator.domain.events import Event, PlanningStarted
from muster_gang_coordinator.domain.gang import gang_decider
from muster_gang_coordinator.domain.plans import NoPlanKind
from muster_gang_coordinator.entrypoints.feeds import GangsModel
from muster_gang_coordinator.handlers.desk import Desk
from muster_gang_coordinator.handlers.projections import GangsView, Step
from muster_gang_coordinator.handlers.retries import RetryRounds
from muster_gang_coordinator.handlers.turns import Turns
from muster_gang_coordinator.wire.events import GangWire
from muster_servicekit.clock import SystemClock
from muster_types import ClusterId, GangId
from support.nats_server import wait_until
from unit.muster_gang_coordinator.builders import POLICY, a_spec, why

LOCAL = ClusterId("local")


@dataclass
class Bench:
    """Gangs in a store in memory, read back by their projector."""

    desk: Desk
    gangs: GangsView
    rounds: RetryRounds
    projector: Projector
    planned: list[str] = field(default_factory=list)

    async def request(self, name: str, priority: int = 0) -> None:
        gang = GangId(name)
        command = RequestGang(gang, a_spec(uid=name, priority=priority), name, SystemClock().now())
        await self.desk.tell(LOCAL, gang, command, Cause.first(f"request-{name}"))

    async def refuse(self, name: str, attempt: int) -> None:
        command = RecordNoPlan(attempt, NoPlanKind.NOT_NOW, (why(),), SystemClock().now())
        await self.desk.tell(LOCAL, GangId(name), command, Cause.first(f"refuse-{name}-{attempt}"))

    async def level(self) -> None:
        assert await self.projector.wait_for(self.desk.position, 5)


@asynccontextmanager
async def a_bench() -> AsyncGenerator[Bench]:
    clock = SystemClock()
    store = MemoryStore(MemoryServer(clock.now))
    codec = Codec.of_modules(gangs_pb2)
    decider = gang_decider(POLICY)
    desk = Desk(CommandHandler(store, codec, decider, GangWire(), stream="gangs", source="/test", now=clock.now))
    gangs = GangsView()
    rounds = RetryRounds(desk, Turns(desk, gangs, POLICY, clock.now), ("local",), clock, settle_seconds=0.01)
    planned: list[str] = []

    def note(step: Step) -> None:
        event: Event = step.event
        if isinstance(event, PlanningStarted) and event.attempt > 1:
            planned.append(step.entry.gang_id)

    model = GangsModel(gangs, (rounds.saw, note))
    projector = Projector(
        store, codec, model, name="test", stream="gangs", subjects=[event_filter("gangs")], now=clock.now
    )
    tasks = [asyncio.create_task(projector.run()), asyncio.create_task(rounds.run())]
    try:
        await projector.wait_ready()
        await wait_until(lambda: not rounds.pending, "the round of the start")
        yield Bench(desk, gangs, rounds, projector, planned)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_change_lets_all_waiting_gangs_try_again_in_their_order() -> None:
    async with a_bench() as bench:
        await bench.request("first")
        await bench.request("second")
        await bench.request("urgent", priority=9)
        for name in ("first", "second", "urgent"):
            await bench.refuse(name, 1)
        await bench.level()
        bench.rounds.changed(LOCAL, "node n1 is ready")
        bench.rounds.changed(LOCAL, "node n2 is ready")
        await wait_until(lambda: len(bench.planned) == 3, "three retries")
        assert bench.planned == ["urgent", "first", "second"]


async def test_without_a_change_nobody_tries_again() -> None:
    async with a_bench() as bench:
        await bench.request("first")
        await bench.refuse("first", 1)
        await bench.level()
        await bench.request("second")
        await bench.refuse("second", 1)
        await bench.level()
        bench.rounds.changed(LOCAL, "node n1 is ready")
        await wait_until(lambda: len(bench.planned) == 2, "two retries")
        for name in ("first", "second"):
            await bench.refuse(name, 2)
        await bench.level()
        await bench.request("third")
        await bench.level()
        assert bench.planned == ["first", "second"]


async def test_a_change_while_a_gang_is_planned_is_not_lost_on_it() -> None:
    async with a_bench() as bench:
        await bench.request("first")
        await bench.level()
        bench.rounds.changed(LOCAL, "gang other was released")
        await wait_until(lambda: not bench.rounds.pending, "the round for the change")
        await bench.refuse("first", 1)
        await wait_until(lambda: bench.planned == ["first"], "the retry")
