"""Facts and commands in over a real server, bookings out, queries over a socket, restarts."""

from pathlib import Path

import grpc
import orjson
import pytest
from google.protobuf.message import Message
from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from integration.claim_matcher.cluster import CLUSTER, Others, a_spec
from integration.claim_matcher.running import Running, recorded, running_matcher, stored, wait_events
from muster.api.matcher.v1 import matcher_service_pb2 as api
from muster.events.claims.v1 import claims_pb2 as events
from muster.type.v1 import plan_pb2
from muster.type.v1.plan_pb2 import ArrivedNode
from muster_claim_matcher.bootstrap import replay
from muster_eventstore import JetStreamStore, list_parked
from muster_types import ClusterId
from support.nats_server import wait_until
from unit.muster_claim_matcher.objects import (
    a_claim_template,
    a_class,
    a_consuming_pod,
    a_group,
    a_node,
    a_slice,
    an_allocated_claim,
    an_ordered_node,
)

LLM = "llm-4f2a1c"


async def bookings(service: Running) -> dict[str, api.BookingView]:
    answer = await service.stub.ListBookings(api.ListBookingsRequest(cluster=CLUSTER))
    return {booking.gang_id: booking for booking in answer.bookings}


async def export(service: Running, sequence: int = 0) -> bytes:
    return (await service.stub.ExportState(api.ExportStateRequest(min_sequence=sequence))).json


def booked(event: Message) -> events.GangBooked:
    assert isinstance(event, events.GangBooked), event
    return event


def devices(placements: object) -> list[str]:
    found: list[str] = []
    for placement in placements:  # pyright: ignore[reportGeneralTypeIssues] -- a repeated field
        found += [f"{each.device.pool}/{each.device.device}" for claim in placement.claims for each in claim.results]
    return sorted(found)


