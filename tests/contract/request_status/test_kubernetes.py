"""An API server keeps the contract, over HTTP to a fake one."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from contract.request_status.suite import KEY, LOCAL, PLANNING, READY, REQUEST, TAINT, RequestStatusContract
from contract.request_status.test_directory import node_of, taints_of, touched
from muster_eventstore import PermanentError, TransientError
from muster_gang_coordinator.adapters.kubernetes import KubernetesCluster
from muster_gang_coordinator.adapters.kubernetes_calls import ClusterApi
from muster_kube.parts import at, mapping, sequence
from muster_kubeapi import Conflict, KubeClient, KubeConfig, Resource, Target, get, patch
from muster_types import NodeName
from support.kube_api import KubeApi, Permission, in_versions, without

REQUESTS = Resource("autoscaling.x-k8s.io", "v1", "provisioningrequests", "ProvisioningRequest", True)
R1 = Target(REQUESTS, KEY.namespace, KEY.name)


class LiveWorld:
    """Objects in an API server; others write through it as well."""

    def __init__(self, api: KubeApi, client: KubeClient) -> None:
        self.api = api
        self._client = client
        self.adapter = KubernetesCluster({LOCAL: ClusterApi(LOCAL, client)})

    async def put_request(self, uid: str, status: Mapping[str, object] | None = None) -> None:
        metadata = {**mapping(REQUEST["metadata"]), "uid": uid}
        self.api.put({**REQUEST, "metadata": metadata, **({"status": status} if status else {})})

    async def status(self) -> Mapping[str, object]:
        return mapping(at(self.api.get(*self._place()), "status"))

    async def put_node(self, name: str, *taints: str) -> None:
        self.api.put(node_of(name, *taints))

    async def taints(self, name: str) -> set[str]:
        return taints_of(self.api.get("Node", "", name))

    async def touch(self, value: str) -> None:
        while True:
            obj = await get(self._client, R1)
            assert obj is not None
            changed = touched(obj, value)
            version = at(obj, "metadata", "resourceVersion")
            status = Target(REQUESTS, KEY.namespace, KEY.name, "status")
            theirs = {"metadata": {"resourceVersion": version}, "status": changed["status"]}
            if not isinstance(await patch(self._client, status, theirs), Conflict):
                return

    def _place(self) -> tuple[str, str, str]:
        return KEY.kind, KEY.namespace, KEY.name


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[LiveWorld]:
    async with KubeApi() as api, KubeClient(KubeConfig(api.kubeconfig(tmp_path / "config"))) as client:
        yield LiveWorld(api, client)


class TestKubernetes(RequestStatusContract):
    @pytest.fixture
    def world(self, world: LiveWorld) -> LiveWorld:
        return world


async def test_a_condition_says_for_which_generation_it_holds(world: LiveWorld) -> None:
    await world.put_request("uid-1")
    await world.adapter.write(LOCAL, KEY, "uid-1", PLANNING)
    listed = [mapping(each) for each in sequence((await world.status())["conditions"])]
    assert [each["observedGeneration"] for each in listed] == [1, 1]


async def test_only_the_status_subresource_is_written(world: LiveWorld, tmp_path: Path) -> None:
    await world.put_request("uid-1")
    token = world.api.users.issue("coordinator")
    group = "autoscaling.x-k8s.io"
    least = {
        Permission("get", group, "provisioningrequests"),
        Permission("patch", group, "provisioningrequests/status"),
    }
    world.api.users.grant("coordinator", least)
    async with KubeClient(KubeConfig(world.api.kubeconfig(tmp_path / "least", token=token))) as client:
        adapter = KubernetesCluster({LOCAL: ClusterApi(LOCAL, client)})
        assert await adapter.write(LOCAL, KEY, "uid-1", READY)
    assert world.api.users.used("coordinator") == least


async def test_the_label_of_the_gang_goes_with_its_taint(world: LiveWorld) -> None:
    labels = {"muster.dev/gang": "train-1a2b3c", "muster.dev/order": "o1"}
    world.api.put({**node_of("n1", TAINT), "metadata": {"name": "n1", "labels": labels}})
    other = {"muster.dev/gang": "another"}
    world.api.put({**node_of("n2", TAINT), "metadata": {"name": "n2", "labels": other}})
    await world.adapter.lift(LOCAL, TAINT, (NodeName("n1"), NodeName("n2")))
    assert at(world.api.get("Node", "", "n1"), "metadata", "labels") == {"muster.dev/order": "o1"}
    assert at(world.api.get("Node", "", "n2"), "metadata", "labels") == other


async def test_an_older_version_of_the_request_is_written_where_only_that_is_served(tmp_path: Path) -> None:
    types = in_versions("autoscaling.x-k8s.io", "v1beta1")
    async with KubeApi(types) as api, KubeClient(KubeConfig(api.kubeconfig(tmp_path / "config"))) as client:
        world = LiveWorld(api, client)
        await world.put_request("uid-1")
        assert await world.adapter.write(LOCAL, KEY, "uid-1", PLANNING)


async def test_a_cluster_without_the_kind_takes_no_status(tmp_path: Path) -> None:
    types = without("ProvisioningRequest")
    async with KubeApi(types) as api, KubeClient(KubeConfig(api.kubeconfig(tmp_path / "config"))) as client:
        adapter = KubernetesCluster({LOCAL: ClusterApi(LOCAL, client)})
        assert await adapter.read(LOCAL, KEY, "uid-1") is None
        assert not await adapter.write(LOCAL, KEY, "uid-1", PLANNING)


async def test_a_server_that_is_away_or_forbids_may_be_asked_again(world: LiveWorld) -> None:
    await world.put_request("uid-1")
    assert await world.adapter.write(LOCAL, KEY, "uid-1", PLANNING)
    world.api.faults.refuse(503, 1)
    with pytest.raises(TransientError, match="503"):
        await world.adapter.write(LOCAL, KEY, "uid-1", READY)
    world.api.users.grant("admin", [])
    with pytest.raises(TransientError, match="forbidden"):
        await world.adapter.write(LOCAL, KEY, "uid-1", READY)
    await world.api.stop()
    with pytest.raises(TransientError):
        await world.adapter.read(LOCAL, KEY, "uid-1")


async def test_a_status_that_the_server_does_not_take_is_an_error_for_good(world: LiveWorld) -> None:
    await world.put_request("uid-1")
    world.api.faults.refuse(422, 1, containing="/status")
    with pytest.raises(PermanentError, match=r"CLUSTER_REFUSED.*422"):
        await world.adapter.write(LOCAL, KEY, "uid-1", PLANNING)
