"""Nodes as the scheduler sees them: labels, taints, what they can hold (core/v1 Node)."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster_dra import Node
from muster_plan.reading import Reader, open_object
from muster_types import Nano, NodeName

_BLOCKING = frozenset({"NoSchedule", "NoExecute"})


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    key: str
    value: str
    effect: str

    @property
    def blocks(self) -> bool:
        """`PreferNoSchedule` is a wish and decides nothing."""
        return self.effect in _BLOCKING

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True, order=True)
class Toleration:
    """`key` empty: any key; `effect` empty: any effect; `exists`: any value."""

    key: str
    exists: bool
    value: str
    effect: str

    def tolerates(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        return self.exists or self.value == taint.value


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A node that exists. `ready` is the Ready condition; `allocatable` is in nano-units per resource name."""

    name: NodeName
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    unschedulable: bool
    ready: bool
    allocatable: Mapping[str, Nano]
    node: Node  # the same node as the allocator knows it


def parse_cluster_node(obj: Mapping[str, object]) -> ClusterNode:
    """A core/v1 Node; a dump without a Ready condition says nothing against the node. Raises InvalidObject."""
    node = open_object(obj, "Node", namespaced=False)
    spec, status, labels = node.at("spec"), node.at("status"), node.at("metadata").texts("labels")
    ready = all(
        condition.text("status", "") == "True"
        for condition in status.each("conditions")
        if condition.text("type", "") == "Ready"
    )
    return ClusterNode(
        name=NodeName(node.name),
        labels=labels,
        taints=read_taints(spec),
        unschedulable=spec.flag("unschedulable"),
        ready=ready,
        allocatable=status.quantities("allocatable"),
        node=Node(NodeName(node.name), labels, status.strings("declaredFeatures")),
    )


def read_taints(spec: Reader) -> tuple[Taint, ...]:
    return tuple(
        Taint(taint.text("key"), taint.text("value", ""), taint.text("effect", "")) for taint in spec.each("taints")
    )


def read_tolerations(spec: Reader) -> tuple[Toleration, ...]:
    """An unknown operator tolerates nothing and is refused here, as the API server does."""
    found: list[Toleration] = []
    for each in spec.each("tolerations"):
        operator = each.text("operator", "") or "Equal"
        if operator not in ("Equal", "Exists"):
            raise each.fault("operator", f"want Equal or Exists, got {operator!r}")
        key = each.text("key", "")
        if not key and operator != "Exists":
            raise each.fault("operator", "a toleration without key needs operator Exists")
        found.append(Toleration(key, operator == "Exists", each.text("value", ""), each.text("effect", "")))
    return tuple(found)
