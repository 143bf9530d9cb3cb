"""The externalgrpc client against a server whose answers the test decides (group-capacity §5)."""

import asyncio
import shutil
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

from clusterautoscaler.cloudprovider.v1.externalgrpc import externalgrpc_pb2 as pb
from clusterautoscaler.kubernetes.core.v1 import core_pb2
from contract.driver.certificates import Authority, Pair
from contract.driver.scripted_provider import GROUP_ID, ScriptedProvider, an_instance, listening
from contract.driver.suite import failure, tags
from muster_provisioner.adapters.externalgrpc.driver import ExternalGrpcDriver
from muster_provisioner.adapters.externalgrpc.endpoint import Endpoint
from muster_provisioner.domain.group import Failure, InstanceState
from muster_provisioner.domain.messages import InstanceId, ShortfallClass
from muster_provisioner.ports import DeclaredGroup, DriverError, DriverErrorKind
from muster_types import NodeGroupName, NodeName

GROUP = NodeGroupName("gpu-nodes")
State = pb.InstanceStatus.InstanceState


class Registered:
    """`ClusterNodes`: these provider ids are nodes."""

    def __init__(self, **nodes: str) -> None:
        self._nodes = {id: NodeName(name) for id, name in nodes.items()}

    async def names(self, provider_ids: Collection[str]) -> Mapping[str, NodeName]:
        return {id: name for id, name in self._nodes.items() if id in provider_ids}


@asynccontextmanager
async def connected(
    endpoint: Endpoint, nodes: Registered | None = None, **settings: object
) -> AsyncGenerator[ExternalGrpcDriver]:
    driver = ExternalGrpcDriver({"lab": endpoint}, nodes or Registered())
    manifest = {"spec": {"driver": {"type": "externalgrpc", "id": GROUP_ID, **settings}}}
    assert driver.declare(DeclaredGroup(GROUP, "externalgrpc", manifest)) is None
    try:
        yield driver
    finally:
        await driver.close()


@pytest.fixture
async def provider() -> AsyncGenerator[ScriptedProvider]:
    async with listening(ScriptedProvider()) as provider:
        yield provider


@pytest.fixture
async def driver(provider: ScriptedProvider) -> AsyncGenerator[ExternalGrpcDriver]:
    endpoint = Endpoint(address=provider.address, grpc_timeout=timedelta(seconds=0.5))
    async with connected(endpoint, Registered(i1="node-1")) as driver:
        yield driver


async def test_a_failed_list_of_groups_is_no_empty_list(provider: ScriptedProvider, driver: ExternalGrpcDriver) -> None:
    assert [bounds.group for bounds in await driver.groups()] == [GROUP]
    provider.failing["NodeGroups"] = (grpc.StatusCode.INTERNAL, "the provider's own API is away")
    assert await failure(driver.groups) is DriverErrorKind.TRANSIENT
    assert await failure(lambda: driver.increase(GROUP, 1, tags("a"))) is DriverErrorKind.TRANSIENT
    assert provider.made("NodeGroupIncreaseSize") == []


async def test_a_server_that_hangs_is_given_up_at_the_deadline(
    provider: ScriptedProvider, driver: ExternalGrpcDriver
) -> None:
    provider.hanging.add("NodeGroupIncreaseSize")
    async with asyncio.timeout(5):
        with pytest.raises(DriverError, match="NodeGroupIncreaseSize: DEADLINE_EXCEEDED") as error:
            await driver.increase(GROUP, 1, tags("a"))
    assert error.value.kind is DriverErrorKind.TRANSIENT


def test_the_deadline_is_five_seconds_unless_the_config_says_otherwise() -> None:
    assert Endpoint(address="h:1").grpc_timeout == timedelta(seconds=5)


async def test_a_server_that_is_not_there_is_a_transient_error(driver: ExternalGrpcDriver) -> None:
    async with connected(Endpoint(address="localhost:1")) as lost:
        assert await failure(lambda: lost.target_size(GROUP)) is DriverErrorKind.TRANSIENT


