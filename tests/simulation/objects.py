"""Kubernetes objects of the simulated world, as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Json = dict[str, object]
NAMESPACE = "ml"
GPU = "gpu.example.com"
PART = "part.example.com"
RACK = "topology.kubernetes.io/rack"
CONSUME = "autoscaling.x-k8s.io/consume-provisioning-request"
CLASS = "autoscaling.x-k8s.io/provisioning-class-name"


@dataclass(frozen=True, slots=True)
class Shape:
    """What a node brings: whole GPUs, the first half of them on NUMA node 0, and halves of one divisible device."""

    gpus: int = 4
    model: str = "h100"
    halves: int = 0
    cpu: int = 32


def device_classes() -> list[Json]:
    """The classes that claims name."""
    halves = f'device.driver == "{PART}" && device.attributes["{PART}"].kind == "half"'
    return [_class("gpu", f'device.driver == "{GPU}"'), _class("half", halves)]


def _class(name: str, expression: str) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def slice_specs(shape: Shape, pool: str, generation: int = 1, dropped: frozenset[str] = frozenset()) -> list[Json]:
    """Specs of the slices of a node, without the node's name."""
    specs: list[Json] = []
    devices = [_gpu(index, shape) for index in range(shape.gpus) if f"gpu-{index}" not in dropped]
    if shape.gpus:
        specs.append({"driver": GPU, "pool": _pool(pool, generation, 1), "devices": devices})
    if shape.halves:
        counters = {"name": "card", "counters": {"slots": {"value": str(shape.halves)}}}
        parts = [_part("whole", "whole", shape.halves), *(_part(f"half-{i}", "half", 1) for i in range(shape.halves))]
        specs.append({"driver": PART, "pool": _pool(pool, generation, 2), "sharedCounters": [counters]})
        specs.append({"driver": PART, "pool": _pool(pool, generation, 2), "devices": parts})
    return specs


def _pool(name: str, generation: int, slices: int) -> Json:
    return {"name": name, "generation": generation, "resourceSliceCount": slices}


def _gpu(index: int, shape: Shape) -> Json:
    numa = 0 if index < (shape.gpus + 1) // 2 else 1
    return {
        "name": f"gpu-{index}",
        "attributes": {"model": {"string": shape.model}, "numa": {"int": numa}},
        "capacity": {"memory": {"value": "80Gi"}},
    }


def _part(name: str, kind: str, slots: int) -> Json:
    draws = [{"counterSet": "card", "counters": {"slots": {"value": str(slots)}}}]
    return {"name": name, "attributes": {"kind": {"string": kind}}, "consumesCounters": draws}


def node(name: str, shape: Shape, labels: Mapping[str, str], *, ready: bool = True) -> Json:
    """A Node as its kubelet shows it."""
    status = "True" if ready else "False"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "spec": {},
        "status": {"allocatable": allocatable(shape), "conditions": [{"type": "Ready", "status": status}]},
    }


def allocatable(shape: Shape) -> Json:
    """Resources of a node."""
    return {"cpu": str(shape.cpu), "memory": "256Gi", "pods": "110"}


def node_slices(name: str, shape: Shape, generation: int = 1, dropped: frozenset[str] = frozenset()) -> list[Json]:
    """The ResourceSlices of a node that exists."""
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"{name}-{number}"},
            "spec": {**spec, "nodeName": name},
        }
        for number, spec in enumerate(slice_specs(shape, name, generation, dropped))
    ]


def node_group(name: str, shape: Shape, most: int, price: float, rack: str, driver: Mapping[str, object]) -> Json:
    """A NodeGroup of the simulated driver."""
    return {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "NodeGroup",
        "metadata": {"name": name},
        "spec": {
            "minSize": 0,
            "maxSize": most,
            "currentSize": 0,
            "pricePerNode": price,
            "driver": {"type": "simulated", **driver},
            "template": {
                "metadata": {"labels": {"pool": name, RACK: rack}},
                "status": {"allocatable": allocatable(shape)},
                "resourceSlices": slice_specs(shape, "p"),
            },
        },
    }


