"""The simulated cloud as a server, called as the Cluster Autoscaler calls it: all fifteen calls, over a socket."""

from __future__ import annotations  # the async stub exists for type checkers alone

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from grpc import aio

from clusterautoscaler.cloudprovider.v1.externalgrpc import externalgrpc_pb2 as pb
from clusterautoscaler.cloudprovider.v1.externalgrpc import externalgrpc_pb2_grpc as rpc
from clusterautoscaler.kubernetes.core.v1 import core_pb2
from contract.driver.served_cloud import ServedCloud, a_sold_group, serving, write_cluster
from muster_kube import object_key

GROUP = "h100-r7"
State = pb.InstanceStatus.InstanceState
PRICED = a_sold_group(pricePerNode=98.0)
CHEAP = a_sold_group(
    "t4",
    pricePerNode=2.0,
    zeroOrMax=True,
    driver={"type": "externalgrpc", "id": "t4-pool", "simulated": {"orderLimitSeconds": 60}},
    template={
        "metadata": {"labels": {"muster.dev/accelerator": "t4"}},
        "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}},
    },
)
OLD_NODES = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/rack": "r7"}},
        "spec": {"providerID": f"metal:///{name}"},
    }
    for name in ("old-a", "old-b")
]


class Client:
    """One client of a served cloud."""

    def __init__(self, served: ServedCloud, channel: aio.Channel) -> None:
        self.served = served
        self.channel = channel
        self.stub: rpc.CloudProviderAsyncStub = rpc.CloudProviderStub(channel)

    async def target(self, id: str = GROUP) -> int:
        return (await self.stub.NodeGroupTargetSize(pb.NodeGroupTargetSizeRequest(id=id))).target_size

    async def nodes(self, id: str = GROUP) -> list[pb.Instance]:
        return list((await self.stub.NodeGroupNodes(pb.NodeGroupNodesRequest(id=id))).instances)

    async def states(self, id: str = GROUP) -> list[int]:
        return [each.status.instance_state for each in await self.nodes(id)]

    async def grow(self, delta: int, id: str = GROUP) -> None:
        await self.stub.NodeGroupIncreaseSize(pb.NodeGroupIncreaseSizeRequest(id=id, delta=delta))

    async def delete(self, *provider_ids: str) -> None:
        nodes = [pb.ExternalGrpcNode(provider_id=id) for id in provider_ids]
        await self.stub.NodeGroupDeleteNodes(pb.NodeGroupDeleteNodesRequest(id=GROUP, nodes=nodes))

    async def lower(self, delta: int) -> None:
        request = pb.NodeGroupDecreaseTargetSizeRequest(id=GROUP, delta=delta)
        await self.stub.NodeGroupDecreaseTargetSize(request)

    async def group_of(self, provider_id: str) -> str:
        request = pb.NodeGroupForNodeRequest(node=pb.ExternalGrpcNode(provider_id=provider_id))
        return (await self.stub.NodeGroupForNode(request)).node_group.id

    def node(self, name: str) -> dict[str, object]:
        found = {key.name: held.obj for key, held in self.served.directory.list().objects.items() if key.kind == "Node"}
        return dict(found[name])


@asynccontextmanager
async def client_of(path: Path, *objects: dict[str, object]) -> AsyncGenerator[Client]:
    async with serving(path, *objects) as served, aio.insecure_channel(served.address) as channel:
        yield Client(served, channel)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncGenerator[Client]:
    async with client_of(tmp_path, PRICED, CHEAP, *OLD_NODES) as client:
        yield client


async def code_of(call: object) -> grpc.StatusCode:
    with pytest.raises(aio.AioRpcError) as error:
        await call  # pyright: ignore[reportGeneralTypeIssues] -- any awaitable
    assert error.value.details()
    return error.value.code()