async def test_optional_calls_that_are_not_offered_are_done_without(
    provider: ScriptedProvider, driver: ExternalGrpcDriver
) -> None:
    assert await driver.template(GROUP) is None
    await driver.increase(GROUP, 1, tags("a"))
    assert provider.target == 3


async def test_other_failures_of_optional_calls_are_failures(
    provider: ScriptedProvider, driver: ExternalGrpcDriver
) -> None:
    provider.failing["NodeGroupTemplateNodeInfo"] = (grpc.StatusCode.UNAVAILABLE, "later")
    assert await failure(lambda: driver.template(GROUP)) is DriverErrorKind.TRANSIENT


async def test_a_mandatory_call_that_is_not_offered_is_a_permanent_error(
    provider: ScriptedProvider, driver: ExternalGrpcDriver
) -> None:
    provider.failing["NodeGroupNodes"] = (grpc.StatusCode.UNIMPLEMENTED, "no such method")
    assert await failure(lambda: driver.instances(GROUP)) is DriverErrorKind.PERMANENT


def a_node(cpu: str) -> bytes:
    return core_pb2.Node(
        metadata=core_pb2.ObjectMeta(name="template", labels={"topology.kubernetes.io/zone": "a"}),
        spec=core_pb2.NodeSpec(taints=[core_pb2.Taint(key="gpu", effect="NoSchedule")]),
        status=core_pb2.NodeStatus(allocatable={"cpu": core_pb2.Quantity(string=cpu)}),
    ).SerializeToString()


@pytest.mark.parametrize(
    ("answer", "cpu"),
    [
        (pb.NodeGroupTemplateNodeInfoResponse(node_bytes=a_node("8")), "8"),
        (pb.NodeGroupTemplateNodeInfoResponse(node_info=a_node("4")), "4"),
        (pb.NodeGroupTemplateNodeInfoResponse(node_info=a_node("4"), node_bytes=a_node("8")), "8"),
    ],
    ids=["field 2", "field 1 of an old server", "both"],
)
async def test_a_template_is_read_from_field_2_and_else_from_field_1(
    provider: ScriptedProvider, driver: ExternalGrpcDriver, answer: pb.NodeGroupTemplateNodeInfoResponse, cpu: str
) -> None:
    provider.template = answer
    assert await driver.template(GROUP) == {
        "metadata": {"labels": {"topology.kubernetes.io/zone": "a"}},
        "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]},
        "status": {"allocatable": {"cpu": cpu}},
    }


@pytest.mark.parametrize("data", [b"", b"\xff\xff no node"])
async def test_a_template_that_is_none_is_not_made_up(
    provider: ScriptedProvider, driver: ExternalGrpcDriver, data: bytes
) -> None:
    provider.template = pb.NodeGroupTemplateNodeInfoResponse(node_bytes=data)
    assert await driver.template(GROUP) is None


async def test_instances_are_read_as_the_autoscaler_reads_them(
    provider: ScriptedProvider, driver: ExternalGrpcDriver
) -> None:
    quota = pb.InstanceErrorInfo(error_code="QUOTA_EXCEEDED", error_message="8 of 8 used", instance_error_class=1)
    stock = pb.InstanceErrorInfo(error_code="E-12", error_message="no capacity", instance_error_class=1)
    other = pb.InstanceErrorInfo(error_code="BadImage", instance_error_class=99)
    provider.instances = [
        an_instance("i7", State.INSTANCE_STATE_UNSPECIFIED, stock),
        an_instance("i6", State.INSTANCE_STATE_RUNNING, pb.InstanceErrorInfo(error_message="without a code")),
        an_instance("i5", State.INSTANCE_STATE_CREATING, other),
        an_instance("i4", State.INSTANCE_STATE_CREATING, quota),
        an_instance("i3", State.INSTANCE_STATE_CREATING, stock),
        an_instance("i2", State.INSTANCE_STATE_DELETING),
        an_instance("i1"),
        pb.Instance(id="i0"),
    ]
    found = await driver.instances(GROUP)
    assert [(each.id, each.state, each.failure) for each in found] == [
        ("i0", InstanceState.RUNNING, None),
        ("i1", InstanceState.RUNNING, None),
        ("i2", InstanceState.DELETING, None),
        ("i3", InstanceState.CREATING, Failure(ShortfallClass.STOCKOUT, "E-12: no capacity")),
        ("i4", InstanceState.CREATING, Failure(ShortfallClass.QUOTA, "QUOTA_EXCEEDED: 8 of 8 used")),
        ("i5", InstanceState.CREATING, Failure(ShortfallClass.OTHER, "BadImage")),
        ("i6", InstanceState.RUNNING, None),
        ("i7", InstanceState.RUNNING, None),
    ]
    assert [each.node for each in found if each.node] == ["node-1"]


