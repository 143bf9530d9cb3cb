"""What is known about the templates of node groups when something is ordered from them."""

from collections.abc import Iterable
from dataclasses import dataclass

from muster_gang_coordinator.domain.plans import Reason
from muster_types import NodeGroupName, NodeName


@dataclass(frozen=True, slots=True, order=True)
class Unconfirmed:
    """A group whose template nobody has confirmed; `unit` are the nodes that it can add at least."""

    node_group: NodeGroupName
    unit: int = 1


@dataclass(frozen=True, slots=True, order=True)
class Mistrusted:
    """A group of which `node` arrived in another shape than promised; `evidence` says how."""

    node_group: NodeGroupName
    node: NodeName
    evidence: str


@dataclass(frozen=True, slots=True)
class TemplateTrust:
    """The groups that are not trusted, each kind by name."""

    unconfirmed: tuple[Unconfirmed, ...] = ()
    mistrusted: tuple[Mistrusted, ...] = ()

    def trial_size(self, group: NodeGroupName, count: int) -> int:
        """How many of `count` nodes are ordered before the rest: all of them from a trusted group."""
        unit = next((each.unit for each in self.unconfirmed if each.node_group == group), count)
        return min(unit, count)

    def refused(self, groups: Iterable[NodeGroupName]) -> tuple[Mistrusted, ...]:
        """Those of `groups` that nothing is ordered from."""
        wanted = set(groups)
        return tuple(each for each in self.mistrusted if each.node_group in wanted)


ALL_TRUSTED = TemplateTrust()


def not_ordered_from(group: Mistrusted) -> Reason:
    """Why a group is left out, and what to do about it."""
    return Reason(
        "TEMPLATE_WRONG",
        f"nothing is ordered from node group {group.node_group}: its node {group.node} has another shape than the "
        f"template promised ({group.evidence}); correct the template of the NodeGroup, or answer for it with a new "
        "word in its annotation muster.dev/template-trusted",
        (("node", str(group.node)), ("node_group", str(group.node_group))),
    )
