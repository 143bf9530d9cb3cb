"""What happens under a gang: trials, lost nodes, changed pools, evicted pods, edited templates, deleted requests."""

from pathlib import Path

import orjson

from integration.gang_coordinator.running import (
    Coordinator,
    World,
    a_claim_template,
    a_plan,
    a_pod,
    a_request,
    a_template,
    a_world,
    places,
    running_coordinator,
)
from integration.gang_coordinator.test_cluster_requests import only_gang, put_and_show
from muster.api.capacity.v1 import capacity_service_pb2 as pb
from muster.commands.claims.v1 import claims_pb2 as claim_commands
from muster.commands.provisioning.v1 import provisioning_pb2 as order_commands
from muster.events.claims.v1 import claims_pb2
from muster.events.inventory.v1 import inventory_pb2
from muster.type.v1 import plan_pb2
from muster.type.v1.gang_pb2 import (
    GANG_STATE_ARRIVING,
    GANG_STATE_COMPENSATING,
    GANG_STATE_PLANNING,
    GANG_STATE_READY,
    GANG_STATE_VERIFYING,
)
from muster_eventstore import JetStreamStore
from support.nats_server import wait_until

OWNER = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "name": "job-train",
    "uid": "w-1",
    "controller": True,
}
GROUP = {"kind": "NodeGroup", "metadata": {"name": "h100"}, "spec": {"template": {"resourceSlices": []}}}


async def sentences(coordinator: Coordinator, gang: str) -> list[str]:
    """The history of a gang so far."""
    asked = pb.WatchGangRequest(cluster="local", gang_id=gang, history_only=True)
    return [told.sentence async for told in coordinator.stub.WatchGang(asked)]


async def wait_told(coordinator: Coordinator, gang: str, part: str) -> None:
    """Until a sentence of the history holds this."""

    async def told() -> bool:
        return any(part in sentence for sentence in await sentences(coordinator, gang))

    await wait_until(told, f"{part!r} in the history of {gang}")


async def ready(world: World, coordinator: Coordinator) -> str:
    """An offered gang on n1 and the new node x0."""
    gang = await coordinator.request(count=2)
    await world.wait_asked(claim_commands.BookGang)
    await world.booked(gang, a_plan(("h100", 1), existing=("n1",)))
    await world.wait_asked(order_commands.PlaceOrder)
    await world.filled(gang, f"{gang}-a1-1", "h100", "x0")
    await world.arrived(gang, f"{gang}-a1-1", "h100", "x0")
    await world.wait_asked(claim_commands.ConfirmGang)
    await world.confirmed(gang, "n1", "x0")
    await coordinator.wait_state(gang, GANG_STATE_READY)
    return gang


