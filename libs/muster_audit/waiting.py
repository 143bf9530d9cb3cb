"""Nodes that are there and whose devices are still to come: another order would be one too many."""

from collections.abc import Sequence
from dataclasses import dataclass

from muster_audit.growth import Growth
from muster_audit.misses import Misses
from muster_audit.scene import Scene
from muster_dra import ReasonCode
from muster_types import NodeName

_NOTHING_YET = frozenset({ReasonCode.NO_DEVICES, ReasonCode.CLASS_MATCHES_NOTHING})


@dataclass(frozen=True, slots=True)
class Late:
    """Nodes of a group that have published no device of the kind yet, and how many of the pods each will take."""

    group: str
    nodes: tuple[str, ...]
    per_node: int

    @property
    def pods(self) -> int:
        return len(self.nodes) * self.per_node


def late_nodes(found: Misses, growth: Growth, scene: Scene) -> Sequence[Late]:
    """Open nodes without a device of the kind that belong to a group whose template would serve.

    A node from which devices went away is not late: it had them.
    """
    empty: list[str] = []
    for miss in found.all:
        waits = miss.reason is not None and miss.reason.code in _NOTHING_YET and miss.rank > 0
        if waits and miss.spot is not None and miss.spot.open:
            empty += [scene.now.counted.fleet.nodes[place].name for place in miss.places]
    late: list[Late] = []
    for option in growth.options:
        nodes = [
            name
            for name in empty
            if (node := scene.snapshot.node(_name(name))) is not None and option.group.has(node.labels)
        ]
        if nodes:
            late.append(Late(option.name, tuple(nodes), option.per_node))
    return late


def _name(name: str) -> NodeName:
    return NodeName(name)