async def test_a_round_of_the_autoscaler_from_the_first_look_to_a_scaled_down_node(client: Client) -> None:
    await client.stub.Refresh(pb.RefreshRequest())
    groups = (await client.stub.NodeGroups(pb.NodeGroupsRequest())).node_groups
    assert [(each.id, each.min_size, each.max_size) for each in groups] == [(GROUP, 1, 6), ("t4-pool", 1, 6)]
    assert all(each.debug for each in groups)
    assert await client.target() == 2

    await client.grow(2)
    assert await client.target() == 4
    assert sorted(await client.states()) == sorted(
        [State.INSTANCE_STATE_RUNNING] * 2 + [State.INSTANCE_STATE_CREATING] * 2
    )
    await client.served.pass_time(20)
    new = [each.id for each in await client.nodes() if each.id.startswith("simulated://")]
    assert await client.states() == [State.INSTANCE_STATE_RUNNING] * 4
    nodes = [held.obj for key, held in client.served.directory.list().objects.items() if key.kind == "Node"]
    registered = {node["spec"]["providerID"] for node in nodes}
    assert set(new) <= registered
    assert {await client.group_of(id) for id in new} == {GROUP}

    await client.delete(new[0])
    assert await client.target() == 3
    await client.served.pass_time(20)
    assert sorted(each.id for each in await client.nodes()) == sorted(["metal:///old-a", "metal:///old-b", new[1]])
    await client.stub.Cleanup(pb.CleanupRequest())
    assert await client.target() == 3


async def test_nodes_from_before_the_cloud_are_known_by_their_own_provider_ids(client: Client) -> None:
    assert [each.id for each in await client.nodes()] == ["metal:///old-a", "metal:///old-b"]
    assert await client.group_of("metal:///old-b") == GROUP
    assert await client.group_of("metal:///a-control-plane") == ""
    await client.delete("metal:///old-b")
    await client.served.pass_time(20)
    assert [each.id for each in await client.nodes()] == ["metal:///old-a"]


async def test_each_increase_counts_for_the_protocol_has_no_request_id(client: Client) -> None:
    await client.grow(1)
    await client.grow(1)
    assert await client.target() == 4
    await client.served.pass_time(20)
    assert len({each.id for each in await client.nodes()}) == 4


async def test_out_of_stock_is_told_in_the_class_for_it(client: Client) -> None:
    await client.grow(1)
    await client.grow(3)
    await client.served.pass_time(20)
    failed = [each for each in await client.nodes() if each.status.HasField("error_info")]
    assert [(e.status.error_info.error_code, e.status.error_info.instance_error_class) for e in failed] == [
        ("OUT_OF_STOCK", 1)
    ] * 2
    assert {each.status.instance_state for each in failed} == {State.INSTANCE_STATE_CREATING}
    await client.delete(*(each.id for each in failed))
    assert await client.target() == 4


async def test_what_cannot_be_is_refused_by_status(client: Client) -> None:
    assert await code_of(client.grow(0)) is grpc.StatusCode.INVALID_ARGUMENT
    assert await code_of(client.grow(5)) is grpc.StatusCode.FAILED_PRECONDITION
    assert await code_of(client.grow(1, "nowhere")) is grpc.StatusCode.NOT_FOUND
    assert await code_of(client.nodes("nowhere")) is grpc.StatusCode.NOT_FOUND
    assert await code_of(client.lower(1)) is grpc.StatusCode.INVALID_ARGUMENT
    assert await code_of(client.lower(-1)) is grpc.StatusCode.FAILED_PRECONDITION
    assert await client.target() == 2


async def test_a_node_of_another_group_spares_all_that_were_named(client: Client) -> None:
    assert await code_of(client.delete("metal:///old-a", "metal:///stranger")) is grpc.StatusCode.INVALID_ARGUMENT
    assert await client.target() == 2


async def test_a_quota_and_a_lost_answer_keep_their_kinds(tmp_path: Path) -> None:
    script = [{"order": 1, "quota": 0}, {"order": 2, "loseAnswer": True}]
    async with client_of(tmp_path, a_sold_group(driver={"type": "simulated", "script": script})) as client:
        assert await code_of(client.grow(1)) is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert await client.target() == 2
        assert await code_of(client.grow(1)) is grpc.StatusCode.UNAVAILABLE
        assert await client.target() == 3


