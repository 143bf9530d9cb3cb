"""A large cluster as `kubectl get -o yaml` prints it: mixed use, many kinds of pending pods, seeded."""

import random
from collections.abc import Iterator
from pathlib import Path

import orjson
import yaml

GPU, NIC, ROOT = "gpu.example.com", "nic.example.com", "resource.kubernetes.io/pcieRoot"
NAMESPACE = "team-a"
_SHAPES = 40
"""Claim templates that pending pods use: devices, selectors and constraints differ."""


def objects(nodes: int, pending: int, seed: int = 1) -> Iterator[dict[str, object]]:
    """Two slices a node, a third of the GPUs in use, `pending` pods of many classes and gangs, 20 node groups."""
    rng = random.Random(seed)
    for driver in (GPU, NIC):
        selector = [{"cel": {"expression": f'device.driver == "{driver}"'}}]
        yield _object("resource.k8s.io/v1", "DeviceClass", driver, spec={"selectors": selector})
    for number in range(nodes):
        yield from _node(number, rng)
    for number in range(20):
        yield _group(number)
    for number in range(_SHAPES):
        yield _template(number)
    yield from _pending(pending)


def write(path: Path, nodes: int, pending: int, seed: int = 1) -> int:
    """As YAML documents, or as one JSON list for a name that ends in .json; gives the number of objects."""
    found = list(objects(nodes, pending, seed))
    if path.suffix == ".json":
        path.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": found}))
    else:
        with path.open("w") as stream:
            yaml.dump_all(found, stream, Dumper=yaml.CSafeDumper, sort_keys=True)
    return len(found)


def _object(version: str, kind: str, name: str, namespace: str = "", **rest: object) -> dict[str, object]:
    metadata: dict[str, object] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def _devices(kind: str, owner: str) -> list[dict[str, object]]:
    return [
        {
            "name": f"{kind}-{index}",
            "attributes": {
                "numa": {"int": index // 4},
                "model": {"string": "h100"},
                "uuid": {"string": f"{kind}-{owner}-{index}"},
                ROOT: {"string": f"pci0000:{index:02d}"},
            },
            "capacity": {"memory": {"value": "81559Mi"}},
        }
        for index in range(8)
    ]


def _slice(driver: str, kind: str, owner: str, pool: str) -> dict[str, object]:
    return {
        "driver": driver,
        "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1},
        "devices": _devices(kind, owner),
    }


def _node(number: int, rng: random.Random) -> Iterator[dict[str, object]]:
    name = f"node-{number:05d}"
    labels = {"kubernetes.io/hostname": name, "rack": f"r{number // 16:03d}", "pool": f"g{number % 20:02d}"}
    status = {
        "allocatable": {"cpu": "192", "memory": "2Ti", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    node = _object("v1", "Node", name, status=status)
    node["metadata"] = {"name": name, "labels": labels}
    yield node
    for driver, kind in ((GPU, "gpu"), (NIC, "nic")):
        spec = {**_slice(driver, kind, name, name), "nodeName": name}
        yield _object("resource.k8s.io/v1", "ResourceSlice", f"{name}-{kind}", spec=spec)
    for index in range(8):
        if rng.random() < 0.33:
            yield from _running(name, index)


def _running(node: str, index: int) -> Iterator[dict[str, object]]:
    name = f"run-{node}-{index}"
    result = {"request": "g", "driver": GPU, "pool": node, "device": f"gpu-{index}"}
    claim = _object(
        "resource.k8s.io/v1",
        "ResourceClaim",
        name,
        NAMESPACE,
        spec={"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": GPU}}]}},
        status={
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": name, "uid": name}],
        },
    )
    yield claim
    spec = {"nodeName": node, "resourceClaims": [{"name": "g", "resourceClaimName": name}], **_containers(1)}
    yield _object("v1", "Pod", name, NAMESPACE, spec=spec, status={"phase": "Running"})


def _containers(cpus: int) -> dict[str, object]:
    resources = {"requests": {"cpu": str(cpus), "memory": "4Gi"}, "claims": [{"name": "g"}]}
    return {"containers": [{"name": "main", "image": "registry.example.com/work:1", "resources": resources}]}


def _group(number: int) -> dict[str, object]:
    name = f"g{number:02d}"
    template = {
        "metadata": {"labels": {"pool": name}},
        "status": {"allocatable": {"cpu": "192", "memory": "2Ti", "pods": "110"}},
        "resourceSlices": [_slice(GPU, "gpu", "new", "template"), _slice(NIC, "nic", "new", "template")],
        "uniqueAttributes": [f"{GPU}/uuid", f"{NIC}/uuid"],
    }
    spec = {"minSize": 0, "maxSize": 300, "currentSize": 250, "pricePerNode": 10 + number, "template": template}
    return _object("muster.dev/v1alpha1", "NodeGroup", name, spec=spec)


def _template(number: int) -> dict[str, object]:
    count = 1 + number % 8
    gpu: dict[str, object] = {"deviceClassName": GPU, "count": count}
    if number % 5 == 1:
        gpu["selectors"] = [{"cel": {"expression": f'device.attributes["{GPU}"].model == "h{100 + number}"'}}]
    if number % 5 == 2:
        text = f'device.capacity["{GPU}"].memory.compareTo(quantity("{40 + number}Gi")) >= 0'
        gpu["selectors"] = [{"cel": {"expression": text}}]
    requests: list[dict[str, object]] = [{"name": "g", "exactly": gpu}]
    constraints: list[dict[str, object]] = []
    if number % 3 == 0:
        constraints.append({"requests": ["g"], "matchAttribute": f"{GPU}/numa"})
    if number % 4 == 0:
        requests.append({"name": "n", "exactly": {"deviceClassName": NIC, "count": count}})
    if number % 10 == 9:
        gpu["count"] = 9 + number // 10
    spec = {"spec": {"devices": {"requests": requests, "constraints": constraints}}}
    return _object("resource.k8s.io/v1", "ResourceClaimTemplate", f"shape-{number:02d}", NAMESPACE, spec=spec)


def _pending(count: int) -> Iterator[dict[str, object]]:
    for number in range(20):
        spec = {
            "schedulingPolicy": {"gang": {"minCount": 8}},
            "schedulingConstraints": {"topology": [{"key": "rack"}]},
        }
        yield _object("scheduling.k8s.io/v1beta1", "PodGroup", f"gang-{number}", NAMESPACE, spec=spec)
    for number in range(count):
        shape = number % _SHAPES
        spec: dict[str, object] = {
            "resourceClaims": [{"name": "g", "resourceClaimTemplateName": f"shape-{shape:02d}"}],
            "priority": number % 2,
            **_containers(1 + number % 5),
        }
        if number < 160:
            spec["schedulingGroup"] = {"podGroupName": f"gang-{number // 8}"}
            spec["resourceClaims"] = [{"name": "g", "resourceClaimTemplateName": f"shape-{number // 8:02d}"}]
            spec["priority"] = 0
            spec |= _containers(2)
        yield _object("v1", "Pod", f"wait-{number}", NAMESPACE, spec=spec, status={"phase": "Pending"})
