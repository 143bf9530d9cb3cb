"""What the live cluster has: three pools, each grown by another driver, with one node there already in the first."""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import yaml

from contract.driver.api_server import Outfit
from muster_kubeapi import Json

POOL = "test.example.com/pool"
GRPC, CAPI, KARPENTER = "grpc", "capi", "karpenter"
THERE = "there"  # the node that no group made
DRIVER = "gpu.example.com"
CAPI_NAMESPACE = "fleet"
NODE_CLASS = {"group": "test.example.com", "kind": "TestNodeClass", "name": "gpu"}
_ALLOCATABLE = {"cpu": "16", "memory": "64Gi", "pods": "110"}
_SLICE = {"driver": DRIVER, "devices": [{"name": f"gpu-{index}"} for index in range(2)]}
_DRIVERS: Mapping[str, Json] = {
    GRPC: {
        "type": "externalgrpc",
        "settleSeconds": 0.5,
        "simulated": {"bootSeconds": 0.4, "slicesAfterSeconds": 0.2},
    },
    CAPI: {
        "type": "clusterapi",
        "kind": "MachineDeployment",
        "namespace": CAPI_NAMESPACE,
        "settleSeconds": 0.5,
    },
    KARPENTER: {
        "type": "karpenter",
        "nodeClassRef": NODE_CLASS,
        "instanceType": "gpu-2",
        "zone": "zone-a",
        "capacityType": "on-demand",
        "settleSeconds": 0.5,
    },
}


def node_groups(folder: Path) -> Path:
    """The NodeGroups in files, for nothing of Muster's is installed in the cluster."""
    folder.mkdir()
    (folder / "groups.yaml").write_text(yaml.safe_dump_all(map(_group, _DRIVERS)))
    return folder


def machines_of(pool: str) -> Outfit:
    """What a new machine of a pool shows, as its group's template says."""
    return Outfit({POOL: pool, "test.example.com/made": "true"}, _ALLOCATABLE, [_SLICE])


def objects() -> list[Json]:
    """What the cluster has at first."""
    ready = [{"type": "Ready", "status": "True"}]
    return [
        _named("resource.k8s.io/v1", "DeviceClass", "gpu", spec={"selectors": [{"cel": {"expression": _IS_GPU}}]}),
        {
            **_named("v1", "Node", THERE, spec={"providerID": "other:///there"}),
            "metadata": {"name": THERE, "labels": {POOL: GRPC, "kubernetes.io/hostname": THERE}},
            "status": {"conditions": ready, "allocatable": _ALLOCATABLE, "capacity": _ALLOCATABLE},
        },
        _named(
            "resource.k8s.io/v1",
            "ResourceSlice",
            f"{THERE}-0",
            spec={
                **_SLICE,
                "nodeName": THERE,
                "pool": {"name": THERE, "generation": 1, "resourceSliceCount": 1},
            },
        ),
        _named("test.example.com/v1", "TestNodeClass", "gpu", status={"conditions": ready}),
        _in_fleet("Cluster", "workload", {"paused": False}),
        _in_fleet("MachineDeployment", CAPI, {"clusterName": "workload", "replicas": 0}),
    ]


def a_request(pool: str, name: str, pods: int = 2) -> list[Json]:
    """So many pods with two GPUs each, in one pool: a ProvisioningRequest with the objects that it names."""
    tolerant = {"key": "muster.dev/gang", "operator": "Exists", "effect": "NoSchedule"}
    exactly = {"deviceClassName": "gpu", "count": 2, "tolerations": [tolerant]}
    requests = [{"name": "gpus", "exactly": exactly}]
    container = {"name": "main", "resources": {"requests": {"cpu": "4"}, "claims": [{"name": "gpus"}]}}
    pod = {
        "nodeSelector": {POOL: pool},
        "containers": [container],
        "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": name}],
    }
    claim = {"spec": {"devices": {"requests": requests}}}
    sets = [{"podTemplateRef": {"name": name}, "count": pods}]
    spec = {"provisioningClassName": "atomic.muster.dev", "podSets": sets}
    return [
        _in_ml("autoscaling.x-k8s.io/v1", "ProvisioningRequest", name, spec=spec),
        _in_ml("v1", "PodTemplate", name, template={"spec": pod}),
        _in_ml("resource.k8s.io/v1", "ResourceClaimTemplate", name, spec=claim),
    ]


def a_group(pool: str, name: str, pods: int = 2) -> list[Json]:
    """A PodGroup that asks for its capacity itself, its pods, which wait behind Muster's gate, and their claims, as
    their controllers make them."""
    policy = {"gang": {"minCount": pods}}
    group = _in_ml("scheduling.k8s.io/v1beta1", "PodGroup", name, spec={"schedulingPolicy": policy})
    annotated = {**cast("Json", group["metadata"]), "annotations": {"muster.dev/capacity": "atomic"}}
    objects: list[Json] = [{**group, "metadata": annotated}]
    _, template, claim_template = a_request(pool, name, pods)
    spec = cast("Json", cast("Json", template["template"])["spec"])
    objects.append(claim_template)
    for index in range(pods):
        entry = {"name": "gpus", "resourceClaimName": f"{name}-{index}-gpus"}
        members = {"schedulingGroup": {"podGroupName": name}, "schedulingGates": [{"name": "muster.dev/capacity"}]}
        claim_spec = cast("Json", cast("Json", claim_template["spec"])["spec"])
        objects.append(_in_ml("resource.k8s.io/v1", "ResourceClaim", f"{name}-{index}-gpus", spec=claim_spec))
        pod = {**spec, **members, "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": name}]}
        status = {"phase": "Pending", "resourceClaimStatuses": [entry]}
        objects.append(_in_ml("v1", "Pod", f"{name}-{index}", spec=pod, status=status))
    return objects


_IS_GPU = f"device.driver == '{DRIVER}'"


def _group(pool: str) -> Json:
    outfit = machines_of(pool)
    template = {
        "metadata": {"labels": dict(outfit.labels)},
        "status": {"allocatable": dict(outfit.allocatable)},
        "resourceSlices": [{**_SLICE, "pool": {"name": "gpus", "generation": 1, "resourceSliceCount": 1}}],
    }
    spec = {"maxSize": 20, "pricePerNode": 10, "driver": dict(_DRIVERS[pool]), "template": template}
    return _named("muster.dev/v1alpha1", "NodeGroup", pool, spec=spec)


def _in_fleet(kind: str, name: str, spec: Json) -> Json:
    obj = _named("cluster.x-k8s.io/v1beta2", kind, name, spec=spec)
    return {**obj, "metadata": {"name": name, "namespace": CAPI_NAMESPACE}}


def _in_ml(api_version: str, kind: str, name: str, **fields: object) -> Json:
    obj = _named(api_version, kind, name, **fields)
    return {**obj, "metadata": {**cast("Json", obj["metadata"]), "namespace": "ml"}}


def _named(api_version: str, kind: str, name: str, **fields: object) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}
