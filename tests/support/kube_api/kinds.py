"""The resources that the fake server has unless a test says otherwise."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class ResourceType:
    """One kind of object. `versions` are served, all with the object as it was written: there is no conversion.

    `builtin`: lists of it have items without apiVersion and kind, as the server's own types do and custom resources
    don't. `list_maps`: paths of lists that server-side apply merges by these keys; other lists are replaced whole.
    """

    group: str
    versions: tuple[str, ...]
    kind: str
    plural: str
    namespaced: bool
    subresources: frozenset[str] = frozenset()
    builtin: bool = True
    list_maps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def id(self) -> tuple[str, str]:
        """Group and plural, by which it is stored."""
        return (self.group, self.plural)

    def api_version(self, version: str) -> str:
        """`apiVersion` of an object in one of the versions."""
        return f"{self.group}/{version}" if self.group else version


_STATUS = frozenset({"status"})
_SCALE = frozenset({"status", "scale"})
_CONDITIONS = {"status.conditions": ("type",)}

DEFAULT_TYPES: tuple[ResourceType, ...] = (
    ResourceType("", ("v1",), "Namespace", "namespaces", False, _STATUS),
    ResourceType("", ("v1",), "Node", "nodes", False, _STATUS, list_maps=_CONDITIONS),
    ResourceType("", ("v1",), "Pod", "pods", True, frozenset({"status", "binding"}), list_maps=_CONDITIONS),
    ResourceType("", ("v1",), "PodTemplate", "podtemplates", True),
    ResourceType("", ("v1",), "ConfigMap", "configmaps", True),
    ResourceType("resource.k8s.io", ("v1",), "ResourceSlice", "resourceslices", False),
    ResourceType("resource.k8s.io", ("v1",), "ResourceClaim", "resourceclaims", True, _STATUS),
    ResourceType("resource.k8s.io", ("v1",), "ResourceClaimTemplate", "resourceclaimtemplates", True),
    ResourceType("resource.k8s.io", ("v1",), "DeviceClass", "deviceclasses", False),
    ResourceType("resource.k8s.io", ("v1beta2",), "DeviceTaintRule", "devicetaintrules", False, _STATUS),
    ResourceType("scheduling.k8s.io", ("v1beta1",), "PodGroup", "podgroups", True, _STATUS),
    ResourceType("scheduling.k8s.io", ("v1beta1",), "Workload", "workloads", True),
    ResourceType(
        "autoscaling.x-k8s.io",
        ("v1", "v1beta1"),
        "ProvisioningRequest",
        "provisioningrequests",
        True,
        _STATUS,
        builtin=False,
        list_maps=_CONDITIONS,
    ),
    ResourceType("muster.dev", ("v1alpha1",), "NodeGroup", "nodegroups", False, _STATUS, builtin=False),
    ResourceType("cluster.x-k8s.io", ("v1beta2",), "Machine", "machines", True, _STATUS, builtin=False),
    ResourceType("cluster.x-k8s.io", ("v1beta2",), "MachineDeployment", "machinedeployments", True, _SCALE, False),
    ResourceType("cluster.x-k8s.io", ("v1beta2",), "MachinePool", "machinepools", True, _SCALE, False),
    ResourceType("karpenter.sh", ("v1",), "NodePool", "nodepools", False, _STATUS, False),
    ResourceType("karpenter.sh", ("v1",), "NodeClaim", "nodeclaims", False, _STATUS, False),
)


def without(*kinds: str, types: Iterable[ResourceType] = DEFAULT_TYPES) -> tuple[ResourceType, ...]:
    """The types but these kinds."""
    return tuple(each for each in types if each.kind not in kinds)


def in_versions(group: str, *versions: str, types: Iterable[ResourceType] = DEFAULT_TYPES) -> tuple[ResourceType, ...]:
    """The types with a group served in other versions, as an older or newer cluster has it."""
    return tuple(replace(each, versions=versions) if each.group == group else each for each in types)
