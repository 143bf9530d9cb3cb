"""Which behaviour is asked for: feature gates, release, and upstream's defects or the documented meaning.

Source: dra-semantics §0.2 (profiles), §0.3 (differences D1-D16), §6.1 (gates and their defaults).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum


class Release(Enum):
    """The scheduler release whose answers are reproduced where releases differ (dra-semantics §0.3)."""

    V1_36 = "v1.36"
    V1_37 = "v1.37"


class Meaning(Enum):
    """What decides where upstream does not do what the API documents."""

    UPSTREAM = "upstream"
    """Reproduce the open defects: the answer that a real scheduler gives."""
    DOCUMENTED = "documented"
    """The strict switch: the answer that the API's documentation promises (docs/dra.md lists each difference)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Feature gates of the scheduler, its release, and the strictness. Hashable; part of every cache key."""

    release: Release = Release.V1_37
    meaning: Meaning = Meaning.UPSTREAM
    backports: bool = False
    """With the corrections of D2 and D3 in 1.36, as its later patch releases have them."""
    admin_access: bool = True
    prioritized_list: bool = True
    partitionable_devices: bool = True
    device_taints: bool = True
    device_taint_rules: bool = True
    binding_conditions: bool = True
    consumable_capacity: bool = True
    fractional_capacity_range: bool = True
    list_type_attributes: bool = False
    compatibility_groups: bool = False
    derived_attributes: bool = False
    optional_node_operations: bool = False

    @classmethod
    def v1_37(cls) -> "Features":
        """The default gates of Kubernetes 1.37."""
        return cls()

    @classmethod
    def v1_36(cls) -> "Features":
        """The default gates of Kubernetes 1.36, behaviour as shipped in 1.36.3."""
        return cls(release=Release.V1_36, device_taint_rules=False, fractional_capacity_range=False)

    def with_gates(self, gates: Mapping[str, bool]) -> "Features":
        """With gates set by their names in `GATES` or in Kubernetes (`KUBERNETES_GATES`). Raises UnknownGate."""
        unknown = [name for name in gates if name not in GATES and name not in KUBERNETES_GATES]
        if unknown:
            raise UnknownGate(unknown[0])
        fields = {GATES.get(name) or GATES[KUBERNETES_GATES[name]]: value for name, value in gates.items()}
        return replace(self, **fields)

    @property
    def strict(self) -> bool:
        return self.meaning is Meaning.DOCUMENTED

    @property
    def counters_by_pool_name(self) -> bool:
        """Whether pools of different drivers that share a name share the bookkeeping of counters (D2)."""
        return self.release is Release.V1_36 and not self.backports

    @property
    def forgetful_distinct(self) -> bool:
        """Whether `distinctAttribute` remembers one value for each request only (D3)."""
        return self.release is Release.V1_36 and not self.backports


GATES: Mapping[str, str] = {
    "AdminAccess": "admin_access",
    "PrioritizedList": "prioritized_list",
    "PartitionableDevices": "partitionable_devices",
    "DeviceTaints": "device_taints",
    "DeviceTaintRules": "device_taint_rules",
    "DeviceBindingAndStatus": "binding_conditions",
    "ConsumableCapacity": "consumable_capacity",
    "FractionalCapacityRange": "fractional_capacity_range",
    "ListTypeAttributes": "list_type_attributes",
    "CompatibilityGroups": "compatibility_groups",
    "DerivedAttributes": "derived_attributes",
    "OptionalNodeOperations": "optional_node_operations",
}
"""The allocator's name of each gate, to the field of Features."""

KUBERNETES_GATES: Mapping[str, str] = {
    "DRADeviceBindingConditions": "DeviceBindingAndStatus",
    "DRADeviceCompatibilityGroups": "CompatibilityGroups",
    **{f"DRA{name}": name for name in GATES if name not in ("DeviceBindingAndStatus", "CompatibilityGroups")},
}
"""What `kube-scheduler --feature-gates` calls the gates (dra-semantics §6.1)."""


class UnknownGate(ValueError):
    """A feature gate that the engine does not know. The message lists those that it does."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no gate {name!r}; the gates are {', '.join(sorted(GATES))}")