async def test_nothing_is_sent_when_not_all_of_it_has_room(
    provider: ScriptedProvider, driver: ExternalGrpcDriver
) -> None:
    with pytest.raises(DriverError, match="a size of 9 exceeds its maximum of 8") as error:
        await driver.increase(GROUP, 7, tags("a"))
    assert error.value.kind is DriverErrorKind.PERMANENT
    assert provider.made("NodeGroupIncreaseSize") == []


async def test_t45_a_group_that_grows_to_its_maximum_or_not_at_all_takes_only_such_an_order(
    provider: ScriptedProvider, driver: ExternalGrpcDriver
) -> None:
    provider.target, provider.most = 0, 16
    provider.options = pb.NodeGroupAutoscalingOptions(zero_or_max_node_scaling=True)
    with pytest.raises(DriverError, match="maximum of 16 or not at all: order 16"):
        await driver.increase(GROUP, 9, tags("a"))
    assert provider.made("NodeGroupIncreaseSize") == []
    await driver.increase(GROUP, 16, tags("b"))
    assert provider.target == 16


async def test_the_providers_own_limit_for_a_new_node_counts(
    provider: ScriptedProvider, driver: ExternalGrpcDriver
) -> None:
    assert driver.traits(GROUP).order_limit == timedelta(minutes=15)
    provider.options = pb.NodeGroupAutoscalingOptions(max_node_provision_duration=Duration(seconds=1800))
    await driver.instances(GROUP)
    assert driver.traits(GROUP).order_limit == timedelta(minutes=30)
    assert not driver.traits(GROUP).tags_orders


@pytest.mark.parametrize(
    ("code", "text", "kind"),
    [
        (grpc.StatusCode.UNKNOWN, "oops", DriverErrorKind.TRANSIENT),
        (grpc.StatusCode.INTERNAL, "oops", DriverErrorKind.TRANSIENT),
        (grpc.StatusCode.UNAVAILABLE, "oops", DriverErrorKind.TRANSIENT),
        (grpc.StatusCode.ABORTED, "oops", DriverErrorKind.TRANSIENT),
        (grpc.StatusCode.FAILED_PRECONDITION, "no", DriverErrorKind.PERMANENT),
        (grpc.StatusCode.PERMISSION_DENIED, "no", DriverErrorKind.PERMANENT),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "out of h100", DriverErrorKind.STOCKOUT),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "Quota for GPUs", DriverErrorKind.QUOTA),
    ],
)
async def test_only_an_answer_says_that_nothing_was_done(
    provider: ScriptedProvider, driver: ExternalGrpcDriver, code: grpc.StatusCode, text: str, kind: DriverErrorKind
) -> None:
    provider.failing["NodeGroupIncreaseSize"] = (code, text)
    with pytest.raises(DriverError, match=text) as error:
        await driver.increase(GROUP, 1, tags("a"))
    assert error.value.kind is kind
    assert len(provider.made("NodeGroupIncreaseSize")) == 1


async def test_only_instances_that_are_there_and_stay_are_named_for_deletion(
    provider: ScriptedProvider, driver: ExternalGrpcDriver
) -> None:
    provider.instances = [an_instance("i1"), an_instance("i2", State.INSTANCE_STATE_DELETING), an_instance("i3")]
    await driver.delete(GROUP, [InstanceId(id) for id in ("i3", "i2", "gone", "i1", "i1")])
    await driver.delete(GROUP, [InstanceId("gone")])
    assert provider.made("NodeGroupDeleteNodes") == [["i1", "i3"]]


