"""A node as allocation sees it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster_dra.reading import Fields
from muster_types import NodeName

_NO_LABELS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Node:
    """Only what allocation needs. `declared_features` is `status.declaredFeatures` (KEP-5945)."""

    name: NodeName
    labels: Mapping[str, str] = field(default_factory=lambda: _NO_LABELS)
    declared_features: tuple[str, ...] = ()


def parse_node(json: object) -> Node:
    """A v1 Node. Raises InvalidObject."""
    top = Fields.of_object(json, "Node", ("v1",))
    return Node(
        NodeName(top.name),
        top.child("metadata").labels("labels"),
        top.child("status").texts("declaredFeatures"),
    )
