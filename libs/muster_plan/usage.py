"""What a node holds already: running pods, booked members."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from muster_plan.booking import BookedPod
from muster_plan.pods import PODS, AffinityTerm, HostPort, Pod
from muster_types import NANO, Nano


@dataclass(frozen=True, slots=True)
class Occupant:
    """A pod that runs on a node, or is promised to it, as others there see it."""

    namespace: str
    labels: Mapping[str, str]
    anti_affinity: tuple[AffinityTerm, ...]
    host_ports: tuple[HostPort, ...]
    terminating: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """`requests` includes one of "pods" per occupant."""

    requests: Mapping[str, Nano]
    occupants: tuple[Occupant, ...]


NOTHING = Usage({}, ())


def usage_of(pods: Iterable[Pod], booked: Iterable[BookedPod]) -> Usage:
    total: dict[str, int] = {}
    occupants: list[Occupant] = []
    for pod in pods:
        _add(total, pod.spec.requests)
        spec = pod.spec
        occupants.append(Occupant(pod.namespace, spec.labels, spec.anti_affinity, spec.host_ports, pod.terminating))
    for member in booked:
        _add(total, member.requests)
        occupants.append(Occupant(member.namespace, member.labels, (), (), terminating=False))
    if not occupants:
        return NOTHING
    return Usage({resource: Nano(amount) for resource, amount in total.items()}, tuple(occupants))


def _add(total: dict[str, int], requests: Mapping[str, Nano]) -> None:
    for resource, amount in requests.items():
        if resource != PODS:
            total[resource] = total.get(resource, 0) + amount
    total[PODS] = total.get(PODS, 0) + NANO