async def test_only_what_no_instance_stands_for_is_taken_back(
    provider: ScriptedProvider, driver: ExternalGrpcDriver
) -> None:
    provider.target = 5
    provider.instances = [an_instance("i1"), an_instance("i2"), an_instance("i3", State.INSTANCE_STATE_DELETING)]
    with pytest.raises(DriverError, match="cannot be lowered by 4, only 3 are still to come"):
        await driver.decrease_target(GROUP, 4)
    await driver.decrease_target(GROUP, 3)
    assert provider.made("NodeGroupDecreaseTargetSize") == [-3]


async def test_writes_of_a_group_come_one_after_another(provider: ScriptedProvider, driver: ExternalGrpcDriver) -> None:
    provider.slow = 0.05
    await asyncio.gather(*(driver.increase(GROUP, 2, tags(name)) for name in ("a", "b", "c")))
    assert provider.busiest == 1
    assert provider.target == 8


async def test_the_server_is_told_to_refresh_before_it_is_read(
    provider: ScriptedProvider, driver: ExternalGrpcDriver
) -> None:
    await driver.instances(GROUP)
    called = [method for method, _ in provider.calls]
    assert called.index("Refresh") < called.index("NodeGroupNodes")


async def test_a_group_that_the_provider_lost_is_refused(provider: ScriptedProvider) -> None:
    async with connected(Endpoint(address=provider.address), id="another") as driver:
        assert await driver.groups() == ()
        with pytest.raises(DriverError, match=r"has no node group 'another'"):
            await driver.increase(GROUP, 1, tags("a"))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes the certificates of this test, is not installed")
    return Authority(tmp_path_factory.mktemp("certificates")).create()


def credentials_of(authority: Authority, pair: Pair) -> grpc.ServerCredentials:
    """A server that demands certificates by the authority."""
    chain = [(pair.key.read_bytes(), pair.cert.read_bytes())]
    return grpc.ssl_server_credentials(chain, authority.cert.read_bytes(), require_client_auth=True)


async def test_both_sides_show_certificates(authority: Authority) -> None:
    server, client = authority.issue("server"), authority.issue("client")
    async with listening(ScriptedProvider(), credentials_of(authority, server)) as provider:
        secured = Endpoint(address=provider.address, key=client.key, cert=client.cert, cacert=authority.cert)
        async with connected(secured) as driver:
            assert await driver.target_size(GROUP) == 2
        async with connected(Endpoint(address=provider.address)) as plain:
            assert await failure(lambda: plain.target_size(GROUP)) is DriverErrorKind.TRANSIENT
        assert len(provider.calls) == 1


async def test_a_stranger_is_trusted_by_neither_side(authority: Authority, tmp_path: Path) -> None:
    stranger = Authority(tmp_path, "stranger").create()
    fake = stranger.issue("client")
    server = authority.issue("server")
    async with listening(ScriptedProvider(), credentials_of(authority, server)) as provider:
        for trusted in (authority.cert, stranger.cert):
            endpoint = Endpoint(address=provider.address, key=fake.key, cert=fake.cert, cacert=trusted)
            async with connected(endpoint) as driver:
                assert await failure(lambda driver=driver: driver.target_size(GROUP)) is DriverErrorKind.TRANSIENT
        assert provider.calls == []


async def test_a_certificate_that_was_renewed_in_place_is_shown_from_then_on(
    authority: Authority, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path, "stranger").create()
    old, new, server = stranger.issue("client"), authority.issue("client-2"), authority.issue("server")
    async with listening(ScriptedProvider(), credentials_of(authority, server)) as provider:
        endpoint = Endpoint(address=provider.address, key=old.key, cert=old.cert, cacert=authority.cert)
        async with connected(endpoint) as driver:
            assert await failure(lambda: driver.target_size(GROUP)) is DriverErrorKind.TRANSIENT
            for before, after in ((old.key, new.key), (old.cert, new.cert)):
                await asyncio.to_thread(shutil.copy, after, before)
            assert await failure(lambda: driver.target_size(GROUP)) is DriverErrorKind.TRANSIENT
            assert await driver.target_size(GROUP) == 2