async def test_a_new_node_is_described_as_it_will_register(client: Client) -> None:
    answer = await client.stub.NodeGroupTemplateNodeInfo(pb.NodeGroupTemplateNodeInfoRequest(id=GROUP))
    assert not answer.node_info
    node = core_pb2.Node.FromString(answer.node_bytes)
    assert node.metadata.labels["topology.kubernetes.io/rack"] == "r7"
    assert node.metadata.labels["kubernetes.io/hostname"] == node.metadata.name != ""
    assert [(t.key, t.value, t.effect) for t in node.spec.taints] == [("accelerator", "h100", "NoSchedule")]
    assert {name: amount.string for name, amount in node.status.allocatable.items()} == {
        "cpu": "192",
        "memory": "2Ti",
        "pods": "110",
    }
    assert node.status.capacity == node.status.allocatable
    assert [(c.type, c.status) for c in node.status.conditions] == [("Ready", "True")]
    await client.grow(1)
    await client.served.pass_time(20)
    arrived = next(each for each in await client.nodes() if each.id.startswith("simulated://"))
    real = client.node(arrived.id.rpartition("/")[2])
    assert dict(node.status.allocatable)["cpu"].string == real["status"]["allocatable"]["cpu"]


async def test_options_are_the_defaults_with_what_the_group_says(client: Client) -> None:
    defaults = pb.NodeGroupAutoscalingOptions(
        scale_down_utilization_threshold=0.5, scale_down_unneeded_duration=Duration(seconds=600)
    )

    async def options(id: str) -> pb.NodeGroupAutoscalingOptions:
        request = pb.NodeGroupGetOptionsRequest(id=id, defaults=defaults)
        return (await client.stub.NodeGroupGetOptions(request)).node_group_autoscaling_options

    plain, pool = await options(GROUP), await options("t4-pool")
    assert (plain.scale_down_utilization_threshold, plain.scale_down_unneeded_duration.seconds) == (0.5, 600)
    assert (plain.zero_or_max_node_scaling, pool.zero_or_max_node_scaling) == (False, True)
    assert pool.max_node_provision_duration.seconds == 60


def hours(begin: int, end: int) -> dict[str, Timestamp]:
    start, stop = Timestamp(), Timestamp()
    start.FromDatetime(datetime(2026, 1, 1, begin, tzinfo=UTC))
    stop.FromDatetime(datetime(2026, 1, 1, end, tzinfo=UTC))
    return {"start_timestamp": start, "end_timestamp": stop}


async def test_a_node_costs_the_price_of_its_group_for_each_hour(client: Client) -> None:
    node = pb.ExternalGrpcNode(provider_id="metal:///old-a")
    answer = await client.stub.PricingNodePrice(pb.PricingNodePriceRequest(node=node, **hours(0, 3)))
    assert answer.price == 294.0
    stranger = pb.PricingNodePriceRequest(node=pb.ExternalGrpcNode(provider_id="x"), **hours(0, 1))
    assert await code_of(client.stub.PricingNodePrice(stranger)) is grpc.StatusCode.NOT_FOUND


def a_pod(cpu: str, memory: str = "1Gi") -> bytes:
    requests = {"cpu": core_pb2.Quantity(string=cpu), "memory": core_pb2.Quantity(string=memory)}
    container = core_pb2.Container(name="c", resources=core_pb2.ResourceRequirements(requests=requests))
    pod = core_pb2.Pod(metadata=core_pb2.ObjectMeta(name="p"), spec=core_pb2.PodSpec(containers=[container]))
    return pod.SerializeToString()


@pytest.mark.parametrize(("cpu", "price"), [("2", 1.0), ("96", 49.0)])
async def test_a_pod_costs_its_part_of_the_cheapest_node_that_it_fits(client: Client, cpu: str, price: float) -> None:
    request = pb.PricingPodPriceRequest(pod_bytes=a_pod(cpu), **hours(0, 1))
    assert (await client.stub.PricingPodPrice(request)).price == price


