"""Extended resources that classes back: names to classes, containers' requests to a claim (dra-semantics §5.2)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from muster_dra.objects.claims import ClaimRequest, ClaimSpec, DeviceRequest, ResourceClaim
from muster_dra.objects.classes import DeviceClass
from muster_types import Nano, to_integer

IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
CLAIM_NAME = "<extended-resources>"
"""The name of the claim that exists only while a pod is placed."""


class Treatment(Enum):
    """How one node serves an extended resource that a pod asks for."""

    DEVICES = "through the class"
    DEVICE_PLUGIN = "as an ordinary resource"
    NO_FIT = "not at all"
    RESOURCE_FIT = "left to the check of node resources"


@dataclass(frozen=True, slots=True)
class ContainerRequests:
    """`resources.requests` of one container, in nano-units. Sidecars are init containers with restartPolicy Always."""

    name: str
    requests: Mapping[str, Nano] = field(default_factory=dict[str, Nano])
    init: bool = False
    sidecar: bool = False


@dataclass(frozen=True, slots=True)
class RequestMapping:
    """An entry of `pod.status.extendedResourceClaimStatus.requestMappings`."""

    container: str
    resource: str
    request: str


@dataclass(frozen=True, slots=True)
class ExtendedResourceClaim:
    claim: ResourceClaim
    mappings: tuple[RequestMapping, ...]


def is_candidate(resource: str) -> bool:
    """Whether a resource name may be backed by a class: an extended resource, or the implicit name of a class."""
    if resource.startswith(IMPLICIT_PREFIX):
        return True
    return "/" in resource and "kubernetes.io/" not in resource and not resource.startswith("requests.")


def classes_by_resource(classes: Iterable[DeviceClass], *, strict: bool = False) -> dict[str, DeviceClass]:
    """The class behind each resource name, explicit or implicit.

    Of two classes with one explicit name the younger wins, and among those of one age the smaller name. Upstream does
    not register the implicit name of a class that loses when it is looked at; `strict` does.
    """
    found: dict[str, DeviceClass] = {}
    for each in classes:
        explicit = each.extended_resource_name
        if explicit:
            other = found.get(explicit)
            if other is None or _wins(each, other):
                found[explicit] = each
            elif not strict:
                continue
        found[IMPLICIT_PREFIX + each.name] = each
    return found


def _wins(one: DeviceClass, other: DeviceClass) -> bool:
    if one.creation_time != other.creation_time:
        return one.creation_time > other.creation_time
    return one.name < other.name


def treatment(mapped: bool, allocatable: Nano | None) -> Treatment:
    """How a node serves a resource: `mapped` to a class, `allocatable` there (None: the node does not name it)."""
    if allocatable is not None and allocatable > 0:
        return Treatment.DEVICE_PLUGIN
    if mapped:
        return Treatment.DEVICES
    return Treatment.NO_FIT if allocatable is None else Treatment.RESOURCE_FIT


def extended_resource_claim(
    namespace: str, containers: Sequence[ContainerRequests], classes: Mapping[str, DeviceClass]
) -> ExtendedResourceClaim | None:
    """The claim for the resources in `classes` (those served through devices on a node), or None if none is asked for.

    `containers`: init containers first, as in the pod. The claim goes last among the pod's claims.
    """
    requests: dict[str, tuple[ClaimRequest, RequestMapping]] = {}
    for index, container in enumerate(containers):
        for position, resource in enumerate(sorted(container.requests)):
            count = _count(containers, index, resource) if resource in classes else 0
            if count > 0:
                name = f"container-{index}-request-{position}"
                wanted = DeviceRequest(name, classes[resource].name, count=count)
                requests[name] = ClaimRequest(name, wanted), RequestMapping(container.name, resource, name)
    if not requests:
        return None
    ordered = [requests[name] for name in sorted(requests)]
    spec = ClaimSpec(tuple(request for request, _ in ordered))
    return ExtendedResourceClaim(ResourceClaim(CLAIM_NAME, namespace, spec), tuple(mapping for _, mapping in ordered))


def _count(containers: Sequence[ContainerRequests], index: int, resource: str) -> int:
    """Devices to ask for on behalf of one container."""
    if not _passing(containers[index]):
        return _asked(containers[index], resource)
    extras = [_extra(containers, other, resource) for other, each in enumerate(containers) if _passing(each)]
    passing = [other for other, each in enumerate(containers) if _passing(each)]
    largest = max(extras)
    return largest if passing[extras.index(largest)] == index else 0


def _extra(containers: Sequence[ContainerRequests], index: int, resource: str) -> int:
    """What a passing init container needs beyond what later long-lived containers will have: it uses theirs."""
    later = sum(_asked(each, resource) for each in containers[index + 1 :] if not _passing(each))
    return max(_asked(containers[index], resource) - later, 0)


def _passing(container: ContainerRequests) -> bool:
    return container.init and not container.sidecar


def _asked(container: ContainerRequests, resource: str) -> int:
    return to_integer(container.requests.get(resource, 0))
