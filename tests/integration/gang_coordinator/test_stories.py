"""The stories of the demo, with the other services played by the test."""

from collections import Counter
from pathlib import Path

from integration.gang_coordinator.running import a_plan, a_pod, a_world, conditions, running_coordinator
from muster.api.capacity.v1 import capacity_service_pb2 as pb
from muster.commands.claims.v1 import claims_pb2 as claim_commands
from muster.commands.provisioning.v1 import provisioning_pb2 as order_commands
from muster.events.claims.v1 import claims_pb2
from muster.events.gangs.v1.gangs_pb2 import SHORTFALL_CLASS_STOCKOUT
from muster.events.provisioning.v1 import provisioning_pb2
from muster.type.v1 import plan_pb2
from muster.type.v1.gang_pb2 import (
    GANG_STATE_CANCELLED,
    GANG_STATE_COMPENSATING,
    GANG_STATE_CONSUMED,
    GANG_STATE_FAILED,
    GANG_STATE_READY,
    GANG_STATE_WAITING,
)
from muster_eventstore import JetStreamStore
from support.nats_server import wait_until


async def test_a_gang_that_needs_two_new_nodes_becomes_ready_and_is_consumed(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        gang = await coordinator.request()
        (book,) = await world.wait_asked(claim_commands.BookGang)
        assert isinstance(book, claim_commands.BookGang)
        assert book.spec.pod_count == 4
        assert len(book.spec.objects_json) == 2
        await world.booked(gang, a_plan(("h100", 2), existing=("n1", "n2")))
        (place,) = await world.wait_asked(order_commands.PlaceOrder)
        assert isinstance(place, order_commands.PlaceOrder)
        assert (place.node_group, place.count, place.order_id) == ("h100", 2, f"{gang}-a1-1")
        await world.filled(gang, place.order_id, "h100", "x0", "x1")
        await world.arrived(gang, place.order_id, "h100", "x0", "x1")
        (confirm,) = await world.wait_asked(claim_commands.ConfirmGang)
        assert isinstance(confirm, claim_commands.ConfirmGang)
        assert [n.node for n in confirm.nodes] == ["x0", "x1"]
        await world.confirmed(gang, "n1", "n2", "x0", "x1")
        view = await coordinator.wait_state(gang, GANG_STATE_READY)
        assert view.details["muster.dev/nodes"] == "n1,n2,x0,x1"
        await wait_until(
            lambda: conditions(world).get("Provisioned") == ("True", "CapacityIsProvisioned"), "Provisioned=True"
        )
        for index, node in enumerate(("n1", "n2", "x0", "x1")):
            await world.show(a_pod(f"train-{index}", node))
        await coordinator.wait_state(gang, GANG_STATE_CONSUMED)
        (release,) = await world.wait_asked(claim_commands.ReleaseGang)
        assert isinstance(release, claim_commands.ReleaseGang)
        assert release.cause == "consumed"
        await wait_until(
            lambda: conditions(world).get("BookingExpired") == ("True", "CapacityBookingConsumed"), "consumed status"
        )
        told = await coordinator.history(gang)
        assert told[0].sentence == "asked for 4 pods by ml/train"
        assert told[-1].sentence.startswith(("every member is bound", "the ledger"))


async def test_a_stockout_keeps_what_arrived_and_lets_the_other_group_serve(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        gang = await coordinator.request(count=3)
        await world.wait_asked(claim_commands.BookGang)
        await world.booked(gang, a_plan(("h100", 3)))
        await world.wait_asked(order_commands.PlaceOrder)
        first = f"{gang}-a1-1"
        short = provisioning_pb2.OrderShort(
            order_id=first,
            gang_id=gang,
            node_group="h100",
            shortfall_class=SHORTFALL_CLASS_STOCKOUT,
            message="no capacity in zone a",
            nodes=["x0"],
            missing=2,
        )
        await world.provisioning(short)
        await world.arrived(gang, first, "h100", "x0")
        again = (await world.wait_asked(claim_commands.BookGang, 2))[1]
        assert isinstance(again, claim_commands.BookGang)
        assert (again.attempt, list(again.excluded_node_groups)) == (2, ["h100"])
        assert [n.node for n in again.kept_nodes] == ["x0"]
        await world.booked(gang, a_plan(("a100", 2), existing=("x0",)), attempt=2)
        (surplus,) = await world.wait_asked(order_commands.CancelOrder)
        assert isinstance(surplus, order_commands.CancelOrder)
        assert (surplus.order_id, list(surplus.kept_nodes)) == (first, ["x0"])
        await world.provisioning(
            provisioning_pb2.OrderCancelled(order_id=first, gang_id=gang, node_group="h100", kept_nodes=["x0"])
        )
        second = f"{gang}-a2-1"
        await world.filled(gang, second, "a100", "y0", "y1")
        await world.arrived(gang, second, "a100", "y0", "y1")
        await world.wait_asked(claim_commands.ConfirmGang)
        await world.confirmed(gang, "x0", "y0", "y1", attempt=2)
        view = await coordinator.wait_state(gang, GANG_STATE_READY)
        assert [(o.order_id, o.state, list(o.arrived_nodes)) for o in view.orders] == [
            (first, "short", ["x0"]),
            (second, "filled", ["y0", "y1"]),
        ]


async def test_a_gang_that_no_shape_can_serve_fails_at_once_with_the_proof(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    proof = "4 GPUs on one NUMA node wanted; the closest shape, h100, has 2 (2 short)"
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        gang = await coordinator.request()
        await world.wait_asked(claim_commands.BookGang)
        await world.refused(gang, plan_pb2.NO_PLAN_KIND_NEVER, proof)
        view = await coordinator.wait_state(gang, GANG_STATE_FAILED)
        assert view.no_plan_kind == plan_pb2.NO_PLAN_KIND_NEVER
        assert [r.sentence for r in view.reasons][1] == proof
        assert proof in view.message
        await wait_until(lambda: conditions(world).get("Failed") == ("True", "CapacityIsNotFound"), "Failed=True")
        told = await coordinator.history(gang)
        assert told[-1].state == GANG_STATE_FAILED
        assert proof in told[-1].sentence


async def test_a_cancel_while_nodes_arrive_ends_only_when_everything_went_back(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        gang = await coordinator.request()
        await world.wait_asked(claim_commands.BookGang)
        await world.booked(gang, a_plan(("h100", 4)))
        await world.wait_asked(order_commands.PlaceOrder)
        request = pb.CancelGangRequest(gang_id=gang, request_id="c1", cause="wrong queue")
        first = await coordinator.stub.CancelGang(request)
        assert (await coordinator.stub.CancelGang(request)).sequence == first.sequence, "the same cancel again"
        view = await coordinator.wait_state(gang, GANG_STATE_COMPENSATING)
        assert "then ends CANCELLED: wrong queue" in view.message
        await world.wait_asked(order_commands.CancelOrder)
        await world.wait_asked(claim_commands.ReleaseGang)
        await world.give_back_all(gang)
        await coordinator.wait_state(gang, GANG_STATE_CANCELLED)
        await wait_until(lambda: conditions(world).get("Failed") == ("True", "Cancelled"), "Failed/Cancelled")


async def test_a_waiting_gang_is_planned_again_when_another_one_is_released(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        gang = await coordinator.request()
        await world.wait_asked(claim_commands.BookGang)
        await world.refused(gang, plan_pb2.NO_PLAN_KIND_NOT_NOW, "all 8 GPUs are held by gang other")
        view = await coordinator.wait_state(gang, GANG_STATE_WAITING)
        assert "held by gang other" in view.message
        await world.claims(claims_pb2.GangReleased(gang_id="other", cause="consumed"))
        again = (await world.wait_asked(claim_commands.BookGang, 2))[1]
        assert isinstance(again, claim_commands.BookGang)
        assert again.attempt == 2


async def test_facts_that_come_twice_late_and_out_of_order_change_nothing(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        gang = await coordinator.request()
        order = f"{gang}-a1-1"
        await world.arrived(gang, order, "h100", "x0")  # before the order was placed: nobody knows it
        await world.confirmed(gang, "n1", "n2", "x0", "x1")
        await world.wait_asked(claim_commands.BookGang)
        for _ in range(2):
            await world.booked(gang, a_plan(("h100", 2), existing=("n1", "n2")))
        await world.wait_asked(order_commands.PlaceOrder)
        for _ in range(2):
            await world.arrived(gang, order, "h100", "x0", "x1")  # before the provider says so
        await world.wait_asked(claim_commands.ConfirmGang)
        for _ in range(2):
            await world.filled(gang, order, "h100", "x0", "x1")
            await world.refused(gang, plan_pb2.NO_PLAN_KIND_NEVER, "late and wrong")
        for _ in range(2):
            await world.confirmed(gang, "n1", "n2", "x0", "x1")
        await coordinator.wait_state(gang, GANG_STATE_READY)
        for _ in range(2):
            for index, node in enumerate(("n1", "n2", "x0", "x1")):
                await world.show(a_pod(f"train-{index}", node))
        await coordinator.wait_state(gang, GANG_STATE_CONSUMED)
        await world.wait_asked(claim_commands.ReleaseGang)
        for _ in range(2):
            await world.claims(claims_pb2.GangReleased(gang_id=gang, cause="consumed"))
        await world.provisioning(provisioning_pb2.OrderCancelled(order_id="nobody-a1-1", gang_id="nobody"))

        async def receipt() -> bool:
            return (await coordinator.history(gang))[-1].sentence == "the ledger holds nothing for it"

        await wait_until(receipt, "the receipt of the release")
        types = [told.type.rpartition(".")[2] for told in await coordinator.history(gang)]
        once = Counter(types)
        assert {t: n for t, n in once.items() if n > 1} == {"NodeArrivalRecorded": 2, "MemberBindRecorded": 4}
        assert len(world.asked) == 4, [type(m).__name__ for m in world.asked]
