"""PodGroups (scheduling.k8s.io/v1beta1, group-capacity §3.3): minimum, domain, shared claims."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster_plan.pods import ClaimEntry, read_claim_entries
from muster_plan.reading import open_object


@dataclass(frozen=True, slots=True)
class PodGroup:
    """`min_count` is None for the basic policy: every pod counts for itself. `topology_keys` are required domains."""

    namespace: str
    name: str
    min_count: int | None
    topology_keys: tuple[str, ...]
    claims: tuple[ClaimEntry, ...]
    claim_names: Mapping[str, str]  # status.resourceClaimStatuses: entry -> claim that exists already
    priority: int
    annotations: Mapping[str, str]


def parse_pod_group(obj: Mapping[str, object]) -> PodGroup:
    """A scheduling.k8s.io PodGroup. Raises InvalidObject."""
    group = open_object(obj, "PodGroup", namespaced=True)
    spec, status = group.at("spec"), group.at("status")
    policy = spec.at("schedulingPolicy")
    return PodGroup(
        namespace=group.namespace,
        name=group.name,
        min_count=policy.at("gang").count("minCount", least=1) if policy.has("gang") else None,
        topology_keys=tuple(each.text("key") for each in spec.at("schedulingConstraints").each("topology")),
        claims=read_claim_entries(spec),
        claim_names={
            each.text("name"): each.text("resourceClaimName")
            for each in status.each("resourceClaimStatuses")
            if each.has("resourceClaimName")
        },
        priority=spec.count("priority", 0, least=-(2**31)),
        annotations=group.at("metadata").texts("annotations"),
    )
