"""Own events -> commands and timers, with ids that derive from the event."""

import asyncio
from datetime import timedelta

from contract.eventstore.tally import CODEC, LEDGER, Release, Released, TallyWire, a_handler
from muster.commands.claims.v1 import claims_pb2
from muster_eventstore import (
    CancelWake,
    Cause,
    CommandSubject,
    ConsumerSpec,
    Happened,
    MemoryServer,
    MemoryStore,
    Outgoing,
    Reactor,
    SendCommand,
    TimerSubject,
    WakeAt,
    event_filter,
)
from support.nats_server import now, wait_until

TIMER = TimerSubject("claims", "c1", "Wake", "g")


def react(happened: Happened[Released]) -> list[Outgoing]:
    gang = happened.event.gang
    message = claims_pb2.ReleaseGang(gang_id=gang)
    match gang:
        case "wake":
            return [WakeAt(TIMER, now() + timedelta(hours=1), message)]
        case "calm":
            return [CancelWake(TIMER)]
        case _:
            return [SendCommand(CommandSubject("claims", "c1", kind, gang), message) for kind in ("One", "Two")]


def a_reactor(server: MemoryServer) -> Reactor[Released]:
    spec = ConsumerSpec("claims", "reactor", (event_filter("claims"),))
    return Reactor(MemoryStore(server), CODEC, TallyWire().from_wire, react, spec, source="/test", now=now)


async def run_until_idle(server: MemoryServer, events: int) -> None:
    reactor = a_reactor(server)
    task = asyncio.create_task(reactor.run())
    consumer = server.stream("claims").consumers

    def done() -> bool:
        return "reactor" in consumer and consumer["reactor"].cursor > events and not consumer["reactor"].pending

    await wait_until(done, "every event is acknowledged")
    await reactor.stop()
    await task


async def test_each_event_sends_its_commands_in_order_and_in_its_story() -> None:
    server = MemoryServer(now)
    await a_handler(MemoryStore(server), now).handle(LEDGER, Release("a"), Cause.first("request"))
    await run_until_idle(server, 1)
    one, two = server.stream("commands").behind(0, ())
    assert [one.subject, two.subject] == ["muster.commands.claims.c1.One.a", "muster.commands.claims.c1.Two.a"]
    assert one.headers["ce-id"] != two.headers["ce-id"]
    assert one.headers["muster-correlation-id"] == "request"
    assert one.headers["ce-type"] == "muster.commands.claims.v1.ReleaseGang"


async def test_an_event_that_is_seen_again_sends_nothing_new() -> None:
    server = MemoryServer(now)
    await a_handler(MemoryStore(server), now).handle(LEDGER, Release("a"), Cause.first("request"))
    await run_until_idle(server, 1)
    del server.stream("claims").consumers["reactor"]  # as if nothing had been acknowledged
    await run_until_idle(server, 1)
    assert len(list(server.stream("commands").behind(0, ()))) == 2


async def test_timers_are_scheduled_and_cancelled() -> None:
    server = MemoryServer(now)
    handler = a_handler(MemoryStore(server), now)
    await handler.handle(LEDGER, Release("wake"), Cause.first("1"))
    await run_until_idle(server, 1)
    (scheduled,) = server.stream("timers").behind(0, ())
    assert scheduled.subject == TIMER.scheduled
    assert scheduled.headers["Nats-Schedule-Target"] == TIMER.fired
    await handler.handle(LEDGER, Release("calm"), Cause.first("2"))
    await run_until_idle(server, 2)
    assert list(server.stream("timers").behind(0, ())) == []
