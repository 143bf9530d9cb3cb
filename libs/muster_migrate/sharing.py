"""Whether the integers that a pod would get are shares of devices: as the dump's nodes say it."""

from muster_migrate.catalogue import NVIDIA, NoEquivalent, Query
from muster_migrate.edits import Json, mapping_at
from muster_migrate.evidence import Evidence
from muster_migrate.kinds import PodPlace
from muster_migrate.placement import required_conditions
from muster_migrate.remarks import Cause
from muster_plan import ClusterNode


def is_shared(node: ClusterNode, resource: str, query: Query, evidence: Evidence) -> str:
    """In which words a node says that its integers are shares, "" if it does not."""
    labels = node.labels
    if query.driver == NVIDIA:
        strategy = labels.get("nvidia.com/gpu.sharing-strategy", "none")
        if strategy not in ("", "none"):
            return f"nvidia.com/gpu.sharing-strategy={strategy}"
        if labels.get("nvidia.com/gpu.product", "").endswith("-SHARED"):
            return f"nvidia.com/gpu.product={labels['nvidia.com/gpu.product']}"
        replicas = labels.get("nvidia.com/gpu.replicas", "1")
        if replicas.isdecimal() and int(replicas) > 1:
            return f"nvidia.com/gpu.replicas={replicas}"
    offered, devices = evidence.offered(node, resource), len(evidence.matching(node.name, query))
    if 0 < devices < offered:
        return f"{offered} units of {resource} and {devices} devices"
    return ""


def shares_only(obj: Json, place: PodPlace, resource: str, query: Query, evidence: Evidence) -> NoEquivalent | None:
    """NoEquivalent where every node that offers the resource to this pod sells shares of its devices."""
    selector = mapping_at(obj, (*place.spec, "nodeSelector"))
    conditions = [each.condition for each in required_conditions(obj, place.spec)]
    words: list[str] = []
    for node in evidence.nodes:
        if evidence.offered(node, resource) == 0:
            continue
        if any(node.labels.get(key) != value for key, value in selector.items()):
            continue
        if not all(each.holds(node.labels.get(each.key)) for each in conditions):
            continue
        said = is_shared(node, resource, query, evidence)
        if not said:
            return None
        words.append(f"{node.name} ({said})")
    if not words:
        return None
    more = f" and {len(words) - 1} more" if len(words) > 1 else ""
    return NoEquivalent(
        Cause.SHARED,
        f"the nodes that offer it to this pod sell shares of devices: {words[0]}{more}; a claim takes a whole device, "
        "and nothing says how much a share was meant to have",
        "decide: whole devices, partitions, or a claim with a sharing config of the driver that several containers use",
    )