@dataclass(frozen=True, slots=True)
class PodShape:
    """What one pod of a gang asks for. `aligned`: its GPUs share a NUMA node."""

    gpus: int = 1
    aligned: bool = False
    halves: int = 0
    cpu: int = 2
    model: str = ""


def claim_spec(shape: PodShape) -> Json:
    """Devices of a pod as a claim."""
    requests: list[Json] = []
    if shape.gpus:
        exactly: Json = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": shape.gpus}
        if shape.model:
            exactly["selectors"] = [{"cel": {"expression": f'device.attributes["{GPU}"].model == "{shape.model}"'}}]
        requests.append({"name": "gpus", "exactly": exactly})
    if shape.halves:
        half = {"deviceClassName": "half", "allocationMode": "ExactCount", "count": shape.halves}
        requests.append({"name": "halves", "exactly": half})
    constraints = [{"requests": ["gpus"], "matchAttribute": f"{GPU}/numa"}] if shape.aligned else []
    return {"devices": {"requests": requests, **({"constraints": constraints} if constraints else {})}}


def claim_template(name: str, shape: PodShape) -> Json:
    """The ResourceClaimTemplate of a gang's pods."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"spec": claim_spec(shape)},
    }


def pod_template(name: str, shape: PodShape, request: str) -> Json:
    """The PodTemplate of a gang."""
    claims = shape.gpus or shape.halves
    container: Json = {"name": "train", "image": "train:1", "resources": {"requests": {"cpu": str(shape.cpu)}}}
    spec: Json = {"containers": [container], "restartPolicy": "Never"}
    if claims:
        spec["resourceClaims"] = [{"name": "devices", "resourceClaimTemplateName": name}]
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "template": {
            "metadata": {
                "labels": {"app": request},
                "annotations": {CONSUME: request, CLASS: "atomic.muster.dev"},
            },
            "spec": spec,
        },
    }


def request(name: str, sets: Sequence[tuple[str, int]], *, uid: str = "", owner: str = "", valid: int = 0) -> Json:
    """A ProvisioningRequest."""
    metadata: Json = {"name": name, "namespace": NAMESPACE}
    if uid:
        metadata["uid"] = uid
    if owner:
        metadata["ownerReferences"] = [
            {
                "apiVersion": "kueue.x-k8s.io/v1beta1",
                "kind": "Workload",
                "name": owner,
                "uid": owner,
                "controller": True,
            }
        ]
    spec: Json = {
        "provisioningClassName": "atomic.muster.dev",
        "podSets": [{"podTemplateRef": {"name": template}, "count": count} for template, count in sets],
    }
    if valid:
        spec["parameters"] = {"ValidUntilSeconds": str(valid)}
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": metadata,
        "spec": spec,
    }


def foreign_pod(name: str, node: str, cpu: int, device: tuple[str, str, str] | None) -> list[Json]:
    """A pod of somebody else that runs on a node, with its allocated claim."""
    spec: Json = {"containers": [{"name": "c", "image": "c:1", "resources": {"requests": {"cpu": str(cpu)}}}]}
    objects: list[Json] = []
    if device is not None:
        driver, pool, name_of = device
        spec["resourceClaims"] = [{"name": "d", "resourceClaimName": f"{name}-d"}]
        result = {"request": "d", "driver": driver, "pool": pool, "device": name_of}
        objects.append(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": f"{name}-d", "namespace": "other"},
                "spec": {"devices": {"requests": [{"name": "d", "exactly": {"deviceClassName": "gpu", "count": 1}}]}},
                "status": {
                    "allocation": {"devices": {"results": [result]}},
                    "reservedFor": [{"resource": "pods", "name": name, "uid": f"uid-{name}"}],
                },
            }
        )
    objects.append(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "other", "uid": f"uid-{name}"},
            "spec": {**spec, "nodeName": node},
            "status": {"phase": "Running"},
        }
    )
    return objects