async def test_a_pod_that_fits_nowhere_and_bytes_that_are_no_pod_have_no_price(client: Client) -> None:
    large = pb.PricingPodPriceRequest(pod_bytes=a_pod("1000"), **hours(0, 1))
    assert await code_of(client.stub.PricingPodPrice(large)) is grpc.StatusCode.OUT_OF_RANGE
    for data in (b"\xff", a_pod("much")):
        request = pb.PricingPodPriceRequest(pod_bytes=data, **hours(0, 1))
        assert await code_of(client.stub.PricingPodPrice(request)) is grpc.StatusCode.INVALID_ARGUMENT


async def test_times_that_are_none_are_refused(client: Client) -> None:
    for start, end in ((2**62, 0), (0, -(2**62)), (253402300800, 0)):
        times = {"start_timestamp": Timestamp(seconds=start), "end_timestamp": Timestamp(seconds=end)}
        node = pb.PricingNodePriceRequest(node=pb.ExternalGrpcNode(provider_id="metal:///old-a"), **times)
        assert await code_of(client.stub.PricingNodePrice(node)) is grpc.StatusCode.INVALID_ARGUMENT
        pod = pb.PricingPodPriceRequest(**times)
        assert await code_of(client.stub.PricingPodPrice(pod)) is grpc.StatusCode.INVALID_ARGUMENT


async def test_without_any_price_pricing_is_not_offered(tmp_path: Path) -> None:
    async with client_of(tmp_path, a_sold_group(), *OLD_NODES) as client:
        node = pb.ExternalGrpcNode(provider_id="metal:///old-a")
        node_price = client.stub.PricingNodePrice(pb.PricingNodePriceRequest(node=node, **hours(0, 1)))
        assert await code_of(node_price) is grpc.StatusCode.UNIMPLEMENTED
        pod_price = client.stub.PricingPodPrice(pb.PricingPodPriceRequest(pod_bytes=a_pod("1"), **hours(0, 1)))
        assert await code_of(pod_price) is grpc.StatusCode.UNIMPLEMENTED


async def test_gpu_types_are_the_values_of_the_gpu_label(client: Client) -> None:
    label = (await client.stub.GPULabel(pb.GPULabelRequest())).label
    assert label == "muster.dev/accelerator"
    answer = await client.stub.GetAvailableGPUTypes(pb.GetAvailableGPUTypesRequest())
    assert list(answer.gpu_types) == ["t4"]


async def test_groups_change_with_the_dump_at_the_next_refresh(client: Client, tmp_path: Path) -> None:
    write_cluster(tmp_path / "dump", [a_sold_group(maxSize=9), a_sold_group("new")])

    async def sizes() -> dict[str, int]:
        groups = (await client.stub.NodeGroups(pb.NodeGroupsRequest())).node_groups
        return {each.id: each.max_size for each in groups}

    assert await sizes() == {GROUP: 6, "t4-pool": 6}
    await client.stub.Refresh(pb.RefreshRequest())
    assert await sizes() == {GROUP: 9, "new": 6}
    assert await code_of(client.target("t4-pool")) is grpc.StatusCode.NOT_FOUND


async def test_what_others_wrote_on_a_node_outlives_its_boot(client: Client) -> None:
    await client.grow(1)
    await client.served.pass_time(1.6)
    directory = client.served.directory
    key = next(key for key in directory.list().objects if key.kind == "Node" and key.name.startswith(GROUP))
    node = directory.get(key)
    assert node is not None
    keys = [taint["key"] for taint in node["spec"]["taints"]]
    assert keys == ["accelerator", "node.kubernetes.io/not-ready"]
    reserved = {"key": "muster.dev/gang", "value": "g", "effect": "NoSchedule"}
    labels = {**node["metadata"]["labels"], "muster.dev/gang": "g"}
    spec = {**node["spec"], "taints": [*node["spec"]["taints"], reserved]}
    directory.put({**node, "metadata": {**node["metadata"], "labels": labels}, "spec": spec})
    await client.served.pass_time(20)
    ready = directory.get(object_key(node))
    assert ready is not None
    assert [taint["key"] for taint in ready["spec"]["taints"]] == ["accelerator", "muster.dev/gang"]
    assert ready["metadata"]["labels"]["muster.dev/gang"] == "g"
    assert {c["type"]: c["status"] for c in ready["status"]["conditions"]} == {"Ready": "True"}
