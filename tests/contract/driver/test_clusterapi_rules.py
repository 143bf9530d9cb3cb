"""What Cluster API asks of a driver beside the common suite (group-capacity §6.1), with its controllers."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import cast

import pytest

from contract.driver.clusterapi import (
    DELETE_MACHINE,
    GROUP,
    MACHINES,
    NAMESPACE,
    PAUSED,
    SIZED,
    a_clusterapi_group,
    clusterapi_cluster,
)
from contract.driver.providers import PointedKubeClient
from contract.driver.suite import failure, tags
from contract.driver.test_clusterapi_driver import ClusterApiRig, Stock, clusterapi_rig
from muster_kubeapi import Conflict, Json, KubeConfig, Target, delete, replace
from muster_provisioner.adapters.cluster_nodes import ApiNodes
from muster_provisioner.adapters.clusterapi.driver import ClusterApiDriver
from muster_provisioner.domain.group import InstanceState
from muster_provisioner.domain.messages import InstanceId, ShortfallClass
from muster_provisioner.ports import DriverError, DriverErrorKind
from muster_servicekit.clock import FakeClock
from support.nats_server import wait_until


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncGenerator[ClusterApiRig]:
    async with clusterapi_rig(tmp_path) as rig:
        yield rig


@pytest.fixture
async def pool(tmp_path: Path) -> AsyncGenerator[ClusterApiRig]:
    """A MachinePool whose provider makes no Machines."""
    async with clusterapi_rig(tmp_path, "MachinePool") as rig:
        yield rig


def metadata(obj: Json) -> Json:
    return cast("Json", obj["metadata"])


async def test_sizes_are_written_to_the_scale_subresource_and_nowhere_else(rig: ClusterApiRig) -> None:
    rig.cluster.api.users.calls.clear()
    await rig.driver.increase(GROUP, 3, tags("a"))
    written = [call for call in rig.cluster.api.users.calls if call.verb not in ("get", "list", "watch")]
    assert [(call.verb, call.resource, call.subresource) for call in written] == [
        ("update", "machinedeployments", "scale")
    ]
    assert rig.replicas() == 5


async def test_another_writers_size_is_added_to_and_not_overwritten(tmp_path: Path) -> None:
    """An autoscaler writes between the look and the write: the version is old then, and it is looked again."""
    clock = FakeClock()
    async with clusterapi_cluster(tmp_path, "MachineDeployment", clock) as (cluster, _):

        async def grow_by_one(point: str) -> None:
            if point.startswith("before PUT") and len(points) == 0:
                sized = cluster.api.get("MachineDeployment", NAMESPACE, GROUP)
                assert sized is not None
                spec = {**cast("Json", sized["spec"]), "replicas": 3}
                cluster.api.put({**sized, "kind": "MachineDeployment", "spec": spec})
            points.append(point)

        points: list[str] = []
        async with PointedKubeClient(KubeConfig(cluster.kubeconfig)) as client:
            client.fault = grow_by_one
            driver = ClusterApiDriver(client, ApiNodes(client), clock)
            assert driver.declare(a_clusterapi_group("MachineDeployment")) is None
            await driver.increase(GROUP, 2, tags("a"))
            assert await driver.target_size(GROUP) == 5
        assert [point.split()[0] for point in points] == ["before", "before", "after"]


async def test_a_late_repeat_of_a_write_changes_nothing(rig: ClusterApiRig) -> None:
    """Absolute replicas over a version: the same bytes, arriving again, meet another version."""
    old = rig.sized()
    await rig.driver.increase(GROUP, 3, tags("a"))
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": GROUP, "namespace": NAMESPACE, "resourceVersion": metadata(old)["resourceVersion"]},
        "spec": {"replicas": 5},
    }
    async with rig.cluster.client("late") as client:
        target = Target(SIZED[rig.kind], NAMESPACE, GROUP, "scale")
        assert isinstance(await replace(client, target, scale), Conflict)
    assert rig.replicas() == 5


async def test_a_write_without_answer_is_transient(rig: ClusterApiRig) -> None:
    rig.cluster.api.faults.refuse(503, 1, containing="/scale")
    assert await failure(lambda: rig.driver.increase(GROUP, 1, tags("a"))) is DriverErrorKind.TRANSIENT


@pytest.mark.parametrize("whole_cluster", [False, True], ids=["object", "cluster"])
async def test_nothing_is_written_while_it_would_have_no_effect(rig: ClusterApiRig, whole_cluster: bool) -> None:
    machine = InstanceId(str(metadata(rig.cluster.api.all("Machine")[0])["name"]))
    if whole_cluster:
        workload = rig.cluster.api.get("Cluster", NAMESPACE, "workload")
        assert workload is not None
        rig.cluster.api.put({**workload, "kind": "Cluster", "spec": {"paused": True}})
    else:
        annotations = cast("Json", metadata(rig.sized())["annotations"])
        rig.change(annotations={**annotations, PAUSED: ""})
    for call in (lambda: rig.driver.increase(GROUP, 1, tags("a")), lambda: rig.driver.delete(GROUP, [machine])):
        with pytest.raises(DriverError, match="paused") as error:
            await call()
        assert error.value.kind is DriverErrorKind.PERMANENT
    assert rig.replicas() == 2
    assert DELETE_MACHINE not in str(rig.machines())


async def test_the_tighter_of_declared_and_annotated_bounds_holds(tmp_path: Path) -> None:
    async with clusterapi_rig(tmp_path) as rig:
        assert [(each.min_size, each.max_size) for each in await rig.driver.groups()] == [(0, 6)]
        with pytest.raises(DriverError, match="a size of 7 exceeds its maximum of 6"):
            await rig.driver.increase(GROUP, 5, tags("a"))
        rig.change(annotations={})
        await rig.driver.increase(GROUP, 5, tags("a"))
        assert rig.replicas() == 7


async def test_the_chosen_machines_are_marked_before_the_replicas_fall(rig: ClusterApiRig) -> None:
    await rig.driver.increase(GROUP, 3, tags("a"))
    await rig.pass_time(1)
    leaving = [each.id for each in await rig.driver.instances(GROUP)][1:3]
    rig.cluster.api.users.calls.clear()
    await rig.driver.delete(GROUP, leaving)
    written = [call for call in rig.cluster.api.users.calls if call.verb in ("patch", "update")]
    assert [(call.resource, call.subresource) for call in written] == [
        ("machines", ""),
        ("machines", ""),
        ("machinedeployments", "scale"),
    ]
    marked = [metadata(each)["name"] for each in rig.machines() if DELETE_MACHINE in str(metadata(each))]
    assert marked == leaving
    assert rig.replicas() == 3
    await rig.pass_time(1)
    assert not set(leaving) & {each.id for each in await rig.driver.instances(GROUP)}


async def test_a_deletion_that_is_repeated_before_its_controller_acts_lowers_nothing_more(rig: ClusterApiRig) -> None:
    await rig.driver.increase(GROUP, 3, tags("a"))
    await rig.pass_time(1)
    leaving = [each.id for each in await rig.driver.instances(GROUP)][1:3]
    for _ in range(3):
        await rig.driver.delete(GROUP, leaving)
        assert rig.replicas() == 3
    await rig.pass_time(1)
    assert len(rig.machines()) == 3


async def test_an_increase_waits_for_machines_that_are_about_to_go_for_it_would_keep_them(rig: ClusterApiRig) -> None:
    first, second = sorted(each.id for each in await rig.driver.instances(GROUP))
    await rig.driver.delete(GROUP, [first])
    assert rig.replicas() == 1
    with pytest.raises(DriverError) as refused:
        await rig.driver.increase(GROUP, 1, tags("a"))
    assert (refused.value.kind, rig.replicas()) == (DriverErrorKind.TRANSIENT, 1)
    await rig.cluster.settle()
    await rig.driver.increase(GROUP, 1, tags("a"))
    await rig.cluster.settle()
    left = {each.id for each in await rig.driver.instances(GROUP)}
    assert (len(left), second in left, first in left) == (2, True, False)


async def test_a_deletion_waits_while_machines_are_being_made(rig: ClusterApiRig) -> None:
    """Fewer replicas would then be filled by not making those, and the marked ones would stay."""
    (first, _) = await rig.driver.instances(GROUP)
    await rig.driver.increase(GROUP, 2, tags("a"))
    assert await failure(lambda: rig.driver.delete(GROUP, [first.id])) is DriverErrorKind.TRANSIENT
    assert rig.replicas() == 4
    await rig.pass_time(1)
    await rig.driver.delete(GROUP, [first.id])
    await rig.pass_time(1)
    assert first.id not in {each.id for each in await rig.driver.instances(GROUP)}
    assert len(rig.machines()) == 3


async def test_a_lack_of_capacity_is_a_failure_once_it_stands(rig: ClusterApiRig) -> None:
    """Providers retry for ever and have no class for it."""
    rig.capi.has_stock = Stock(0)
    await rig.driver.increase(GROUP, 1, tags("a"))
    await rig.cluster.settle()
    await rig.clock.advance(9)
    young = (await rig.driver.instances(GROUP))[-1]
    assert (young.state, young.failure) == (InstanceState.CREATING, None)
    await rig.clock.advance(2)
    old = (await rig.driver.instances(GROUP))[-1]
    assert old.failure is not None
    assert old.failure.kind is ShortfallClass.STOCKOUT
    assert "InsufficientInstanceCapacity" in old.failure.message


async def test_a_machine_that_another_actor_replaces_keeps_its_name_to_the_end(rig: ClusterApiRig) -> None:
    (first, second) = await rig.driver.instances(GROUP)
    async with rig.cluster.client("machine-health-check") as client:
        await delete(client, Target(MACHINES, NAMESPACE, first.id))
    assert [each.state for each in await rig.driver.instances(GROUP)] == [
        InstanceState.DELETING,
        InstanceState.RUNNING,
    ]
    await rig.pass_time(1)
    found = [each.id for each in await rig.driver.instances(GROUP)]
    assert second.id in found
    assert first.id not in found
    assert len(found) == 2


async def test_a_size_that_a_controller_has_still_to_default_is_what_it_has(rig: ClusterApiRig) -> None:
    old = rig.sized()
    spec = {name: value for name, value in cast("Json", old["spec"]).items() if name != "replicas"}
    rig.cluster.api.put({**old, "kind": rig.kind, "spec": {**spec, "replicas": None}, "status": {"replicas": 2}})
    assert await rig.driver.target_size(GROUP) == 2


async def test_an_object_that_does_not_exist_is_a_permanent_error(tmp_path: Path) -> None:
    async with clusterapi_rig(tmp_path, name="missing") as rig:
        with pytest.raises(DriverError, match="MachineDeployment fleet/missing does not exist") as error:
            await rig.driver.target_size(GROUP)
        assert error.value.kind is DriverErrorKind.PERMANENT


async def test_t44_one_node_of_a_pool_without_machines_cannot_be_chosen(pool: ClusterApiRig) -> None:
    await pool.driver.increase(GROUP, 4, tags("a"))
    await pool.pass_time(1)
    found = await pool.driver.instances(GROUP)
    assert len(found) == 6
    assert [each.state for each in found] == [InstanceState.RUNNING] * 6
    with pytest.raises(DriverError, match="1 of its 6 nodes cannot be chosen for deletion") as error:
        await pool.driver.delete(GROUP, [found[5].id])
    assert error.value.kind is DriverErrorKind.PERMANENT
    assert pool.replicas() == 6
    await pool.pass_time(1)
    assert [each.id for each in await pool.driver.instances(GROUP)] == [each.id for each in found]


async def test_t44_a_pool_without_machines_can_be_given_back_whole(pool: ClusterApiRig) -> None:
    found = await pool.driver.instances(GROUP)
    for _ in range(2):
        await pool.driver.delete(GROUP, [each.id for each in found])
        assert pool.replicas() == 0
    await pool.pass_time(1)
    assert await pool.driver.instances(GROUP) == ()


async def test_instances_of_a_pool_without_machines_are_nodes_by_provider_id(pool: ClusterApiRig) -> None:
    await pool.driver.increase(GROUP, 1, tags("a"))
    await pool.pass_time(1)

    async def named() -> bool:
        return all(each.node for each in await pool.driver.instances(GROUP))

    await wait_until(named, "the nodes are known by their provider ids")
    found = await pool.driver.instances(GROUP)
    assert [(each.id, each.node) for each in found] == [
        (f"test:///{GROUP}-{index:05d}", f"node-{GROUP}-{index:05d}") for index in (1, 2, 3)
    ]


async def test_a_pools_size_that_no_instance_stands_for_can_be_taken_back(pool: ClusterApiRig) -> None:
    await pool.driver.increase(GROUP, 3, tags("a"))
    with pytest.raises(DriverError, match="only 3 are still to come"):
        await pool.driver.decrease_target(GROUP, 4)
    await pool.driver.decrease_target(GROUP, 3)
    assert pool.replicas() == 2


async def test_a_template_is_read_from_annotations_and_the_infrastructure(rig: ClusterApiRig) -> None:
    assert await rig.driver.template(GROUP) is None
    capacity = {"cpu": "96", "memory": "1Ti"}
    rig.cluster.api.put(
        {
            "kind": "TestMachineTemplate",
            "metadata": {"name": "gpu", "namespace": NAMESPACE},
            "status": {"capacity": capacity, "nodeInfo": {"architecture": "arm64"}},
        }
    )
    old = rig.sized()
    ref = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "TestMachineTemplate", "name": "gpu"}
    spec = {**cast("Json", old["spec"]), "template": {"spec": {"infrastructureRef": ref}}}
    prefix = "capacity.cluster-autoscaler.kubernetes.io/"
    annotations = {f"{prefix}memory": "2Ti", f"{prefix}dra-driver": "gpu.example.com", f"{prefix}gpu-count": "2"}
    rig.cluster.api.put(
        {**old, "kind": rig.kind, "spec": spec, "metadata": {**metadata(old), "annotations": annotations}}
    )
    found = await rig.driver.template(GROUP)
    assert found is not None
    assert found["metadata"] == {"labels": {"kubernetes.io/arch": "arm64", "kubernetes.io/os": "linux"}}
    assert cast("Json", found["status"])["allocatable"] == {"cpu": "96", "memory": "2Ti", "pods": "110"}
    (slice,) = cast("list[Json]", found["resourceSlices"])
    assert [device["name"] for device in cast("list[Json]", slice["devices"])] == ["gpu-0", "gpu-1"]
