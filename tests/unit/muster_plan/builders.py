"""Small clusters in Kubernetes JSON; every field can be overridden by keyword."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from muster_plan import CHEAPEST, Gang, NoPlan, Plan, Policy, Snapshot, plan

Json = dict[str, Any]

GPU, NIC = "gpu.example.com", "nic.example.com"
ROOT, RACK, ZONE, HOST = (
    "resource.kubernetes.io/pcieRoot",
    "topology.kubernetes.io/rack",
    "topology.kubernetes.io/zone",
    "kubernetes.io/hostname",
)
KUEUE = "kueue.x-k8s.io/"


def classes() -> list[Json]:
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": name},
            "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{name}.example.com"'}}]},
        }
        for name in ("gpu", "nic")
    ]


def gpu(index: int, *, numa: int = 0, model: str = "h100", memory: str = "80Gi", **more: Any) -> Json:
    attributes: Json = {"numa": {"int": numa}, "model": {"string": model}, ROOT: {"string": f"pci{index}"}}
    attributes |= more.pop("attributes", {})
    return {"name": f"gpu-{index}", "attributes": attributes, "capacity": {"memory": {"value": memory}}, **more}


def gpus(count: int, *, per_numa: int = 4, **more: Any) -> list[Json]:
    return [gpu(index, numa=index // per_numa, **more) for index in range(count)]


def nics(count: int) -> list[Json]:
    return [
        {"name": f"nic-{index}", "attributes": {ROOT: {"string": f"pci{index}"}, "rdma": {"bool": True}}}
        for index in range(count)
    ]


def slice_specs(devices: Mapping[str, Sequence[Json]], pool: str = "template") -> list[Json]:
    return [
        {
            "driver": driver,
            "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1},
            "devices": list(listed),
        }
        for driver, listed in devices.items()
        if listed
    ]


def node(
    name: str,
    *,
    devices: Sequence[Json] = (),
    nic_devices: Sequence[Json] = (),
    labels: Mapping[str, str] | None = None,
    cpu: str = "64",
    allocatable: Mapping[str, str] | None = None,
    taints: Sequence[Json] = (),
    ready: bool = True,
    unschedulable: bool = False,
) -> list[Json]:
    """A node and its slices."""
    listed = {GPU: devices, NIC: nic_devices}
    body: Json = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, **(labels or {})}},
        "spec": {"taints": list(taints), "unschedulable": unschedulable},
        "status": {
            "allocatable": {"cpu": cpu, "memory": "512Gi", "pods": "110", **(allocatable or {})},
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }
    slices = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"{name}-{spec['driver']}"},
            "spec": {**spec, "nodeName": name},
        }
        for spec in slice_specs(listed, name)
    ]
    return [body, *slices]


def network_slice(name: str, devices: Sequence[Json], driver: str = "fabric.example.com", **place: Any) -> Json:
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": driver, "pool": pool, "devices": list(devices), **(place or {"allNodes": True})}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}


def group(
    name: str,
    *,
    room: int = 8,
    current: int = 0,
    price: float = 10,
    devices: Sequence[Json] | None = (),
    nic_devices: Sequence[Json] = (),
    labels: Mapping[str, str] | None = None,
    cpu: str = "64",
    template: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Json:
    """A node group with `room` nodes left to add; `devices=None`: nobody said what its nodes publish."""
    slices = {} if devices is None else {"resourceSlices": slice_specs({GPU: devices, NIC: nic_devices})}
    return {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "NodeGroup",
        "metadata": {"name": name},
        "spec": {
            "maxSize": current + room,
            "currentSize": current,
            "pricePerNode": price,
            "template": {
                "metadata": {"labels": {"muster.dev/pool": name, **(labels or {})}},
                "spec": {"taints": []},
                "status": {"allocatable": {"cpu": cpu, "memory": "512Gi", "pods": "110"}},
                **slices,
                **(template or {}),
            },
            **spec,
        },
    }


def request(name: str, count: int = 1, cls: str = "gpu", **exactly: Any) -> Json:
    return {"name": name, "exactly": {"deviceClassName": cls, "count": count, **exactly}}


def claim_spec(*requests: Json, match: Mapping[str, Sequence[str]] | None = None, distinct: str = "") -> Json:
    constraints: list[Json] = [
        {"matchAttribute": attribute, "requests": list(names)} for attribute, names in (match or {}).items()
    ]
    if distinct:
        constraints.append({"distinctAttribute": distinct})
    return {"devices": {"requests": list(requests), "constraints": constraints}}


def gpus_on_one_numa(count: int) -> Json:
    return claim_spec(request("g", count), match={f"{GPU}/numa": ["g"]})


def claim_template(name: str, spec: Json, namespace: str = "team") -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"spec": spec},
    }


def named_claim(
    name: str,
    spec: Json,
    *,
    namespace: str = "team",
    held: Sequence[tuple[str, str, str]] | None = None,
    on: str = "",
    reserved: int = 0,
) -> Json:
    """A claim; `held` are (driver, pool, device) of its allocation, on node `on` if given."""
    body: Json = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": name},
        "spec": spec,
        "status": {},
    }
    if held is not None:
        results = [{"request": "g", "driver": d, "pool": p, "device": n} for d, p, n in held]
        allocation: Json = {"devices": {"results": results}}
        if on:
            field = {"key": "metadata.name", "operator": "In", "values": [on]}
            allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        body["status"]["allocation"] = allocation
    if reserved:
        body["status"]["reservedFor"] = [{"resource": "pods", "name": f"p{i}", "uid": f"p{i}"} for i in range(reserved)]
    return body


def pod_template(
    name: str,
    *,
    claims: Sequence[Json] = (),
    cpu: str = "1",
    requests: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    pod_group: str = "",
    **spec: Any,
) -> Json:
    body: Json = {
        "containers": [{"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu, **(requests or {})}}}],
        "resourceClaims": list(claims),
        **spec,
    }
    if pod_group:
        body["schedulingGroup"] = {"podGroupName": pod_group}
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": name, "namespace": "team"},
        "template": {"metadata": {"annotations": annotations or {}, "labels": labels or {}}, "spec": body},
    }


def from_template(template: str, name: str = "dev") -> Json:
    return {"name": name, "resourceClaimTemplateName": template}


def from_claim(claim: str, name: str = "dev") -> Json:
    return {"name": name, "resourceClaimName": claim}


def pod(name: str, on: str, *, cpu: str = "1", namespace: str = "other", labels: Any = None, **spec: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": {
            "nodeName": on,
            "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}],
            **spec,
        },
        "status": {"phase": "Running"},
    }


def pod_group(name: str, *, least: int | None = None, claims: Sequence[Json] = (), topology: str = "") -> Json:
    spec: Json = {
        "schedulingPolicy": {"basic": {}} if least is None else {"gang": {"minCount": least}},
        "resourceClaims": list(claims),
    }
    if topology:
        spec["schedulingConstraints"] = {"topology": [{"key": topology}]}
    metadata = {"name": name, "namespace": "team"}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": spec}


def provisioning_request(*pod_sets: tuple[str, int], parameters: Mapping[str, str] | None = None) -> Json:
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {"name": "gang", "namespace": "team", "uid": "gang"},
        "spec": {
            "provisioningClassName": "atomic.muster.dev",
            "podSets": [{"podTemplateRef": {"name": name}, "count": count} for name, count in pod_sets],
            "parameters": dict(parameters or {}),
        },
    }


def snapshot_of(*objects: Json | Iterable[Json]) -> Snapshot:
    flat: list[Json] = [*classes()]
    for each in objects:
        if isinstance(each, dict):
            flat.append(each)
        else:
            flat.extend(each)
    found = Snapshot.build(flat)
    assert not found.problems, found.problems
    return found


def gang_of(snapshot: Snapshot, *pod_sets: tuple[str, int], parameters: Mapping[str, str] | None = None) -> Gang:
    found = Gang.from_request(provisioning_request(*pod_sets, parameters=parameters), snapshot)
    assert isinstance(found, Gang), found
    return found


def planned(snapshot: Snapshot, *pod_sets: tuple[str, int], policy: Policy = CHEAPEST, **more: Any) -> Plan:
    found = plan(snapshot, gang_of(snapshot, *pod_sets, **more), policy)
    assert isinstance(found, Plan), found.sentence()
    return found


def refused(snapshot: Snapshot, *pod_sets: tuple[str, int], policy: Policy = CHEAPEST, **more: Any) -> NoPlan:
    found = plan(snapshot, gang_of(snapshot, *pod_sets, **more), policy)
    assert isinstance(found, NoPlan), found
    return found


def places(plan: Plan) -> dict[str, int]:
    """Pods per node, new nodes as group#ordinal."""
    found: dict[str, int] = {}
    for each in plan.placements:
        found[str(each.target)] = found.get(str(each.target), 0) + 1
    return found


def device_names(plan: Plan) -> list[list[str]]:
    """Names of the devices of each pod in order."""
    return [[device.device.device for claim in each.claims for device in claim.results] for each in plan.placements]
