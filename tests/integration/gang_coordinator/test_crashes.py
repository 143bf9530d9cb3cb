"""A crash between any two steps ends in the same end state; garbage is parked; replaying sends nothing."""

from contextlib import aclosing
from pathlib import Path

import pytest

from integration.gang_coordinator.running import (
    Coordinator,
    World,
    a_plan,
    a_pod,
    a_world,
    conditions,
    running_coordinator,
    start_coordinator,
)
from muster.api.capacity.v1 import capacity_service_pb2 as pb
from muster.commands.claims.v1 import claims_pb2 as claim_commands
from muster.commands.gangs.v1 import gangs_pb2 as gang_commands
from muster.commands.provisioning.v1 import provisioning_pb2 as order_commands
from muster.type.v1.gang_pb2 import GANG_STATE_CONSUMED, GANG_STATE_READY
from muster_eventstore import (
    Cause,
    CommandSubject,
    EventMeta,
    JetStreamStore,
    SendCommand,
    StoredMessage,
    command_subject,
    event_subject,
    list_parked,
    publish_command,
)
from muster_gang_coordinator.bootstrap import replay
from muster_types import ClusterId
from support.nats_server import now, wait_until

STEPS = ("requested", "booked", "filled", "arrived", "confirmed", "ready", "half bound")


class Crashing:
    """A coordinator that is killed and built anew at chosen steps."""

    def __init__(self, url: str, state_dir: Path, at: frozenset[str]) -> None:
        self.url = url
        self.state_dir = state_dir
        self.at = at

    async def start(self) -> None:
        self.coordinator: Coordinator = await start_coordinator(self.url, self.state_dir)

    async def reached(self, step: str) -> None:
        if step in self.at:
            await self.coordinator.kill()
            await self.start()

    async def stop(self) -> None:
        await self.coordinator.channel.close()
        await self.coordinator.service.stop()


async def tell_story(world: World, crashing: Crashing) -> str:
    """Story 1 to its end."""
    gang = await crashing.coordinator.request()
    await crashing.reached("requested")
    await world.wait_asked(claim_commands.BookGang)
    await world.booked(gang, a_plan(("h100", 2), existing=("n1", "n2")))
    await crashing.reached("booked")
    await world.wait_asked(order_commands.PlaceOrder)
    order = f"{gang}-a1-1"
    await world.filled(gang, order, "h100", "x0", "x1")
    await crashing.reached("filled")
    await world.arrived(gang, order, "h100", "x0", "x1")
    await crashing.reached("arrived")
    await world.wait_asked(claim_commands.ConfirmGang)
    await world.confirmed(gang, "n1", "n2", "x0", "x1")
    await crashing.reached("confirmed")
    await crashing.coordinator.wait_state(gang, GANG_STATE_READY)
    await crashing.reached("ready")
    nodes = ("n1", "n2", "x0", "x1")
    for index in (0, 1):
        await world.show(a_pod(f"train-{index}", nodes[index]))
    await crashing.reached("half bound")
    for index in (2, 3):
        await world.show(a_pod(f"train-{index}", nodes[index]))
    await crashing.coordinator.wait_state(gang, GANG_STATE_CONSUMED)
    await wait_until(
        lambda: conditions(world).get("BookingExpired") == ("True", "CapacityBookingConsumed"), "consumed status", 20
    )
    await world.wait_asked(claim_commands.ReleaseGang)
    return gang


@pytest.mark.parametrize(
    "at", [frozenset({step}) for step in STEPS] + [frozenset(STEPS)], ids=lambda at: "+".join(sorted(at))
)
async def test_f24_killed_between_two_steps_the_story_ends_the_same_and_no_order_is_sent_twice(
    store: JetStreamStore, streams_url: str, tmp_path: Path, at: frozenset[str]
) -> None:
    crashing = Crashing(streams_url, tmp_path, at)
    async with a_world(store, tmp_path) as world:
        await crashing.start()
        try:
            gang = await tell_story(world, crashing)
            view = await crashing.coordinator.gang(gang)
            assert (view.attempt, view.bound_pods, [o.state for o in view.orders]) == (1, 4, ["filled"])
            orders = [m.order_id for m in world.asked if isinstance(m, order_commands.PlaceOrder)]
            assert orders == [f"{gang}-a1-1"]
            assert len([m for m in world.asked if isinstance(m, claim_commands.BookGang)]) == 1
        finally:
            await crashing.stop()


