"""Fleets and gangs of any size for the planner's bench: mixed use, several shapes, many groups; seeded."""

import random
from collections.abc import Iterator
from typing import Any

GPU, NIC, ROOT, RACK = (
    "gpu.example.com",
    "nic.example.com",
    "resource.kubernetes.io/pcieRoot",
    "topology.kubernetes.io/rack",
)
Json = dict[str, Any]


def device(kind: str, index: int, model: str) -> Json:
    attributes: Json = {"numa": {"int": index // 4}, "index": {"int": index}, ROOT: {"string": f"pci0000:{index:02d}"}}
    if kind == "gpu":
        attributes["model"] = {"string": model}
    return {"name": f"{kind}-{index}", "attributes": attributes, "capacity": {"memory": {"value": "80Gi"}}}


def slice_specs(gpus: int, model: str) -> list[Json]:
    return [
        {
            "driver": driver,
            "pool": {"name": "template", "generation": 1, "resourceSliceCount": 1},
            "devices": [device(kind, index, model) for index in range(gpus)],
        }
        for kind, driver in (("gpu", GPU), ("nic", NIC))
    ]


def fleet(nodes: int, *, seed: int = 7) -> Iterator[Json]:
    """Nodes of three shapes: a third empty, a third partly used, a third full or short of CPU."""
    rng = random.Random(seed)
    for name in ("gpu", "nic"):
        expression = f'device.driver == "{name}.example.com"'
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": name},
            "spec": {"selectors": [{"cel": {"expression": expression}}]},
        }
    for number in range(nodes):
        name = f"node-{number:05d}"
        gpus, model = rng.choice(((8, "h100"), (8, "h100"), (8, "a100"), (4, "l40s")))
        labels = {"kubernetes.io/hostname": name, RACK: f"r{number // 16:04d}", "example.com/model": model}
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {},
            "status": {
                "allocatable": {"cpu": "192", "memory": "2Ti", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        for spec in slice_specs(gpus, model):
            pool = {**spec["pool"], "name": name}
            yield {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": {"name": f"{name}-{spec['driver']}"},
                "spec": {**spec, "pool": pool, "nodeName": name},
            }
        use = rng.choice((0.0, 0.35, 1.0))
        held = [
            (driver, f"{kind}-{index}")
            for kind, driver in (("gpu", GPU), ("nic", NIC))
            for index in range(gpus)
            if rng.random() < use
        ]
        if held:
            yield held_claim(name, held)
            yield running_pod(name, rng.randrange(4, 190))


def held_claim(node: str, held: list[tuple[str, str]]) -> Json:
    results = [{"request": "r", "driver": driver, "pool": node, "device": name} for driver, name in held]
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": f"held-{node}", "namespace": "other", "uid": f"held-{node}"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
        "status": {"allocation": {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [term]}}},
    }


def running_pod(node: str, cpus: int) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"busy-{node}", "namespace": "other"},
        "spec": {
            "nodeName": node,
            "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": str(cpus)}}}],
        },
        "status": {"phase": "Running"},
    }


def groups(count: int, *, room: int) -> Iterator[Json]:
    for number in range(count):
        gpus, model = ((8, "h100"), (8, "a100"), (4, "l40s"))[number % 3]
        yield {
            "apiVersion": "muster.dev/v1alpha1",
            "kind": "NodeGroup",
            "metadata": {"name": f"group-{number:02d}"},
            "spec": {
                "minSize": 0,
                "maxSize": room,
                "currentSize": 0,
                "pricePerNode": 60 + number * 2.5,
                "template": {
                    "metadata": {"labels": {RACK: f"new-{number:02d}", "example.com/model": model}},
                    "spec": {"taints": []},
                    "status": {"allocatable": {"cpu": "192", "memory": "2Ti", "pods": "110"}},
                    "resourceSlices": slice_specs(gpus, model),
                },
            },
        }


def gang(pods: int, *, gpus: int = 8, annotations: dict[str, str] | None = None) -> tuple[list[Json], Json]:
    """Pods of `gpus` GPUs, each with a NIC on its PCIe root; the objects and the request."""
    return mixed((gpus, pods), annotations=annotations)


def mixed(*sets: tuple[int, int], annotations: dict[str, str] | None = None) -> tuple[list[Json], Json]:
    """Pod sets of (GPUs, pods); pods without GPUs have no claim."""
    objects: list[Json] = []
    for number, (gpus, _) in enumerate(sets):
        objects += [claim_template(number, gpus), pod_template(number, gpus, annotations or {})]
    pod_sets = [{"podTemplateRef": {"name": f"set-{number}"}, "count": pods} for number, (_, pods) in enumerate(sets)]
    request = {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {"name": "train", "namespace": "team", "uid": "train"},
        "spec": {"provisioningClassName": "atomic.muster.dev", "podSets": pod_sets},
    }
    return objects, request


def claim_template(number: int, gpus: int) -> Json:
    requests: list[Json] = []
    constraints: list[Json] = []
    for index in range(gpus):
        requests.append({"name": f"g{index}", "exactly": {"deviceClassName": "gpu", "count": 1}})
        requests.append({"name": f"n{index}", "exactly": {"deviceClassName": "nic", "count": 1}})
        constraints.append({"requests": [f"g{index}", f"n{index}"], "matchAttribute": ROOT})
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": f"set-{number}", "namespace": "team"},
        "spec": {"spec": {"devices": {"requests": requests, "constraints": constraints}}},
    }


def pod_template(number: int, gpus: int, annotations: dict[str, str]) -> Json:
    cpu = str(max(8 * gpus, 1))
    claims = [{"name": "dev", "resourceClaimTemplateName": f"set-{number}"}] if gpus else []
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": f"set-{number}", "namespace": "team"},
        "template": {
            "metadata": {"annotations": annotations},
            "spec": {
                "containers": [{"name": "main", "image": "train", "resources": {"requests": {"cpu": cpu}}}],
                "resourceClaims": claims,
            },
        },
    }
