"""The kinds that Muster reads (architecture §6), with the versions it understands, newest first."""

from collections.abc import Mapping
from dataclasses import dataclass

RESOURCE = "resource.k8s.io"
SCHEDULING = "scheduling.k8s.io"
AUTOSCALING = "autoscaling.x-k8s.io"
MUSTER = "muster.dev"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object: its group ("" for core), the versions read, its plural in API paths, where it lives."""

    name: str
    group: str
    versions: tuple[str, ...]
    plural: str
    namespaced: bool

    @property
    def api_versions(self) -> tuple[str, ...]:
        """The values of `apiVersion` that are read, preferred first."""
        return tuple(f"{self.group}/{version}" if self.group else version for version in self.versions)


@dataclass(frozen=True, slots=True)
class UnknownVersion:
    """A kind that Muster reads, in a version that it does not know."""

    kind: Kind
    version: str

    @property
    def reason(self) -> str:
        """What is wrong and what to do."""
        known = ", ".join(self.kind.api_versions)
        return (
            f"version {self.version!r} of {self.kind.name} is unknown; known: {known}. Dump the object in one of "
            f"these, for example with kubectl get {self.kind.plural}.{self.kind.versions[0]}.{self.kind.group}"
        ).removesuffix(".")


# resource.k8s.io/v1alpha3 (1.31) is no longer served for anything but taint rules (dra-semantics §1.14);
# scheduling.k8s.io/v1alpha1 is refused (group-capacity N-3.1).
_RESOURCE_VERSIONS = ("v1", "v1beta2", "v1beta1")
_SCHEDULING_VERSIONS = ("v1beta1", "v1alpha3", "v1alpha2")

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("Node", "", ("v1",), "nodes", namespaced=False),
        Kind("Pod", "", ("v1",), "pods", namespaced=True),
        Kind("PodTemplate", "", ("v1",), "podtemplates", namespaced=True),
        Kind("ResourceSlice", RESOURCE, _RESOURCE_VERSIONS, "resourceslices", namespaced=False),
        Kind("ResourceClaim", RESOURCE, _RESOURCE_VERSIONS, "resourceclaims", namespaced=True),
        Kind("ResourceClaimTemplate", RESOURCE, _RESOURCE_VERSIONS, "resourceclaimtemplates", namespaced=True),
        Kind("DeviceClass", RESOURCE, _RESOURCE_VERSIONS, "deviceclasses", namespaced=False),
        Kind("DeviceTaintRule", RESOURCE, ("v1", "v1beta2", "v1alpha3"), "devicetaintrules", namespaced=False),
        Kind("ProvisioningRequest", AUTOSCALING, ("v1", "v1beta1"), "provisioningrequests", namespaced=True),
        Kind("PodGroup", SCHEDULING, _SCHEDULING_VERSIONS, "podgroups", namespaced=True),
        Kind("Workload", SCHEDULING, _SCHEDULING_VERSIONS, "workloads", namespaced=True),
        Kind("NodeGroup", MUSTER, ("v1alpha1",), "nodegroups", namespaced=False),
    )
}


def kind_of(api_version: str, name: str) -> Kind | UnknownVersion | None:
    """The kind of an object; None for one that Muster does not read (also one of the same name in another group)."""
    kind = KINDS.get(name)
    if kind is None or not api_version:
        return None
    group, _, version = api_version.rpartition("/")
    if group != kind.group:
        return None
    return kind if version in kind.versions else UnknownVersion(kind, api_version)
