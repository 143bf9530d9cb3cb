"""Facts in over a real server, events out, queries over a socket, restarts."""

import asyncio
from pathlib import Path

import grpc
import orjson
import pytest
from google.protobuf.message import Message
from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from integration.inventory.facts import (
    CLUSTER,
    GPU,
    Watcher,
    a_claim,
    a_group,
    a_node,
    a_slice,
    an_ordered_node,
    some_devices,
)
from integration.inventory.running import Running, running_inventory
from muster.api.inventory.v1 import inventory_service_pb2 as api
from muster.events.inventory.v1 import inventory_pb2 as events
from muster.events.observed.v1.observed_pb2 import SEVERITY_ERROR, SEVERITY_WARNING
from muster_eventstore import Codec, Decoded, EventStore, JetStreamStore, StoredMessage, list_parked
from muster_inventory.bootstrap import replay
from muster_types import ClusterId

CODEC = Codec.of_modules(events)


async def stored(store: EventStore) -> list[StoredMessage]:
    """Everything in the stream `inventory` now."""
    found: list[StoredMessage] = []
    async for chunk in store.read("inventory"):
        found.extend(chunk.messages)
        if chunk.pending == 0:
            break
    return found


async def recorded(store: EventStore) -> list[Message]:
    """The events in it, in order."""
    decoded = [CODEC.decode(message.headers, message.data) for message in await stored(store)]
    return [event for each in decoded if isinstance(each, Decoded) for event in each.batch.events]


async def of_node(store: EventStore, name: str) -> list[str]:
    """The types of the events about a node."""
    return [type(event).__name__ for event in await recorded(store) if getattr(event, "node", "") == name]


async def nodes(service: Running, sequence: int = 0) -> dict[str, api.NodeView]:
    answer = await service.stub.ListNodes(api.ListNodesRequest(cluster=CLUSTER, min_sequence=sequence))
    assert answer.sequence >= sequence
    return {node.name: node for node in answer.nodes}


async def export(service: Running, sequence: int = 0) -> bytes:
    return (await service.stub.ExportState(api.ExportStateRequest(min_sequence=sequence))).json


