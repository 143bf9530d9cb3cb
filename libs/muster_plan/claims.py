"""Claim templates, and the claims a pod's entries stand for (dra-semantics §1.10, §5.1)."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster_dra import ClaimSpec, ResourceClaim, parse_claim, parse_claim_template
from muster_plan.reading import open_object

CONSUMER_LIMIT = 256  # entries of status.reservedFor, resource.k8s.io/v1


@dataclass(frozen=True, slots=True)
class ClaimTemplate:
    """A ResourceClaimTemplate: claims made from it share `spec`."""

    namespace: str
    name: str
    spec: ClaimSpec


def read_claim_template(obj: Mapping[str, object]) -> ClaimTemplate:
    """A resource.k8s.io ResourceClaimTemplate of v1, v1beta2 or v1beta1. Raises InvalidObject."""
    head = open_object(obj, "ResourceClaimTemplate", namespaced=True)
    return ClaimTemplate(head.namespace, head.name, parse_claim_template(obj))


def read_claim(obj: Mapping[str, object]) -> ResourceClaim:
    """A claim with its status. Raises InvalidObject."""
    open_object(obj, "ResourceClaim", namespaced=True)
    return parse_claim(obj)
