"""Kubernetes objects of a small cluster; what matters in a test can be given."""

from collections.abc import Mapping, Sequence

GPU = "gpu.example.com"
TEAM = "team"
Json = dict[str, object]


def a_class(name: str = "gpu") -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{GPU}"'}}]},
    }


def a_node(name: str, *, labels: Mapping[str, str] | None = None, taints: Sequence[Json] = (), cpu: str = "64") -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"taints": list(taints)},
        "status": {
            "allocatable": {"cpu": cpu, "memory": "512Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def an_ordered_node(name: str, gang: str, group: str, *, attempt: int = 1, ordinal: int = 0) -> Json:
    """A node of the simulated cloud: labelled for its gang, closed to everybody else."""
    return a_node(
        name,
        labels={
            "muster.dev/gang": gang,
            "muster.dev/order": f"{gang}-a{attempt}-0",
            "muster.dev/node-group": group,
            "muster.dev/ordinal": str(ordinal),
            "muster.dev/pool": group,
        },
        taints=[{"key": "muster.dev/gang", "value": gang, "effect": "NoSchedule"}],
    )


def some_devices(count: int, numa: int = 4) -> list[Json]:
    return [
        {
            "name": f"gpu-{index}",
            "attributes": {"numa": {"int": index // numa}},
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for index in range(count)
    ]


def a_slice(node: str, count: int = 8, *, numa: int = 4, generation: int = 1) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-gpus"},
        "spec": {
            "driver": GPU,
            "nodeName": node,
            "pool": {"name": node, "generation": generation, "resourceSliceCount": 1},
            "devices": some_devices(count, numa),
        },
    }


def a_group(name: str, *, most: int = 4, price: float = 10.0, devices: int = 8) -> Json:
    return {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "NodeGroup",
        "metadata": {"name": name},
        "spec": {
            "minSize": 0,
            "maxSize": most,
            "currentSize": 0,
            "pricePerNode": price,
            "driver": {"type": "simulated"},
            "template": {
                "metadata": {"labels": {"muster.dev/pool": name}},
                "status": {"allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"}},
                "resourceSlices": [
                    {
                        "driver": GPU,
                        "pool": {"name": "gpus", "generation": 1, "resourceSliceCount": 1},
                        "devices": some_devices(devices),
                    }
                ],
            },
        },
    }


def a_claim_template(name: str, gpus: int, *, one_numa: bool = True) -> Json:
    constraints = [{"matchAttribute": f"{GPU}/numa"}] if one_numa else []
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": TEAM},
        "spec": {
            "spec": {
                "devices": {
                    "requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": gpus}}],
                    "constraints": constraints,
                }
            }
        },
    }


def a_pod_template(name: str, claim_template: str, *, cpu: str = "8") -> Json:
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": name, "namespace": TEAM},
        "template": {
            "metadata": {"labels": {"job": name}},
            "spec": {
                "containers": [{"name": "train", "image": "train", "resources": {"requests": {"cpu": cpu}}}],
                "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": claim_template}],
            },
        },
    }


def a_request(name: str, pod_template: str, count: int) -> Json:
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {"name": name, "namespace": TEAM, "uid": f"uid-{name}"},
        "spec": {
            "provisioningClassName": "atomic.muster.dev",
            "podSets": [{"podTemplateRef": {"name": pod_template}, "count": count}],
        },
    }


def a_consuming_pod(request: str, index: int, node: str, *, cpu: str = "8") -> Json:
    """A bound pod that uses what was booked for a request."""
    name = f"{request}-workers-{index}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": TEAM,
            "annotations": {"autoscaling.x-k8s.io/consume-provisioning-request": request},
        },
        "spec": {
            "nodeName": node,
            "containers": [{"name": "train", "image": "train", "resources": {"requests": {"cpu": cpu}}}],
            "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": f"{request}-gpus"}],
        },
        "status": {
            "phase": "Running",
            "resourceClaimStatuses": [{"name": "gpus", "resourceClaimName": f"{name}-gpus"}],
        },
    }


def an_allocated_claim(name: str, node: str, devices: Sequence[str]) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": TEAM, "uid": name},
        "spec": {
            "devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": len(devices)}}]}
        },
        "status": {
            "allocation": {
                "devices": {
                    "results": [{"request": "gpu", "driver": GPU, "pool": node, "device": each} for each in devices]
                }
            }
        },
    }