async def test_a_gang_is_booked_whole_on_what_was_observed(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    others = Others(store)
    await others.see(a_class(), a_node("node-1"), a_slice("node-1"), a_group("h100"))
    sequence = await others.complete()
    async with running_matcher(streams_url, tmp_path) as service:
        await others.book(LLM, a_spec("llm", pods=4), sequence=sequence)
        (event,) = await wait_events(store, 1)
        plan = booked(event).plan
        assert booked(event).observed_sequence >= sequence
        assert [each.node for each in plan.placements if each.WhichOneof("target") == "node"] == ["node-1", "node-1"]
        assert [(each.node_group, each.count, each.price_per_node) for each in plan.orders] == [("h100", 1, 10.0)]
        assert plan.cost == 10.0
        assert len(devices(plan.placements)) == 16
        assert plan.placements[0].resources["cpu"] == "8"
        assert set(await bookings(service)) == {LLM}


async def test_two_gangs_never_get_the_same_devices(store: JetStreamStore, streams_url: str, tmp_path: Path) -> None:
    others = Others(store)
    await others.see(a_class(), a_node("node-1"), a_slice("node-1"))
    sequence = await others.complete()
    async with running_matcher(streams_url, tmp_path):
        for gang in ("a", "b", "c"):
            await others.book(f"{gang}-111111", a_spec(gang, pods=1), sequence=sequence)
        first, second, third = await wait_events(store, 3)
        taken = devices(booked(first).plan.placements) + devices(booked(second).plan.placements)
        assert sorted(taken) == [f"node-1/gpu-{index}" for index in range(8)]
        assert isinstance(third, events.GangNotBooked)
        assert third.kind != plan_pb2.NO_PLAN_KIND_UNSPECIFIED
        assert third.reasons[0].sentence


async def test_the_next_attempt_takes_the_place_of_the_booking_and_leaves_failed_groups_out(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    others = Others(store)
    await others.see(a_class(), a_group("cheap", price=1.0), a_group("dear", price=9.0))
    sequence = await others.complete()
    async with running_matcher(streams_url, tmp_path) as service:
        spec = a_spec("llm", pods=4)
        await others.book(LLM, spec, sequence=sequence)
        await wait_events(store, 1)
        kept = an_ordered_node("cheap-1-0", LLM, "cheap")
        await others.see(kept)
        sequence = await others.see(a_slice("cheap-1-0"))
        arrived = ArrivedNode(node="cheap-1-0", node_group="cheap", order_id=f"{LLM}-a1-0", ordinal=0)
        await others.book(LLM, spec, attempt=2, excluded=["cheap"], kept=[arrived], sequence=sequence)
        first, second = await wait_events(store, 2)
        assert {each.node_group for each in booked(first).plan.orders} == {"cheap"}
        assert [(each.node_group, each.count) for each in booked(second).plan.orders] == [("dear", 1)]
        assert {each.node for each in booked(second).plan.placements if each.node} == {"cheap-1-0"}
        view = (await bookings(service))[LLM]
        assert (view.attempt, len(view.placements)) == (2, 4)
        await others.book(LLM, spec, attempt=1, again=True)
        await others.release("nobody-000000", "cancelled")
        assert len(await wait_events(store, 3)) == 3


async def test_a_node_that_is_reserved_for_a_gang_is_for_nobody_else(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    others = Others(store)
    await others.see(a_class(), an_ordered_node("h100-1-0", LLM, "h100"), a_slice("h100-1-0"))
    sequence = await others.complete()
    async with running_matcher(streams_url, tmp_path):
        await others.book("other-222222", a_spec("other", pods=1), sequence=sequence)
        (event,) = await wait_events(store, 1)
        assert isinstance(event, events.GangNotBooked)


async def test_what_cannot_be_is_told_with_its_reason(store: JetStreamStore, streams_url: str, tmp_path: Path) -> None:
    others = Others(store)
    await others.see(a_class(), a_node("node-1"), a_slice("node-1"), a_group("h100"))
    sequence = await others.complete()
    async with running_matcher(streams_url, tmp_path):
        await others.book(LLM, a_spec("llm", pods=1, gpus=5), sequence=sequence)
        (event,) = await wait_events(store, 1)
        assert isinstance(event, events.GangNotBooked)
        assert event.kind == plan_pb2.NO_PLAN_KIND_NEVER
        assert event.even_empty
        assert event.reasons[0].sentence


async def test_commands_that_come_again_record_nothing(store: JetStreamStore, streams_url: str, tmp_path: Path) -> None:
    others = Others(store)
    await others.see(a_class(), a_node("node-1"), a_slice("node-1"))
    sequence = await others.complete()
    async with running_matcher(streams_url, tmp_path):
        await others.book(LLM, a_spec("llm"), sequence=sequence)
        await wait_events(store, 1)
        await others.book(LLM, a_spec("llm"), sequence=sequence, again=True)
        await others.release(LLM, "cancelled")
        await others.release(LLM, "cancelled", again=True)
        await others.book(LLM, a_spec("llm"), sequence=sequence, again=True)
        await others.release("end-000000", "cancelled")
        assert [type(event).__name__ for event in await wait_events(store, 3)] == [
            "GangBooked",
            "GangReleased",
            "GangReleased",
        ]


async def test_a_plan_waits_for_the_facts_it_must_have_seen(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    others = Others(store)
    async with running_matcher(streams_url, tmp_path, facts_wait=0.05):
        await others.book(LLM, a_spec("llm"), sequence=4)
        await others.see(a_class(), a_node("node-1"))
        await others.see(a_slice("node-1"))
        assert await recorded(store) == []
        await others.complete()
        (event,) = await wait_events(store, 1)
        assert booked(event).observed_sequence >= 4


async def test_a_restart_and_a_replay_give_the_same_ledger_byte_for_byte(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    others = Others(store)
    await others.see(a_class(), a_node("node-1"), a_slice("node-1"), a_group("h100"))
    sequence = await others.complete()
    async with running_matcher(streams_url, tmp_path) as service:
        await others.book(LLM, a_spec("llm", pods=4), sequence=sequence)
        await others.book("b-111111", a_spec("b", pods=1, gpus=5), sequence=sequence)
        await others.release("c-111111", "cancelled")
        await wait_events(store, 3)
        before = await export(service, 3)
    async with running_matcher(streams_url, tmp_path) as service:
        assert await export(service) == before
        await others.book("d-111111", a_spec("d", pods=1), sequence=sequence)
        *_, last = await wait_events(store, 4)
        assert booked(last).plan.orders, "the devices of node-1 are still promised after the restart"
        assert replay(await stored(store), ClusterId(CLUSTER)) == await export(service, 4)
    assert orjson.loads(before)["gangs"][LLM]["booking"]["orders"] == {"h100": 1}


async def test_garbage_is_parked_with_its_reason_and_the_rest_goes_on(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    import nats

    others = Others(store)
    await others.see(a_class(), a_node("node-1"), a_slice("node-1"))
    sequence = await others.complete()
    async with running_matcher(streams_url, tmp_path):
        client = await nats.connect(streams_url)
        js = client.jetstream()
        await js.publish("muster.commands.claims.local.BookGang.x", b"\x00garbage")
        await js.publish("muster.observed.local.Node.%-.garbage", b"\x00garbage")
        await client.close()
        broken = a_spec("llm")
        broken.request_json = b"{"
        await others.book("broken-111111", broken)
        await others.book(LLM, a_spec("llm"), sequence=sequence)
        assert booked((await wait_events(store, 1))[0]).gang_id == LLM

        async def all_parked() -> bool:
            return len(await list_parked(store)) == 3

        await wait_until(all_parked, "three messages are parked")
        reasons = {(each.place.consumer, each.reason.split(":")[0]) for each in await list_parked(store)}
        assert reasons == {
            ("claim-matcher", "UNDECODABLE"),
            ("claim-matcher", "BAD_GANG_SPEC"),
            ("claim-matcher-observed", "UNDECODABLE"),
        }


async def test_a_consumed_gang_stays_booked_until_its_claims_show_their_allocations(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    others = Others(store)
    await others.see(a_class(), a_node("node-1"), a_slice("node-1"))
    sequence = await others.complete()
    async with running_matcher(streams_url, tmp_path) as service:
        await others.book(LLM, a_spec("llm", pods=1), sequence=sequence)
        await wait_events(store, 1)
        sequence = await others.see(a_consuming_pod("llm", 0, "node-1"))
        await others.release(LLM, "consumed")
        await others.book("b-111111", a_spec("b", pods=2), sequence=sequence)
        _, refused = await wait_events(store, 2)
        assert isinstance(refused, events.GangNotBooked), "a promised device must not look free in between"
        # The scheduler took other devices than the plan: the booking gives way to what it took.
        taken = [f"gpu-{index}" for index in range(4, 8)]
        await others.see(an_allocated_claim("llm-workers-0-gpus", "node-1", taken))
        *_, released = await wait_events(store, 3)
        assert isinstance(released, events.GangReleased)
        assert await bookings(service) == {}
        await others.book("c-111111", a_spec("c", pods=1))
        *_, last = await wait_events(store, 4)
        assert devices(booked(last).plan.placements) == [f"node-1/gpu-{index}" for index in range(4)]


async def test_what_fits_can_be_asked_without_booking(store: JetStreamStore, streams_url: str, tmp_path: Path) -> None:
    others = Others(store)
    await others.see(a_class(), a_node("node-1"), a_slice("node-1"), a_node("node-2"), a_slice("node-2", 2))
    await others.see(a_group("h100", most=3))
    sequence = await others.complete()
    claim = orjson.dumps(a_claim_template("four", 4))
    async with running_matcher(streams_url, tmp_path) as service:
        answer = await service.stub.Match(api.MatchRequest(min_sequence=sequence, claims_json=[claim]))
        assert [(each.node, each.status) for each in answer.matches] == [("node-1", "ok"), ("node-2", "none")]
        assert answer.sequence >= sequence
        explained = await service.stub.Explain(api.ExplainRequest(claims_json=[claim], node="node-2"))
        assert explained.match.reasons[0].sentence
        listed = await service.stub.ListProvisionableCapacity(api.ListProvisionableCapacityRequest(claims_json=[claim]))
        (group,) = listed.groups
        assert (group.node_group, group.headroom_nodes, group.fits_per_node, group.fits_total) == ("h100", 3, 2, 6)
        supposed = await service.stub.WhatIf(api.WhatIfRequest(spec=a_spec("llm", pods=2), nodes_gone=["node-1"]))
        assert [(each.node_group, each.count) for each in supposed.plan.orders] == [("h100", 1)]
        nothing = await service.stub.WhatIf(
            api.WhatIfRequest(spec=a_spec("llm", pods=2), nodes_gone=["node-1"], excluded_node_groups=["h100"])
        )
        assert nothing.no_plan.reasons[0].sentence
        assert await recorded(store) == []


async def test_health_and_refusals(store: JetStreamStore, streams_url: str, tmp_path: Path) -> None:
    async with running_matcher(streams_url, tmp_path) as service:
        health = health_pb2_grpc.HealthStub(service.channel)
        answer = await health.Check(health_pb2.HealthCheckRequest(service="muster.api.matcher.v1.MatcherService"))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        for request in (
            api.MatchRequest(cluster="elsewhere"),
            api.MatchRequest(),
            api.MatchRequest(claims_json=[b"{"]),
            api.MatchRequest(claims_json=[b'{"kind": "ResourceClaim", "metadata": {"name": "x"}, "spec": []}']),
        ):
            with pytest.raises(aio.AioRpcError) as refused:
                await service.stub.Match(request)
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert refused.value.details()


ARRIVED = ArrivedNode(node="h100-1-0", node_group="h100", order_id=f"{LLM}-a1-0", ordinal=0)


async def test_what_arrived_is_verified_on_its_actual_slices_and_booked_there(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    others = Others(store)
    await others.see(a_class(), a_group("h100"))
    sequence = await others.complete()
    spec = a_spec("llm")
    await others.request(LLM, spec)
    async with running_matcher(streams_url, tmp_path):
        await others.book(LLM, spec, sequence=sequence)
        await wait_events(store, 1)
    # The service starts anew: what the gang asked for comes from the stream of the gangs.
    async with running_matcher(streams_url, tmp_path) as service:
        await others.see(an_ordered_node("h100-1-0", LLM, "h100"))
        sequence = await others.see(a_slice("h100-1-0"))
        await others.confirm(LLM, [ARRIVED], sequence=sequence)
        await others.confirm(LLM, [ARRIVED], sequence=sequence, again=True)
        _, confirmed = await wait_events(store, 2)
        assert isinstance(confirmed, events.GangConfirmed)
        assert {each.node for each in confirmed.placements} == {"h100-1-0"}
        assert devices(confirmed.placements) == [f"h100-1-0/gpu-{index}" for index in range(8)]
        assert confirmed.observed_sequence >= sequence
        view = (await bookings(service))[LLM]
        assert view.confirmed
        assert {each.node for each in view.placements} == {"h100-1-0"}
        await others.release("end-000000", "cancelled")
        assert len(await wait_events(store, 3)) == 3


async def test_a_node_of_another_shape_breaks_the_gang_with_the_reason(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    others = Others(store)
    await others.see(a_class(), a_group("h100"))
    sequence = await others.complete()
    spec = a_spec("llm")
    await others.request(LLM, spec)
    async with running_matcher(streams_url, tmp_path) as service:
        await others.book(LLM, spec, sequence=sequence)
        await wait_events(store, 1)
        await others.see(an_ordered_node("h100-1-0", LLM, "h100"))
        sequence = await others.see(a_slice("h100-1-0", 7))
        await others.confirm(LLM, [ARRIVED], sequence=sequence)
        _, broken = await wait_events(store, 2)
        assert isinstance(broken, events.GangBroken)
        assert "h100-1-0" in broken.reasons[0].sentence
        assert not (await bookings(service))[LLM].confirmed
        # The next attempt may use neither the group nor the node that came.
        await others.book(LLM, spec, attempt=2, excluded=["h100"], sequence=sequence)
        *_, refused = await wait_events(store, 3)
        assert isinstance(refused, events.GangNotBooked)
