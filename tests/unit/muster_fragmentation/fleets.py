"""Small fleets in few words."""

from collections.abc import Mapping, Sequence
from typing import Any

from muster_plan import Snapshot

Json = dict[str, Any]
DRIVER = "gpu.example.com"
NUMA = f"{DRIVER}/numa"


def a_class() -> Json:
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}}
    return {**head, "spec": {"selectors": [selector]}}


def a_node(name: str, gpus: int = 8, **labels: str) -> list[Json]:
    """A node whose GPUs lie half on numa 0, half on numa 1."""
    devices = [{"name": f"gpu-{index}", "attributes": {"numa": {"int": index * 2 // gpus}}} for index in range(gpus)]
    return [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}},
        a_slice(name, devices),
    ]


def a_slice(node: str, devices: Sequence[Json], **spec: Any) -> Json:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-gpus"},
        "spec": {"driver": DRIVER, "pool": pool, "nodeName": node, "devices": list(devices), **spec},
    }


def asking(count: int, *, match: bool = False) -> Json:
    constraints = [{"requests": ["r"], "matchAttribute": NUMA}] if match else []
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
    return {"devices": {"requests": [{"name": "r", "exactly": exactly}], "constraints": constraints}}


def a_template(name: str, count: int, *, match: bool = False) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"spec": asking(count, match=match)},
    }


def held(name: str, node: str, *gpus: int, match: bool = False, pods: Sequence[str] = ()) -> Json:
    """A claim that holds these GPUs of a node."""
    results = [{"request": "r", "driver": DRIVER, "pool": node, "device": f"gpu-{gpu}"} for gpu in gpus]
    consumers = [{"resource": "pods", "name": pod, "uid": pod} for pod in pods]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": asking(len(gpus), match=match),
        "status": {"allocation": {"devices": {"results": results}}, "reservedFor": consumers},
    }


def a_group(name: str, price: float = 0, **labels: str) -> Json:
    return {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "NodeGroup",
        "metadata": {"name": name},
        "spec": {
            "maxSize": 9,
            "pricePerNode": price,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "status": {"allocatable": {}}},
        },
    }


def a_view(*objects: Json | list[Json]) -> Snapshot:
    flat: list[Mapping[str, object]] = [a_class()]
    for each in objects:
        flat += each if isinstance(each, list) else [each]
    snapshot = Snapshot.build(flat)
    assert snapshot.problems == {}
    return snapshot
