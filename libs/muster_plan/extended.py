"""Extended resources backed by device classes (KEP-5004, dra-semantics §5.2)."""

from collections.abc import Iterable, Mapping

from muster_dra import ClaimRequest, ClaimSpec, DeviceClass, DeviceRequest
from muster_plan.pods import ContainerNeeds, ContainerRole
from muster_types import to_integer

IMPLICIT = "deviceclass.resource.kubernetes.io/"
ENTRY = "<extended-resources>"


def is_extended(resource: str) -> bool:
    """Whether a name can stand for devices: a qualified name outside Kubernetes' own domain, or the implicit prefix."""
    if resource.startswith(IMPLICIT):
        return True
    domain, slash, _ = resource.partition("/")
    own = domain == "kubernetes.io" or domain.endswith(".kubernetes.io")
    return bool(slash) and not own and not resource.startswith("requests.")


def class_of(resource: str, classes: Iterable[DeviceClass]) -> str | None:
    """The class behind a resource name. Of two classes with one explicit name the younger wins, then the first name."""
    if resource.startswith(IMPLICIT):
        name = resource.removeprefix(IMPLICIT)
        return name if any(each.name == name for each in classes) else None
    found = [each for each in classes if each.extended_resource_name == resource]
    if not found:
        return None
    youngest = max(each.creation_time for each in found)
    return min(each.name for each in found if each.creation_time == youngest)


def extended_claim(containers: tuple[ContainerNeeds, ...], resources: Mapping[str, str]) -> ClaimSpec:
    """One request per container and resource in `resources` (resource -> class); requests sort by name as text.

    An init container uses again what later sidecars and app containers request; of what it wants beyond that, only the
    largest per resource is kept.
    """
    requests: dict[str, DeviceRequest] = {}
    surplus: dict[str, tuple[int, str]] = {}
    later: dict[str, int] = {}
    for index in reversed(range(len(containers))):
        container = containers[index]
        for place, resource in enumerate(sorted(container.requests)):
            if resource not in resources:
                continue
            count = to_integer(container.requests[resource])
            name = f"container-{index}-request-{place}"
            if container.role is not ContainerRole.INIT:
                later[resource] = later.get(resource, 0) + count
                if count > 0:
                    requests[name] = DeviceRequest(name, resources[resource], count=count)
                continue
            beyond = count - later.get(resource, 0)
            if beyond > surplus.get(resource, (0, ""))[0]:
                surplus[resource] = (beyond, name)
    for resource, (count, name) in surplus.items():
        requests[name] = DeviceRequest(name, resources[resource], count=count)
    return ClaimSpec(tuple(ClaimRequest(name, exactly=requests[name]) for name in sorted(requests)))
