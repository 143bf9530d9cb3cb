import pytest

from muster_kubeapi import Json
from muster_provisioner.adapters.clusterapi.template import PREFIX, to_template

BOTH = {"cpu": "192", "memory": "2Ti"}


def template(said: dict[str, str], infrastructure: Json | None = None) -> dict[str, object] | None:
    annotations = {f"{PREFIX}{key}": value for key, value in said.items()}
    return to_template({"metadata": {"annotations": annotations}}, infrastructure or {}, "amd64")


def test_annotations_alone_make_a_template() -> None:
    said = {
        **BOTH,
        "ephemeral-disk": "100Gi",
        "maxPods": "30",
        "gpu-type": "nvidia.com/gpu",
        "gpu-count": "8",
        "labels": "topology.kubernetes.io/zone=a,pool=gpu,broken",
        "taints": "gpu=h100:NoSchedule,spot:NoExecute,broken",
    }
    amounts = {"cpu": "192", "memory": "2Ti", "ephemeral-storage": "100Gi", "pods": "30", "nvidia.com/gpu": "8"}
    assert template(said) == {
        "metadata": {
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                "pool": "gpu",
                "topology.kubernetes.io/zone": "a",
            }
        },
        "spec": {
            "taints": [
                {"key": "gpu", "value": "h100", "effect": "NoSchedule"},
                {"key": "spot", "effect": "NoExecute"},
            ]
        },
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def test_a_dra_driver_gets_one_slice_of_devices_and_no_extended_resource() -> None:
    found = template({**BOTH, "dra-driver": "gpu.example.com", "gpu-count": "2", "gpu-type": "nvidia.com/gpu"})
    assert found is not None
    assert found["resourceSlices"] == [
        {
            "driver": "gpu.example.com",
            "pool": {"name": ""},
            "devices": [{"name": f"gpu-{index}", "attributes": {"type": {"string": "gpu"}}} for index in (0, 1)],
        }
    ]
    assert "nvidia.com/gpu" not in found["status"]["allocatable"]  # type: ignore[index]


def test_annotations_override_the_infrastructure_and_the_rest_is_kept() -> None:
    infrastructure = {
        "status": {
            "capacity": {"cpu": "96", "memory": "1Ti", "vendor.example.com/nic": "8"},
            "nodeInfo": {"architecture": "arm64", "operatingSystem": "linux"},
        }
    }
    found = template({"memory": "2Ti"}, infrastructure)
    assert found is not None
    assert found["status"]["capacity"] == {  # type: ignore[index]
        "cpu": "96",
        "memory": "2Ti",
        "vendor.example.com/nic": "8",
        "pods": "110",
    }
    assert found["metadata"] == {"labels": {"kubernetes.io/arch": "arm64", "kubernetes.io/os": "linux"}}


@pytest.mark.parametrize("said", [{}, {"cpu": "8"}, {"memory": "1Ti", "gpu-count": "8"}])
def test_without_cpu_and_memory_there_is_no_template(said: dict[str, str]) -> None:
    assert template(said) is None
