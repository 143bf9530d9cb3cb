"""Commands in over a real server; nodes and slices in the overlay, events out, queries over a socket, restarts."""

from pathlib import Path

import grpc
import orjson
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from integration.provisioner.running import (
    CLUSTER,
    GANG,
    Neighbours,
    ProvisionerProcess,
    a_group,
    recorded,
    running_provisioner,
    stored,
    wait_event,
)
from muster.api.provisioner.v1 import provisioner_service_pb2 as api
from muster.events.gangs.v1 import gangs_pb2
from muster.events.provisioning.v1 import provisioning_pb2 as events
from muster_eventstore import JetStreamStore, list_parked
from muster_kube import ClusterDirectory
from muster_provisioner.bootstrap import replay
from muster_types import ClusterId, ObjectKey
from support.nats_server import wait_until

ORDER = f"{GANG}-a1-1"


def objects(state: Path, kind: str) -> list[dict[str, object]]:
    """Objects of a kind in the overlay, by name."""
    found = ClusterDirectory((), state / "cluster").list().objects
    return [dict(found[key].obj) for key in sorted(found) if key.kind == kind]


async def test_an_order_becomes_nodes_and_slices_and_its_events_come_in_order(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    neighbours = Neighbours(store)
    await neighbours.declare(a_group())
    async with running_provisioner(streams_url, tmp_path) as running:
        await neighbours.place(ORDER, 2)
        filled = await wait_event(store, ORDER, "OrderFilled")
        assert isinstance(filled, events.OrderFilled)
        kinds = [event.DESCRIPTOR.name for event in await recorded(store, ORDER)]
        assert kinds == ["OrderIntended", "OrderAcknowledged", "NodeLaunched", "NodeLaunched", "OrderFilled"]

        await wait_until(lambda: len(objects(tmp_path, "ResourceSlice")) == 4, "all slices are published")
        nodes = objects(tmp_path, "Node")
        assert [node["metadata"]["name"] for node in nodes] == list(filled.nodes)
        labels = nodes[1]["metadata"]["labels"]
        assert labels["muster.dev/gang"] == GANG
        assert labels["muster.dev/order"] == ORDER
        assert labels["muster.dev/node-group"] == "h100-r7"
        assert labels["muster.dev/ordinal"] == "1"
        assert nodes[0]["spec"]["taints"] == [{"key": "muster.dev/gang", "value": GANG, "effect": "NoSchedule"}]
        assert [each["status"] for each in nodes[0]["status"]["conditions"] if each["type"] == "Ready"] == ["True"]

        answer = await running.stub.ListOrders(api.ListOrdersRequest(gang_id=GANG))
        assert [(order.order_id, order.state) for order in answer.orders] == [(ORDER, api.ORDER_STATE_FILLED)]
        assert list(answer.orders[0].nodes) == list(filled.nodes)
        groups = (await running.stub.ListOperations(api.ListOperationsRequest(cluster=CLUSTER))).groups
        assert [(each.node_group, each.target_size, len(each.instances)) for each in groups] == [("h100-r7", 4, 4)]

        await neighbours.cancel(ORDER, filled.nodes[0])
        cancelled = await wait_event(store, ORDER, "OrderCancelled")
        assert isinstance(cancelled, events.OrderCancelled)
        assert (list(cancelled.deleted_nodes), cancelled.target) == ([filled.nodes[1]], 3)
        assert [node["metadata"]["name"] for node in objects(tmp_path, "Node")] == [filled.nodes[0]]

        last = (await stored(store))[-1].sequence
        shown = await running.stub.GetOrder(api.GetOrderRequest(order_id=ORDER, min_sequence=last))
        assert shown.order.state == api.ORDER_STATE_CANCELLED
        assert list(shown.order.nodes) == [filled.nodes[0]]
        exported = await running.stub.ExportState(api.ExportStateRequest(min_sequence=last))
        assert exported.json == replay(await stored(store), ClusterId(CLUSTER))
        assert exported.sequence == last


async def test_a_stockout_leaves_the_launched_node_and_the_shortfall_is_told(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    neighbours = Neighbours(store)
    await neighbours.declare(a_group(script=[{"order": 1, "stockoutAfter": 1}]))
    async with running_provisioner(streams_url, tmp_path) as running:
        await neighbours.place(ORDER, 3)
        short = await wait_event(store, ORDER, "OrderShort")
        assert isinstance(short, events.OrderShort)
        assert short.shortfall_class == gangs_pb2.SHORTFALL_CLASS_STOCKOUT
        assert (len(short.nodes), short.missing) == (1, 2)

        async def given_back() -> bool:
            groups = (await running.stub.ListOperations(api.ListOperationsRequest())).groups
            return [(each.target_size, len(each.instances)) for each in groups] == [(3, 3)]

        await wait_until(given_back, "the rest of the target is given back")
        await neighbours.cancel(ORDER)
        await wait_event(store, ORDER, "OrderCancelled")
        assert objects(tmp_path, "Node") == []


async def test_orders_that_cannot_be_tried_are_short_with_the_reason(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    neighbours = Neighbours(store)
    await neighbours.declare(a_group("real"), "real", driver="karpenter")
    await neighbours.declare(a_group("odd", bootSeconds=-1), "odd")
    await neighbours.declare(a_group("gone"), "gone")
    await neighbours.withdraw("gone")
    reasons = {
        "real": "node group real: its driver 'karpenter' works through an API server; "
        "set MUSTER_CLUSTER_SOURCE=kubernetes",
        "odd": "node group odd: field spec.driver.bootSeconds: input should be greater than or equal to 0 (got -1)",
        "gone": "node group gone was withdrawn",
        "unheard": "node group unheard is not declared",
    }
    async with running_provisioner(streams_url, tmp_path):
        for group in reasons:
            await neighbours.place(f"{group}-order", 1, group)
        for group, reason in reasons.items():
            short = await wait_event(store, f"{group}-order", "OrderShort")
            assert isinstance(short, events.OrderShort)
            assert short.message == reason


async def test_nonsense_is_parked_with_its_reason_and_the_rest_goes_on(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    neighbours = Neighbours(store)
    await neighbours.declare(a_group())
    async with running_provisioner(streams_url, tmp_path):
        await neighbours.garbage("garbage")
        await neighbours.place("nothing", 0)
        await neighbours.place(ORDER, 1)
        await wait_event(store, ORDER, "OrderFilled")

        async def parked() -> bool:
            return len(await list_parked(store)) == 2

        await wait_until(parked, "both are parked")
        first, second = sorted(await list_parked(store), key=lambda each: each.reason)
        assert first.reason.startswith("INVALID_ORDER: order nothing asks for 0 nodes")
        assert second.reason.startswith("UNDECODABLE")


async def test_unknown_orders_and_clusters_are_told_apart_by_status(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with running_provisioner(streams_url, tmp_path) as running:
        with pytest.raises(grpc.aio.AioRpcError) as unknown:
            await running.stub.GetOrder(api.GetOrderRequest(order_id="no-such-order"))
        assert unknown.value.code() is grpc.StatusCode.NOT_FOUND
        with pytest.raises(grpc.aio.AioRpcError) as elsewhere:
            await running.stub.ListOrders(api.ListOrdersRequest(cluster="moon"))
        assert elsewhere.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        health = health_pb2_grpc.HealthStub(running.channel)

        async def serving() -> bool:
            answer = await health.Check(health_pb2.HealthCheckRequest())
            return answer.status == health_pb2.HealthCheckResponse.SERVING

        await wait_until(serving, "everything stored before the start is known")


async def test_sigkill_in_the_middle_of_an_order_and_restart_end_the_same(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    neighbours = Neighbours(store)
    await neighbours.declare(a_group(bootSeconds=1.5, script=[{"order": 1, "delaySeconds": 0.5}]))
    process = ProvisionerProcess(streams_url, tmp_path)
    await process.wait_ready()
    await neighbours.place(ORDER, 3)
    await wait_event(store, ORDER, "OrderIntended")
    process.kill()
    process = ProvisionerProcess(streams_url, tmp_path)
    await wait_event(store, ORDER, "OrderFilled", deadline=30)
    process.kill()
    process = ProvisionerProcess(streams_url, tmp_path)
    try:
        await process.wait_ready()
        await wait_until(lambda: len(objects(tmp_path, "ResourceSlice")) == 6, "all slices are published", 20)
        state = orjson.loads((tmp_path / "cloud" / f"{CLUSTER}.json").read_bytes())
        assert state["groups"][0]["applied"] == {ORDER: 1}
        assert state["groups"][0]["target"] == 5
        await neighbours.cancel(ORDER)
        await wait_event(store, ORDER, "OrderCancelled")
        assert objects(tmp_path, "Node") == []
        assert objects(tmp_path, "ResourceSlice") == []
        key = ObjectKey("Node", "", "no-such-node")
        assert ClusterDirectory((), tmp_path / "cluster").get(key) is None
    finally:
        assert process.stop() == 0
