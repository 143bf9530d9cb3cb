"""What a binding writes: conditions, share ids, the claim of extended resources."""

from collections.abc import Mapping
from uuid import NAMESPACE_URL, uuid5

from muster_cli.simulation.offers import CLAIM_VERSION, Json
from muster_dra import ClaimAllocation, ClaimSpec
from muster_plan.pods import Pod
from muster_types import ObjectKey


def pod_scheduled(status: str, reason: str, message: str) -> Mapping[str, str]:
    """The condition that tells whether a pod has a node."""
    said = {"reason": reason, "message": message} if reason else {}
    return {"type": "PodScheduled", "status": status, **said}


def share_ids(key: ObjectKey, allocation: ClaimAllocation) -> list[str]:
    """One id for each share; they follow from the claim's name, so a repeated write gives the same."""
    shares = [result for result in allocation.results if result.share]
    return [
        str(uuid5(NAMESPACE_URL, f"https://muster.dev/share/{key}/{index}/{result.device}"))
        for index, result in enumerate(shares)
    ]


def extended_claim(
    pod: ObjectKey, name: str, spec: ClaimSpec, allocation: ClaimAllocation, consumer: Mapping[str, str]
) -> Json:
    """The allocated claim that the extended resources of a pod make (KEP-5004)."""
    requests = [
        {
            "name": request.name,
            "exactly": {
                "deviceClassName": request.exactly.class_name,
                "allocationMode": request.exactly.mode,
                "count": request.exactly.count,
            },
        }
        for request in spec.requests
        if request.exactly is not None
    ]
    key = ObjectKey("ResourceClaim", pod.namespace, name)
    return {
        "apiVersion": CLAIM_VERSION,
        "kind": "ResourceClaim",
        "metadata": {
            "name": name,
            "namespace": pod.namespace,
            "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        },
        "spec": {"devices": {"requests": requests}},
        "status": {"allocation": allocation.to_json(share_ids(key, allocation)), "reservedFor": [consumer]},
    }


def request_mappings(pod: Pod, spec: ClaimSpec) -> list[Mapping[str, str]]:
    """Which request of the extended claim stands for which resource of which container."""
    made = {request.name for request in spec.requests}
    return [
        {"containerName": container.name, "resourceName": name, "requestName": f"container-{index}-request-{place}"}
        for index, container in enumerate(pod.spec.containers)
        for place, name in enumerate(sorted(container.requests))
        if f"container-{index}-request-{place}" in made
    ]
