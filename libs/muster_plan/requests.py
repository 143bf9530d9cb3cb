"""ProvisioningRequests (autoscaling.x-k8s.io/v1, group-capacity §1.2)."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster_plan.reading import open_object

MOST_PODS = 150_000
"""Pods that Kubernetes supports in one cluster (kubernetes.io, considerations for large clusters)."""


@dataclass(frozen=True, slots=True)
class RequestedPodSet:
    template: str
    count: int


@dataclass(frozen=True, slots=True)
class ProvisioningRequest:
    namespace: str
    name: str
    uid: str
    class_name: str
    parameters: Mapping[str, str]
    annotations: Mapping[str, str]
    pod_sets: tuple[RequestedPodSet, ...]


def parse_provisioning_request(obj: Mapping[str, object]) -> ProvisioningRequest:
    """A ProvisioningRequest of any class. Raises InvalidObject."""
    request = open_object(obj, "ProvisioningRequest", namespaced=True)
    meta, spec = request.at("metadata"), request.at("spec")
    pod_sets = tuple(
        RequestedPodSet(each.at("podTemplateRef").text("name"), each.count("count", least=1))
        for each in spec.each("podSets")
    )
    if not 1 <= len(pod_sets) <= 32:
        raise request.fault("spec.podSets", f"want 1 to 32 pod sets, got {len(pod_sets)}")
    pods = sum(each.count for each in pod_sets)
    if pods > MOST_PODS:
        raise request.fault("spec.podSets", f"want at most {MOST_PODS} pods in all, got {pods}: no cluster holds more")
    return ProvisioningRequest(
        namespace=request.namespace,
        name=request.name,
        uid=meta.text("uid", ""),
        class_name=spec.text("provisioningClassName", ""),
        parameters=spec.texts("parameters"),
        annotations=meta.texts("annotations"),
        pod_sets=pod_sets,
    )
