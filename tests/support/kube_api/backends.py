"""What a cluster serves beside the usual kinds where Cluster API and Karpenter are installed, and their events."""

from support.kube_api.kinds import DEFAULT_TYPES, ResourceType

_STATUS = frozenset({"status"})
_MORE = (
    ResourceType("test.example.com", ("v1",), "TestNodeClass", "testnodeclasses", False, builtin=False),
    ResourceType("", ("v1",), "Event", "events", True),
    ResourceType(
        "kueue.x-k8s.io",
        ("v1beta2",),
        "ProvisioningRequestConfig",
        "provisioningrequestconfigs",
        False,
        builtin=False,
    ),
    ResourceType("cluster.x-k8s.io", ("v1beta2",), "Cluster", "clusters", True, _STATUS, builtin=False),
    ResourceType(
        "cluster.x-k8s.io",
        ("v1beta2",),
        "MachineSet",
        "machinesets",
        True,
        frozenset({"status", "scale"}),
        builtin=False,
    ),
    ResourceType(
        "infrastructure.cluster.x-k8s.io",
        ("v1beta2",),
        "TestMachineTemplate",
        "testmachinetemplates",
        True,
        builtin=False,
    ),
)


def backend_types() -> tuple[ResourceType, ...]:
    """The usual kinds and those of the back-ends, each once."""
    had = {each.kind for each in DEFAULT_TYPES}
    return (*DEFAULT_TYPES, *(each for each in _MORE if each.kind not in had))
