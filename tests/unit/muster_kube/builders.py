"""Small sound objects; every part can be replaced."""

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]


def a_device(name: str = "gpu-0", **fields: object) -> Json:
    return {"name": name, "attributes": {"model": {"string": "h100"}}, **fields}


def a_slice(*devices: Json, api_version: str = "resource.k8s.io/v1", name: str = "n1-gpu", **spec: object) -> Json:
    body: Json = {
        "driver": "gpu.example.com",
        "nodeName": "n1",
        "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
        "devices": list(devices) or [a_device()],
        **spec,
    }
    return {
        "apiVersion": api_version,
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {key: value for key, value in body.items() if value is not None},
    }


def a_claim(*requests: Json, status: Json | None = None, **devices: object) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "team"},
        "spec": {"devices": {"requests": list(requests) or [a_request()], **devices}},
        **({} if status is None else {"status": status}),
    }


def a_request(name: str = "gpu", **exactly: object) -> Json:
    return {"name": name, "exactly": {"deviceClassName": "gpu", **exactly}}


def a_node(name: str = "n1", **parts: object) -> Json:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, **parts}


def a_pod(name: str = "p", **spec: object) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"containers": [{"name": "main"}], **spec},
    }


def a_class(**spec: object) -> Json:
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": spec}


def a_node_group(**spec: object) -> Json:
    return {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "NodeGroup",
        "metadata": {"name": "g"},
        "spec": {"maxSize": 4, **spec},
    }


def a_request_for_capacity(**spec: object) -> Json:
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {"name": "r", "namespace": "team"},
        "spec": {
            "provisioningClassName": "atomic.muster.dev",
            "podSets": [{"count": 2, "podTemplateRef": {"name": "t"}}],
            **spec,
        },
    }


def faults(obj: Mapping[str, object]) -> list[str]:
    """The fields of an object's errors."""
    from muster_kube import Severity, validate

    return [problem.field for problem in validate(obj) if problem.severity is Severity.ERROR]


def remarks(obj: Mapping[str, object]) -> list[str]:
    """The fields of an object's warnings, which has no error."""
    from muster_kube import Severity, validate

    problems = validate(obj)
    assert all(problem.severity is Severity.WARNING for problem in problems), problems
    return [problem.field for problem in problems]