async def test_a_declared_template_is_tried_with_one_node_until_an_arrival_confirms_it(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        declared = inventory_pb2.NodeGroupDeclared(name="h100", json=orjson.dumps(GROUP))
        await world.say("inventory", "nodegroup", ("h100",), declared)
        gang = await coordinator.request(count=3)
        await world.wait_asked(claim_commands.BookGang)
        await world.booked(gang, a_plan(("h100", 3)))
        (first,) = await world.wait_asked(order_commands.PlaceOrder)
        assert isinstance(first, order_commands.PlaceOrder)
        assert first.count == 1
        await world.filled(gang, first.order_id, "h100", "x0")
        await world.arrived(gang, first.order_id, "h100", "x0")
        _, rest = await world.wait_asked(order_commands.PlaceOrder, 2)
        assert isinstance(rest, order_commands.PlaceOrder)
        assert (rest.count, rest.first_ordinal) == (2, 1)


async def test_other_gangs_are_planned_without_a_group_whose_template_is_wrong_and_told_why(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world:
        declared = inventory_pb2.NodeGroupDeclared(name="h100", json=orjson.dumps(GROUP))
        await world.say("inventory", "nodegroup", ("h100",), declared)
        odd = plan_pb2.ShapeMismatch(check="C5", sentence="GPUs lie on other NUMA nodes")
        wrong = inventory_pb2.TemplateMistrusted(node_group="h100", node="z9", mismatches=[odd])
        await world.say("inventory", "nodegroup", ("h100",), wrong)
        async with running_coordinator(streams_url, tmp_path) as coordinator:
            gang = await coordinator.request(count=3)
            (book,) = await world.wait_asked(claim_commands.BookGang)
            assert isinstance(book, claim_commands.BookGang)
            assert list(book.excluded_node_groups) == ["h100"]
            await world.refused(gang, plan_pb2.NO_PLAN_KIND_NOT_NOW, "group h100 is left out for now")
            await wait_told(coordinator, gang, "nothing is ordered from node group h100")


async def test_f22_a_member_whose_node_goes_after_the_offer_is_placed_anew(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        gang = await ready(world, coordinator)
        await world.inventory(inventory_pb2.NodeGone(node="n1"))
        _, book = await world.wait_asked(claim_commands.BookGang, 2)
        assert isinstance(book, claim_commands.BookGang)
        assert list(book.lost_nodes) == ["n1"]
        assert [node.node for node in book.kept_nodes] == ["x0"]
        await world.booked(gang, a_plan(existing=("n2", "x0")), attempt=2)
        await world.wait_asked(claim_commands.ConfirmGang, 2)
        await world.confirmed(gang, "n2", "x0", attempt=2)
        view = await coordinator.wait_state(gang, GANG_STATE_READY)
        assert sorted(each.node for each in view.placements) == ["n2", "x0"]


async def test_a_node_that_is_not_ready_after_the_offer_is_given_up_after_its_grace_period(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with (
        a_world(store, tmp_path) as world,
        running_coordinator(streams_url, tmp_path, unready_grace=0.2) as coordinator,
    ):
        gang = await ready(world, coordinator)
        await world.inventory(inventory_pb2.NodeUnreadied(node="x0", reason="Ready is Unknown"))
        _, book = await world.wait_asked(claim_commands.BookGang, 2)
        assert isinstance(book, claim_commands.BookGang)
        assert list(book.lost_nodes) == ["x0"]
        await wait_told(coordinator, gang, "node x0 is given up: it was not Ready")


async def test_f17_a_pool_that_changes_after_the_offer_is_checked_and_its_node_replaced_when_it_fails(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        gang = await ready(world, coordinator)
        changed = inventory_pb2.PoolChanged(
            driver="gpu.example.com",
            pool="x0",
            node="x0",
            state=inventory_pb2.POOL_STATE_COMPLETE,
            generation=2,
            device_count=7,
        )
        await world.say("inventory", "pool", ("gpu.example.com", "x0"), changed)
        _, check = await world.wait_asked(claim_commands.ConfirmGang, 2)
        assert isinstance(check, claim_commands.ConfirmGang)
        assert (check.attempt, check.check) == (1, 1)
        broken = plan_pb2.Reason(code="SHAPE", sentence="gpu-7 is gone", facts={"nodes": "x0"})
        await world.claims(claims_pb2.GangBroken(gang_id=gang, attempt=1, check=1, reasons=[broken]))
        _, book = await world.wait_asked(claim_commands.BookGang, 2)
        assert isinstance(book, claim_commands.BookGang)
        assert list(book.lost_nodes) == ["x0"]


async def test_f21_an_evicted_member_is_waited_for_again_and_t38_a_pod_without_its_group_is_told(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        template = a_template()
        inner = template["template"]
        assert isinstance(inner, dict)
        inner["spec"]["schedulingGroup"] = {"podGroupName": "train"}
        await put_and_show(world, a_claim_template())
        await put_and_show(world, template)
        await put_and_show(world, a_request(count=2), "uid-1")
        gang = (await only_gang(coordinator, GANG_STATE_PLANNING)).gang_id
        await world.wait_asked(claim_commands.BookGang)
        await world.booked(gang, a_plan(existing=("n1", "n2")))
        await world.wait_asked(claim_commands.ConfirmGang)
        await world.claims(claims_pb2.GangConfirmed(gang_id=gang, attempt=1, placements=places("n1", "n2")))
        await only_gang(coordinator, GANG_STATE_READY)
        await world.show(a_pod("p0", "n1"))
        await wait_told(coordinator, gang, "pod ml/p0 is bound to n1; it lacks the scheduling group")
        await world.show({**a_pod("p0", "n1"), "status": {"phase": "Failed", "reason": "Evicted"}})
        await wait_told(coordinator, gang, "pod ml/p0 is gone; its place is kept")


async def test_t3_an_edited_template_is_told_and_the_gang_goes_on(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        for obj, uid in ((a_template(), ""), (a_claim_template(), ""), (a_request(), "uid-1")):
            await put_and_show(world, obj, uid)
        gang = (await only_gang(coordinator, GANG_STATE_PLANNING)).gang_id
        edited = a_template()
        inner = edited["template"]
        assert isinstance(inner, dict)
        inner["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "96"}
        await world.show(edited)
        await wait_told(coordinator, gang, "PodTemplate worker was edited after the request was accepted")
        assert (await only_gang(coordinator, GANG_STATE_PLANNING)).attempt == 1
        assert len(await world.wait_asked(claim_commands.BookGang)) == 1


async def test_t28_what_has_arrived_for_a_deleted_request_goes_to_the_next_attempt(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        await put_and_show(world, a_template())
        await put_and_show(world, a_claim_template())
        first = a_request("job-train-muster-1", count=3)
        first["metadata"] = {"name": "job-train-muster-1", "namespace": "ml", "ownerReferences": [OWNER]}
        await put_and_show(world, first, "uid-1")
        gang = (await only_gang(coordinator, GANG_STATE_PLANNING)).gang_id
        await world.wait_asked(claim_commands.BookGang)
        await world.booked(gang, a_plan(("h100", 3)))
        await world.wait_asked(order_commands.PlaceOrder)
        await world.filled(gang, f"{gang}-a1-1", "h100", "x0", "x1", "x2")
        await world.arrived(gang, f"{gang}-a1-1", "h100", "x0", "x1")
        await only_gang(coordinator, GANG_STATE_ARRIVING)
        await wait_told(coordinator, gang, "node x1 of h100 arrived")
        await world.show_gone("ProvisioningRequest", "job-train-muster-1", "uid-1")
        view = await only_gang(coordinator, GANG_STATE_COMPENSATING)
        assert "2 nodes are held for the next attempt" in view.message
        (cut,) = await world.wait_asked(order_commands.CancelOrder)
        assert isinstance(cut, order_commands.CancelOrder)
        assert list(cut.kept_nodes) == ["x0", "x1"]
        second = a_request("job-train-muster-2", count=3)
        second["metadata"] = {"name": "job-train-muster-2", "namespace": "ml", "ownerReferences": [OWNER]}
        await put_and_show(world, second, "uid-2")
        _, book = await world.wait_asked(claim_commands.BookGang, 2)
        assert isinstance(book, claim_commands.BookGang)
        assert (book.gang_id, [node.node for node in book.kept_nodes]) == (gang, ["x0", "x1"])
        await world.booked(gang, a_plan(("h100", 1), existing=("x0", "x1")), attempt=2)
        await world.filled(gang, f"{gang}-a2-1", "h100", "y0")
        await world.arrived(gang, f"{gang}-a2-1", "h100", "y0")
        await only_gang(coordinator, GANG_STATE_VERIFYING)
