from collections.abc import Mapping
from pathlib import Path

import yaml

from muster_kube import ClusterDirectory
from muster_provisioner.adapters.served_cloud.catalogue import DirectoryCatalogue, simulated_manifest
from muster_provisioner.adapters.simulated.driver import SimulatedCloud
from muster_provisioner.adapters.simulated.state_file import StateFile
from muster_provisioner.domain.messages import InstanceId
from muster_servicekit.clock import FakeClock
from muster_types import NodeGroupName, ObjectKey


class Nowhere:
    """`ClusterObjects` that nobody reads."""

    def put(self, obj: Mapping[str, object]) -> None:
        pass

    def delete(self, key: ObjectKey) -> None:
        pass


def a_group(name: str, driver: dict[str, object], **spec: object) -> dict[str, object]:
    template = {"metadata": {"labels": {"pool": name}}, "status": {"allocatable": {"cpu": "8"}}}
    body = {"maxSize": 4, "currentSize": 2, "driver": driver, "template": template, **spec}
    return {"apiVersion": "muster.dev/v1alpha1", "kind": "NodeGroup", "metadata": {"name": name}, "spec": body}


def a_node(name: str, provider_id: str, **labels: str) -> dict[str, object]:
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"providerID": provider_id}}


def opened(path: Path, *objects: dict[str, object]) -> tuple[DirectoryCatalogue, SimulatedCloud]:
    (path / "dump").mkdir()
    (path / "dump" / "objects.yaml").write_text(yaml.safe_dump_all(objects))
    cloud = SimulatedCloud("local", 1, StateFile(path / "cloud.json"), Nowhere(), FakeClock())
    return DirectoryCatalogue(ClusterDirectory((path / "dump",)), cloud, "local"), cloud


async def test_groups_of_other_drivers_and_unsound_ones_are_not_sold(tmp_path: Path) -> None:
    catalogue, cloud = opened(
        tmp_path,
        a_group("a", {"type": "simulated"}),
        a_group("b", {"type": "karpenter"}),
        a_group("c", {"type": "simulated", "bootSeconds": -1}),
    )
    await catalogue.refresh()
    assert [bounds.group for bounds in await cloud.groups()] == ["a"]
    assert catalogue.offer(NodeGroupName("c")) is None


def test_a_group_that_a_client_knows_by_another_id_is_sold_under_that_and_behaves_as_it_says() -> None:
    driver = {"type": "externalgrpc", "address": "h:1", "id": "pool-7", "simulated": {"bootSeconds": 5}}
    sold = simulated_manifest(a_group("ours", driver))
    assert sold is not None
    assert sold["metadata"] == {"name": "pool-7"}
    assert sold["spec"]["driver"] == {"bootSeconds": 5, "type": "simulated"}  # type: ignore[index]


async def test_nodes_of_the_selector_are_the_instances_from_before_in_order_of_their_names(tmp_path: Path) -> None:
    selector = {"matchLabels": {"rack": "r7"}}
    catalogue, _ = opened(
        tmp_path,
        a_group("a", {"type": "simulated"}, selector=selector),
        a_node("n2", "metal:///2", rack="r7"),
        a_node("n1", "metal:///1", rack="r7"),
        a_node("n3", "metal:///3", rack="r7"),
        a_node("n0", "metal:///0", rack="r8"),
        a_node("n00", "", rack="r7"),
    )
    for _ in range(2):
        await catalogue.refresh()
        first, second = (InstanceId(f"simulated://local/a/existing-{index}") for index in (0, 1))
        assert (catalogue.provider_id(first), catalogue.provider_id(second)) == ("metal:///1", "metal:///2")
        assert catalogue.instance("metal:///2") == second
        assert catalogue.instance("metal:///3") == "metal:///3"


async def test_an_offer_says_what_a_new_node_is_and_costs(tmp_path: Path) -> None:
    catalogue, _ = opened(tmp_path, a_group("a", {"type": "simulated"}, pricePerNode=2.5, zeroOrMax=True))
    await catalogue.refresh()
    offer = catalogue.offer(NodeGroupName("a"))
    assert offer is not None
    assert (offer.price, offer.zero_or_max, offer.order_limit_seconds) == (2.5, True, 900)
    assert offer.capacity == offer.allocatable == {"cpu": "8"}
    assert offer.labels == {"pool": "a", "muster.dev/node-group": "a"}
