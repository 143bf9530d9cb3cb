"""Sentences that several verdicts use."""

from collections.abc import Iterable, Mapping, Sequence

from muster_audit.cluster import Cluster
from muster_dra import ClaimSpec
from muster_types import DeviceId

_NAMED = 3


def listed(names: Iterable[str], most: int = _NAMED) -> str:
    """The first names, and how many more there are."""
    known = list(names)
    rest = len(known) - most
    return ", ".join(known[:most]) + (f" and {rest} more" if rest > 0 else "")


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def nodes_text(nodes: Sequence[str]) -> str:
    """`node-a`, or `node-a and 3 like it`."""
    return nodes[0] if len(nodes) == 1 else f"{nodes[0]} and {len(nodes) - 1} like it"


def holders_text(holders: Iterable[str], cluster: Cluster) -> str:
    """Claims with the pods that use them."""
    return listed([holder_text(each, cluster) for each in holders if each])


def holder_text(holder: str, cluster: Cluster) -> str:
    namespace, slash, name = holder.partition("/")
    claim = cluster.snapshot.claim(namespace, name) if slash else None
    if claim is None:
        return holder
    pods = [each.name for each in claim.reserved_for if each.resource == "pods"]
    return f"claim {holder} (pod {', '.join(pods[:2])})" if pods else f"claim {holder}"


def device_names(devices: Iterable[DeviceId], most: int = 8) -> str:
    return listed([each.device for each in devices], most)


def asked_devices(specs: Iterable[ClaimSpec]) -> Mapping[str, int]:
    """Devices asked for by class, alternatives by their first."""
    found: dict[str, int] = {}
    for spec in specs:
        for request in spec.requests:
            option = request.exactly or (request.first_available[0] if request.first_available else None)
            if option is not None and option.mode != "All":
                found[option.class_name] = found.get(option.class_name, 0) + option.count
    return found
