from collections.abc import Mapping, Sequence
from typing import cast

from muster_kube import validate
from muster_provisioner.adapters.simulated.group_settings import SimulatedGroup, WrongShape
from muster_provisioner.adapters.simulated.slices import slice_objects
from muster_types import NodeName

from .groups import NODE, Json, a_device, a_group, a_template

PCIE = "resource.kubernetes.io/pcieRoot"
GPUS: Json = {
    "driver": "gpu.example.com",
    "pool": {"name": "gpus"},
    "devices": [
        a_device(f"gpu-{index}", uuid={"string": "?"}, model={"string": "h100"}, numa={"int": index // 2})
        for index in range(4)
    ],
}
NICS: Json = {"driver": "nic.example.com", "devices": [a_device("nic-0"), a_device("nic-1")]}
BINDINGS = [
    {"attribute": PCIE, "devices": ["gpu-0", "gpu-1", "nic-0"]},
    {"attribute": PCIE, "devices": ["gpu-2", "gpu-3", "nic-1"]},
]


def a_gpu_group(**parts: object) -> SimulatedGroup:
    return a_group(
        a_template(
            resourceSlices=[GPUS, NICS],
            attributeBindings=BINDINGS,
            uniqueAttributes=["gpu.example.com/uuid"],
            **parts,
        )
    )


def made(
    group: SimulatedGroup, node: NodeName = NODE, shape: WrongShape | None = None, seed: int = 1
) -> Sequence[Json]:
    return slice_objects(group, node, shape or WrongShape(), seed)


def attribute(slices: Sequence[Json], device: str, name: str) -> object:
    for obj in slices:
        for each in cast("list[Json]", cast("Json", obj["spec"])["devices"]):
            if each["name"] == device:
                value = cast("Mapping[str, Mapping[str, object]]", each["attributes"]).get(name)
                return None if value is None else next(iter(value.values()))
    return None


def test_pools_and_slices_are_named_after_the_node_and_pass_validation() -> None:
    slices = made(a_gpu_group())
    assert [cast("Json", obj["metadata"])["name"] for obj in slices] == [
        f"{NODE}-gpu.example.com-0",
        f"{NODE}-nic.example.com-1",
    ]
    specs = [cast("Json", obj["spec"]) for obj in slices]
    assert [spec["nodeName"] for spec in specs] == [NODE, NODE]
    assert specs[0]["pool"] == {"name": NODE, "generation": 1, "resourceSliceCount": 1}
    assert [problem for obj in slices for problem in validate(obj)] == []


def test_pools_of_one_driver_keep_their_names_apart_and_count_their_slices() -> None:
    def part(pool: str, device: str) -> Json:
        return {"driver": "gpu.example.com", "pool": {"name": pool}, "devices": [a_device(device)]}

    slices = made(a_group(a_template(resourceSlices=[part("a", "x"), part("b", "y"), part("b", "z")])))
    pools = [cast("Json", cast("Json", obj["spec"])["pool"]) for obj in slices]
    assert [(pool["name"], pool["resourceSliceCount"]) for pool in pools] == [
        (f"{NODE}-a", 1),
        (f"{NODE}-b", 2),
        (f"{NODE}-b", 2),
    ]


def test_unique_attributes_differ_between_devices_and_between_nodes() -> None:
    values = {
        attribute(made(a_gpu_group(), node), f"gpu-{index}", "uuid")
        for node in (NODE, NodeName("h100-r7-abcde-1"))
        for index in range(4)
    }
    assert len(values) == 8
    assert "?" not in values


def test_the_same_seed_gives_the_same_node_and_another_seed_another() -> None:
    assert made(a_gpu_group()) == made(a_gpu_group())
    assert made(a_gpu_group()) != made(a_gpu_group(), seed=2)


def test_bound_devices_share_a_value_that_no_other_binding_has() -> None:
    slices = made(a_gpu_group())
    roots = [{attribute(slices, device, PCIE) for device in cast("list[str]", each["devices"])} for each in BINDINGS]
    assert [len(values) for values in roots] == [1, 1]
    assert roots[0] != roots[1]
    assert all(str(value).startswith("pci0000:") for values in roots for value in values)


def test_a_binding_keeps_the_kind_of_the_placeholder_and_avoids_what_is_written() -> None:
    bindings = [{"attribute": "gpu.example.com/numa", "devices": ["gpu-0", "gpu-1"]}]
    slices = made(a_group(a_template(resourceSlices=[GPUS], attributeBindings=bindings)))
    numa = [attribute(slices, f"gpu-{index}", "numa") for index in range(4)]
    assert numa[2:] == [1, 1]
    assert numa[0] == numa[1] != 1
    assert isinstance(numa[0], int)


def test_what_the_template_writes_stays_as_it_is() -> None:
    assert attribute(made(a_gpu_group()), "gpu-3", "model") == "h100"
    assert GPUS["devices"] == cast("Json", a_gpu_group().spec.template.resource_slices[0])["devices"]


def test_a_wrong_shape_lacks_devices_and_has_other_attributes() -> None:
    shape = WrongShape.model_validate(
        {
            "drop": ["gpu-3"],
            "set": [
                {"device": "gpu-0", "attribute": "numa", "value": 7},
                {"device": "gpu-1", "attribute": "gpu.example.com/model", "value": "a100"},
                {"device": "nic-0", "attribute": "rdma", "value": False},
            ],
        }
    )
    slices = made(a_gpu_group(), shape=shape)
    devices = cast("list[Json]", cast("Json", slices[0]["spec"])["devices"])
    assert [each["name"] for each in devices] == ["gpu-0", "gpu-1", "gpu-2"]
    assert attribute(slices, "gpu-0", "numa") == 7
    assert attribute(slices, "gpu-1", "model") == "a100"
    assert attribute(slices, "nic-0", "rdma") is False


def test_slices_of_older_form_keep_their_attributes_under_basic() -> None:
    old: Json = {
        "driver": "gpu.example.com",
        "devices": [{"name": "gpu-0", "basic": {"attributes": {"uuid": {"string": "?"}}}}],
    }
    slices = made(a_group(a_template(resourceSlices=[old], uniqueAttributes=["gpu.example.com/uuid"])))
    device = cast("list[Json]", cast("Json", slices[0]["spec"])["devices"])[0]
    uuid = cast("Mapping[str, Mapping[str, Mapping[str, str]]]", device["basic"])["attributes"]["uuid"]["string"]
    assert uuid.startswith("uuid-")


def test_shared_counters_and_network_attached_slices_pass_unchanged() -> None:
    counters: Json = {
        "driver": "gpu.example.com",
        "pool": {"name": "p"},
        "sharedCounters": [{"name": "c", "counters": {"memory": {"value": "80Gi"}}}],
    }
    fabric: Json = {"driver": "net.example.com", "allNodes": True, "devices": [{"name": "chan-0"}]}
    first, second = made(a_group(a_template(resourceSlices=[counters, fabric])))
    assert cast("Json", first["spec"])["sharedCounters"] == counters["sharedCounters"]
    assert "nodeName" not in cast("Json", second["spec"])
