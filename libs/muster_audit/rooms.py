"""Room on nodes, devices apart: the pod that would have to go elsewhere, or the size that no node has."""

from collections.abc import Iterable, Sequence

from muster_audit.fleet import Fleet
from muster_audit.misses import Miss
from muster_audit.survey import Spot, Wanted
from muster_plan import ClusterNode, Pod
from muster_types import ObjectKey, format_quantity

_TRIED = 32


def room_remedy(miss: Miss, pod: Wanted, spots: Sequence[Spot], fleet: Fleet) -> str:
    """For a pod that finds too little of a resource; "" where nothing was found that helps."""
    short = miss.spot.short if miss.spot is not None else None
    if short is None:
        return ""
    places = [place for each in spots if each.barrier is None for place in each.places]
    largest = max((fleet.nodes[place].allocatable.get(short.resource, 0) for place in places), default=0)
    if largest < short.wanted:
        most = format_quantity(largest)
        return f"ask for at most {most} {short.resource}, or add nodes that have more" if largest else ""
    for place in places[:_TRIED]:
        node = fleet.nodes[place]
        missing = short.wanted - _left(node, short.resource, fleet)
        if node.allocatable.get(short.resource, 0) < short.wanted or missing <= 0:
            continue
        for key, other in _movable(node, pod, fleet):
            freed = other.spec.requests.get(short.resource, 0)
            target = _home(other, short.resource, freed, node, places, fleet) if freed >= missing else ""
            if target:
                return (
                    f"move pod {key.namespace}/{key.name} from {node.name} to {target}, then {node.name} takes the pod"
                )
    return ""


def _left(node: ClusterNode, resource: str, fleet: Fleet) -> int:
    return node.allocatable.get(resource, 0) - fleet.snapshot.usage(node.name).requests.get(resource, 0)


def _movable(node: ClusterNode, pod: Wanted, fleet: Fleet) -> Iterable[tuple[ObjectKey, Pod]]:
    """Pods of no higher priority without claims, the smallest first."""
    pods = fleet.snapshot.pods_by_node.get(node.name, {})
    found = [
        (key, each)
        for key, each in pods.items()
        if not each.spec.claims and each.spec.priority <= pod.kind.spec.priority
    ]
    return sorted(found, key=lambda each: (sum(each[1].spec.requests.values()), each[0]))


def _home(pod: Pod, resource: str, amount: int, node: ClusterNode, places: Sequence[int], fleet: Fleet) -> str:
    """Another node that has room for the pod and whose labels and taints it accepts."""
    for place in places[:_TRIED]:
        other = fleet.nodes[place]
        if other is node or _left(other, resource, fleet) < amount:
            continue
        fits = all(_left(other, name, fleet) >= wanted for name, wanted in pod.spec.requests.items())
        if fits and pod.spec.accepts_labels(other.labels, other.name) and not any(each.blocks for each in other.taints):
            return other.name
    return ""
