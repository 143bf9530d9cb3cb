"""A small cluster as Kubernetes JSON: nodes of four GPUs in two NUMA nodes, and a gang whose capacity was offered."""

from collections.abc import Mapping, Sequence

Json = dict[str, object]
GANG = "train-1a2b3c"
NAMESPACE = "team"


def a_node(name: str, *, taint: str = "", ready: bool = True, cpu: str = "32", **labels: str) -> Json:
    taints = [{"key": "muster.dev/gang", "value": taint, "effect": "NoSchedule"}] if taint else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "spec": {"taints": taints},
        "status": {
            "allocatable": {"cpu": cpu, "memory": "256Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def a_slice(node: str, gpus: int = 4) -> Json:
    """The first half of the GPUs is on NUMA node 0, the rest on 1."""
    devices = [
        {"name": f"gpu-{index}", "attributes": {"numa": {"int": 0 if index < gpus / 2 else 1}}} for index in range(gpus)
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-gpus"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


def a_class() -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {
            "selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}],
            "extendedResourceName": "example.com/gpu",
        },
    }


def a_claim_template(name: str = "two-gpus", count: int = 2) -> Json:
    exactly = {"deviceClassName": "gpu", "count": count}
    devices = {
        "requests": [{"name": "gpus", "exactly": exactly}],
        "constraints": [{"matchAttribute": "gpu.example.com/numa"}],
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"spec": {"devices": devices}},
    }


def a_pod_template(
    name: str = "worker",
    *,
    claims: Sequence[Mapping[str, str]] = ({"name": "gpus", "resourceClaimTemplateName": "two-gpus"},),
    requests: Mapping[str, str] | None = None,
    spec: Mapping[str, object] | None = None,
) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {
                "containers": [{"name": "main", "resources": {"requests": requests or {"cpu": "4"}}}],
                "resourceClaims": list(claims),
                **(spec or {}),
            },
        },
    }


def a_request(
    count: int = 4, *, provisioned: bool = True, nodes: Sequence[str] = (), ended: str = "", template: str = "worker"
) -> Json:
    conditions = [{"type": "Provisioned", "status": "True" if provisioned else "False"}]
    if ended:
        conditions.append({"type": ended, "status": "True"})
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {"name": "train", "namespace": NAMESPACE, "uid": "u-1"},
        "spec": {
            "provisioningClassName": "atomic.muster.dev",
            "podSets": [{"count": count, "podTemplateRef": {"name": template}}],
        },
        "status": {
            "conditions": conditions,
            "provisioningClassDetails": {"muster.dev/gang": GANG, "muster.dev/nodes": ",".join(nodes)},
        },
    }


def a_pod(name: str, node: str = "", *, consumes: str = "", cpu: str = "4", **spec: object) -> Json:
    annotations = {"autoscaling.x-k8s.io/consume-provisioning-request": consumes} if consumes else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations, "labels": {"app": name}},
        "spec": {
            "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}],
            **({"nodeName": node} if node else {}),
            **spec,
        },
    }