async def recorded(store: JetStreamStore) -> list[StoredMessage]:
    """The whole stream of gangs."""
    messages: list[StoredMessage] = []
    async with aclosing(store.read("gangs")) as chunks:
        async for chunk in chunks:
            messages += chunk.messages
            if chunk.pending == 0:
                return messages
    return messages


async def test_replaying_the_stream_gives_the_same_bytes_and_sends_nothing(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    crashing = Crashing(streams_url, tmp_path, frozenset())
    async with a_world(store, tmp_path) as world:
        await crashing.start()
        try:
            await tell_story(world, crashing)
            asked = len(world.asked)
            exported = await crashing.coordinator.export()
            assert replay(await recorded(store), ClusterId("local")) == exported
            await crashing.coordinator.kill()
            await crashing.start()
            assert await crashing.coordinator.export() == exported
            assert len(world.asked) == asked
        finally:
            await crashing.stop()


async def test_garbage_on_the_subjects_is_parked_with_its_reason_and_the_rest_goes_on(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        meta = EventMeta("garbage-1", "no.such.Type", "/test", "x", now(), "garbage-1", "garbage-1")
        await store.publish(command_subject("gangs", "local", "CancelGang", "x"), b"\x00\xff", meta)
        meta = EventMeta("garbage-2", "no.such.Type", "/test", "x", now(), "garbage-2", "garbage-2")
        await store.publish(event_subject("claims", "local", "ledger"), b"\x00\xff", meta)
        wrong_timer = gang_commands.WakeGang(gang_id="x", timer="lunch")
        command = SendCommand(CommandSubject("gangs", "local", "WakeGang", "x"), wrong_timer)
        await publish_command(store, command, Cause.first("garbage-3"), source="/test", now=now())
        gang = await coordinator.request()
        await world.wait_asked(claim_commands.BookGang)
        await world.booked(gang, a_plan(existing=("n1",)))
        await world.wait_asked(claim_commands.ConfirmGang)

        async def parked() -> bool:
            return len({p.reason for p in await list_parked(store)}) >= 2

        await wait_until(parked, "parked messages")
        reasons = {p.place.consumer: p.reason for p in await list_parked(store)}
        assert "UNDECODABLE" in reasons["gang-coordinator-claims-local"]
        assert any("UNKNOWN_TIMER" in p.reason for p in await list_parked(store))


async def test_a_watch_tells_the_history_and_then_every_change(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        gang = await coordinator.request()
        await world.wait_asked(claim_commands.BookGang)
        watch = coordinator.stub.WatchGang(pb.WatchGangRequest(gang_id=gang))
        told = [await watch.read(), await watch.read()]
        assert [t.sentence for t in told] == ["asked for 4 pods by ml/train", "plans"]
        await world.booked(gang, a_plan(("h100", 2), existing=("n1", "n2")))
        booked = await watch.read()
        assert booked.sentence.startswith("booked 4 members on 2 existing nodes and 2 new of h100")
        assert booked.sequence > told[1].sequence
        watch.cancel()
        later = coordinator.stub.WatchGang(pb.WatchGangRequest(gang_id=gang, after_sequence=told[1].sequence))
        assert (await later.read()).sentence == booked.sentence
        later.cancel()


async def test_lists_are_paged(store: JetStreamStore, streams_url: str, tmp_path: Path) -> None:
    async with running_coordinator(streams_url, tmp_path) as coordinator:
        ids = {await coordinator.request(name=f"train-{n}", request_id=f"r{n}") for n in range(5)}
        seen: list[str] = []
        token = ""
        sequence = 0
        while True:
            request = pb.ListGangsRequest(page_size=2, page_token=token, min_sequence=sequence)
            page = await coordinator.stub.ListGangs(request)
            assert len(page.gangs) <= 2
            seen += [g.gang_id for g in page.gangs]
            sequence, token = page.sequence, page.next_page_token
            if not token:
                break
        assert seen == sorted(ids)


async def test_a_gang_is_found_as_soon_as_its_request_is_answered(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with running_coordinator(streams_url, tmp_path) as coordinator:
        for n in range(20):
            assert (await coordinator.gang(await coordinator.request(request_id=f"r{n}"))).pod_count == 4


async def test_a_query_with_min_sequence_reads_its_own_write(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with running_coordinator(streams_url, tmp_path) as coordinator:
        gang = await coordinator.request()
        cancelled = await coordinator.stub.CancelGang(pb.CancelGangRequest(gang_id=gang, request_id="c1"))
        request = pb.GetGangRequest(gang_id=gang, min_sequence=cancelled.sequence)
        answer = await coordinator.stub.GetGang(request)
        assert answer.sequence >= cancelled.sequence
        assert "CANCELLED" in answer.gang.message