async def test_what_the_cluster_shows_can_be_queried_as_soon_as_it_is_asked_for(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    watcher = Watcher(store)
    await watcher.see(
        a_group("h100-r7"),
        a_node("node-1", labels={"muster.dev/pool": "h100-r7"}),
        a_node("node-2", ready=False, message="container runtime is down"),
        a_slice("node-1"),
        a_claim("training", "gpu-3", pool="node-1"),
    )
    await watcher.complete()
    async with running_inventory(streams_url, tmp_path) as service:
        await watcher.reject("dump/a.yaml:1", "Node/node-1", "spec.colour", "is not known", SEVERITY_WARNING)
        sequence = await watcher.reject("dump/broken.yaml:12", "ResourceSlice/x", "spec.driver", "is required")
        seen = await nodes(service, sequence)
        assert seen["node-1"].node_group == "h100-r7"
        assert seen["node-1"].device_count == 8
        assert not seen["node-2"].ready
        assert seen["node-2"].reason == "Ready is False: container runtime is down"
        pools = (await service.stub.ListPools(api.ListPoolsRequest())).pools
        assert [(pool.driver, pool.pool, pool.state) for pool in pools] == [(GPU, "node-1", events.POOL_STATE_COMPLETE)]
        devices = (await service.stub.ListDevices(api.ListDevicesRequest(node="node-1"))).devices
        assert {device.device.device: device.held_by for device in devices if device.held_by} == {
            "gpu-3": "team/training"
        }
        assert devices[5].attributes == {"model": "h100", "numa": "1", "memory": "80Gi"}
        (group,) = (await service.stub.ListNodeGroups(api.ListNodeGroupsRequest())).node_groups
        assert (group.registered_nodes, group.device_count_per_node, group.template_trusted) == (1, 8, True)
        problem, warning = (await service.stub.ListProblems(api.ListProblemsRequest())).problems
        assert (problem.source, problem.object, problem.field) == (
            "dump/broken.yaml:12",
            "ResourceSlice/x",
            "spec.driver",
        )
        assert problem.severity == SEVERITY_ERROR
        assert (warning.field, warning.severity) == ("spec.colour", SEVERITY_WARNING)


async def test_pages_follow_each_other_without_gap_or_repeat(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    watcher = Watcher(store)
    for index in range(7):
        await watcher.see(a_node(f"node-{index}"), a_slice(f"node-{index}", devices=some_devices(3)))
    sequence = await watcher.complete()
    async with running_inventory(streams_url, tmp_path) as service:
        names, devices, token = list[str](), list[tuple[str, str]](), ""
        while True:
            page = api.Page(size=3, token=token)
            answer = await service.stub.ListNodes(api.ListNodesRequest(min_sequence=sequence, page=page))
            names += [node.name for node in answer.nodes]
            token = answer.next_page_token
            if not token:
                break
        while True:
            page = api.Page(size=4, token=token)
            listed = await service.stub.ListDevices(api.ListDevicesRequest(page=page))
            devices += [(each.device.pool, each.device.device) for each in listed.devices]
            token = listed.next_page_token
            if not token:
                break
        assert names == [f"node-{index}" for index in range(7)]
        assert devices == [(f"node-{node}", f"gpu-{device}") for node in range(7) for device in range(3)]
        with pytest.raises(aio.AioRpcError) as refused:
            await service.stub.ListNodes(api.ListNodesRequest(page=api.Page(token="%%%")))
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_an_ordered_node_arrives_when_its_pools_are_complete_and_names_its_gang_when_it_goes(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    watcher = Watcher(store)
    await watcher.see(a_group("h100-r7"))
    await watcher.complete()
    async with running_inventory(streams_url, tmp_path) as service:
        name = "h100-r7-1b2c3-0"
        await nodes(service, await watcher.see(an_ordered_node(name, "h100-r7", ready=False)))
        await nodes(service, await watcher.see(an_ordered_node(name, "h100-r7")))
        await nodes(service, await watcher.see(a_slice(name, count=2)))
        assert await of_node(store, name) == ["NodeRegistered", "NodeUnreadied", "NodeReadied", "PoolChanged"]
        sequence = await watcher.see(a_slice(name, count=2, devices=[], index=1))
        await nodes(service, sequence)
        arrival = next(event for event in await recorded(store) if isinstance(event, events.NodeArrived))
        assert (arrival.gang_id, arrival.order_id, arrival.ordinal) == ("llm-4f2a1c", "llm-4f2a1c-a1-0", 0)
        assert arrival.arrive_time.seconds > 0
        await nodes(service, await watcher.lose(an_ordered_node(name, "h100-r7")))
        gone = next(event for event in await recorded(store) if isinstance(event, events.NodeGone))
        assert (gone.node_group, gone.order_id, gone.gang_id) == ("h100-r7", "llm-4f2a1c-a1-0", "llm-4f2a1c")


async def test_a_node_of_another_shape_arrives_with_its_mismatches_and_the_template_is_mistrusted(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    watcher = Watcher(store)
    await watcher.see(a_group("h100-r7"))
    await watcher.see(an_ordered_node("n-0", "h100-r7"), a_slice("n-0", devices=some_devices(7)))
    async with running_inventory(streams_url, tmp_path) as service:
        await nodes(service, await watcher.complete())
        arrival = next(event for event in await recorded(store) if isinstance(event, events.NodeArrived))
        assert [(each.check, each.sentence) for each in arrival.mismatches] == [
            ("C2", "7 of 8 promised devices of gpu.example.com arrived (7 are there in all)")
        ]
        mistrust = (await recorded(store))[-1]
        assert isinstance(mistrust, events.TemplateMistrusted)
        assert (mistrust.node_group, mistrust.node) == ("h100-r7", "n-0")
        assert list(mistrust.mismatches) == list(arrival.mismatches)
        (group,) = (await service.stub.ListNodeGroups(api.ListNodeGroupsRequest())).node_groups
        assert not group.template_trusted
        sequence = await watcher.see(an_ordered_node("n-1", "h100-r7", ordinal="1"), a_slice("n-1"))
        await nodes(service, sequence)
        assert isinstance((await recorded(store))[-1], events.TemplateTrusted)


async def test_a_restart_gives_the_same_state_and_records_nothing_new(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    watcher = Watcher(store)
    await watcher.see(a_group("h100-r7"), an_ordered_node("n-0", "h100-r7"), a_slice("n-0"), a_node("node-1"))
    sequence = await watcher.complete()
    async with running_inventory(streams_url, tmp_path) as service:
        before = await export(service, sequence)
    count = len(await stored(store))
    async with running_inventory(streams_url, tmp_path) as service:
        assert await export(service, sequence) == before
    assert len(await stored(store)) == count
    assert orjson.loads(before)["nodes"]["n-0"]["arrived"]["order"] == "llm-4f2a1c-a1-0"


async def test_replaying_the_stream_gives_the_exported_state_byte_for_byte(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    watcher = Watcher(store)
    await watcher.see(a_group("h100-r7"), an_ordered_node("n-0", "h100-r7"), a_slice("n-0"), a_node("node-1"))
    await watcher.complete()
    async with running_inventory(streams_url, tmp_path) as service:
        sequence = await watcher.lose(a_node("node-1"))
        exported = await export(service, sequence)
        assert replay(await stored(store), ClusterId(CLUSTER)) == exported


async def test_what_happened_while_the_service_was_down_is_decided_at_its_start(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    watcher = Watcher(store)
    await watcher.see(a_node("node-1"), a_node("node-2"))
    sequence = await watcher.complete()
    async with running_inventory(streams_url, tmp_path) as service:
        await nodes(service, sequence)
    sequence = await watcher.lose(a_node("node-2"))
    async with running_inventory(streams_url, tmp_path) as service:
        assert set(await nodes(service, sequence)) == {"node-1"}
        assert (await of_node(store, "node-2"))[-1] == "NodeGone"


async def test_an_ordered_node_lost_before_it_arrived_while_the_service_was_down_names_its_order(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    watcher = Watcher(store)
    waiting = an_ordered_node("n-0", "h100-r7", ready=False)
    await watcher.see(a_group("h100-r7"), waiting)
    sequence = await watcher.complete()
    async with running_inventory(streams_url, tmp_path) as service:
        await nodes(service, sequence)
    sequence = await watcher.lose(waiting)
    async with running_inventory(streams_url, tmp_path) as service:
        await nodes(service, sequence)
        gone = (await recorded(store))[-1]
        assert isinstance(gone, events.NodeGone)
        assert (gone.order_id, gone.gang_id) == ("llm-4f2a1c-a1-0", "llm-4f2a1c")


async def test_nothing_is_decided_before_the_first_list_is_whole(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    watcher = Watcher(store)
    async with running_inventory(streams_url, tmp_path) as service:
        sequence = await watcher.see(a_node("node-1", labels={"muster.dev/pool": "h100-r7"}))
        assert set(await nodes(service, sequence)) == {"node-1"}
        assert await stored(store) == []
        await watcher.see(a_group("h100-r7"))
        await nodes(service, await watcher.complete())
        registered = [event for event in await recorded(store) if isinstance(event, events.NodeRegistered)]
        assert [event.node_group for event in registered] == ["h100-r7"]


async def test_garbage_is_parked_with_its_reason_and_the_rest_goes_on(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    watcher = Watcher(store)
    await watcher.complete()
    async with running_inventory(streams_url, tmp_path) as service:
        await service_noise(streams_url)
        await watcher.see_text("ResourceSlice", "torn", b'{"metadata": {"name": "torn"')
        await watcher.see({"kind": "ResourceSlice", "metadata": {"name": "bad"}, "spec": {"pool": {"name": "p"}}})
        sequence = await watcher.see(a_node("node-1"))
        assert set(await nodes(service, sequence)) == {"node-1"}
        (parked,) = await list_parked(store, "inventory-observed")
        assert parked.reason == "UNDECODABLE: not a message of this system: header ce-id is missing"
        problems = (await service.stub.ListProblems(api.ListProblemsRequest())).problems
        assert [(each.object, each.field) for each in problems] == [
            ("ResourceSlice/bad", "spec.driver"),
            ("ResourceSlice/torn", ""),
        ]


async def service_noise(url: str) -> None:
    """Bytes of a stranger on a subject of the stream."""
    import nats

    client = await nats.connect(url)
    await client.jetstream().publish("muster.observed.local.Node.%-.garbage", b"\x00\xff garbage")
    await client.close()


async def test_changes_can_be_watched(store: JetStreamStore, streams_url: str, tmp_path: Path) -> None:
    watcher = Watcher(store)
    await watcher.complete()
    async with running_inventory(streams_url, tmp_path) as service:
        call = service.stub.WatchInventory(api.WatchInventoryRequest(cluster=CLUSTER))
        await watcher.see(a_node("node-1"))
        async with asyncio.timeout(10):
            first, second = await call.read(), await call.read()
        assert isinstance(first, api.WatchInventoryResponse)
        assert isinstance(second, api.WatchInventoryResponse)
        assert first.type == "muster.events.inventory.v1.NodeRegistered"
        assert events.NodeReadied.FromString(second.payload).node == "node-1"
        assert (second.object.kind, second.object.name) == ("Node", "node-1")
        call.cancel()


async def test_health_reflection_and_refusals(store: JetStreamStore, streams_url: str, tmp_path: Path) -> None:
    async with running_inventory(streams_url, tmp_path) as service:
        health = health_pb2_grpc.HealthStub(service.channel)
        answer = await health.Check(health_pb2.HealthCheckRequest(service="muster.api.inventory.v1.InventoryService"))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        reflection = reflection_pb2_grpc.ServerReflectionStub(service.channel)
        call = reflection.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
        names = [each.name async for reply in call for each in reply.list_services_response.service]
        assert "muster.api.inventory.v1.InventoryService" in names
        with pytest.raises(aio.AioRpcError) as refused:
            await service.stub.ListNodes(api.ListNodesRequest(cluster="elsewhere"))
        assert refused.value.details() == "cluster: 'elsewhere' is not kept here; known: local"
        assert orjson.loads((tmp_path / "run" / "inventory.json").read_bytes())["grpc"] == service.address
    assert not (tmp_path / "run" / "inventory.json").exists()


async def test_every_object_that_the_cluster_shows_can_be_had_as_json(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    watcher = Watcher(store)
    gone, kept = a_node("node-1"), a_node("node-2")
    many = some_devices(4000)
    await watcher.see(gone, kept, a_node("node-2", ready=False), a_slice("node-2", devices=many))
    await watcher.lose(gone)
    await watcher.complete()
    last = await watcher.reject("dump/a.yaml:1", "Pod/team/x", "spec", "is absent")
    async with running_inventory(streams_url, tmp_path) as service:
        request = api.ExportObjectsRequest(cluster=CLUSTER, min_sequence=last)
        parts = [part async for part in service.stub.ExportObjects(request)]
    objects = [orjson.loads(each) for part in parts for each in part.objects]
    assert [(each["kind"], each["metadata"]["name"]) for each in objects] == [
        ("Node", "node-2"),
        ("ResourceSlice", f"node-2-{GPU}-0"),
    ]
    assert objects[0]["status"]["conditions"][0]["status"] == "False"
    assert [part.sequence for part in parts] == [0] * (len(parts) - 1) + [last]
    assert [each.object for each in parts[-1].problems] == ["Pod/team/x"]
