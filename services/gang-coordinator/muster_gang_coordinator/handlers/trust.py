"""Which node groups' templates can be believed: a fold of the stream `inventory`."""

from dataclasses import dataclass, replace

from muster_gang_coordinator.domain.trust import Mistrusted, TemplateTrust, Unconfirmed
from muster_types import ClusterId, NodeGroupName, NodeName


@dataclass(frozen=True, slots=True)
class _Group:
    template: bytes = b""
    unit: int = 1
    trusted: bool = False
    wrong: Mistrusted | None = None


class TrustView:
    """A group is trusted by an arrival as promised or by a person's word, mistrusted by one in another shape; another
    template starts anew. Of a group that nobody declared nothing is known, and nothing is ordered from it anyhow."""

    def __init__(self) -> None:
        self._groups: dict[tuple[ClusterId, NodeGroupName], _Group] = {}

    def declare(self, cluster: ClusterId, group: NodeGroupName, template: bytes, unit: int) -> bool:
        """The group was declared; True when its template is another one than before."""
        known = self._groups.get((cluster, group))
        if known is not None and known.template == template:
            self._groups[cluster, group] = replace(known, unit=unit)
            return False
        self._groups[cluster, group] = _Group(template, unit)
        return known is not None

    def trust(self, cluster: ClusterId, group: NodeGroupName) -> None:
        """A node arrived as promised, or somebody answers for the template."""
        self._groups[cluster, group] = replace(self._group(cluster, group), trusted=True, wrong=None)

    def mistrust(self, cluster: ClusterId, group: NodeGroupName, node: NodeName, evidence: str) -> None:
        """A node arrived in another shape."""
        wrong = Mistrusted(group, node, evidence)
        self._groups[cluster, group] = replace(self._group(cluster, group), trusted=False, wrong=wrong)

    def trust_of(self, cluster: ClusterId) -> TemplateTrust:
        """All groups of a cluster that are not trusted."""
        groups = [(name, group) for (c, name), group in sorted(self._groups.items()) if c == cluster]
        return TemplateTrust(
            tuple(Unconfirmed(name, g.unit) for name, g in groups if not g.trusted and g.wrong is None),
            tuple(g.wrong for _, g in groups if g.wrong is not None),
        )

    def _group(self, cluster: ClusterId, group: NodeGroupName) -> _Group:
        return self._groups.get((cluster, group), _Group())
