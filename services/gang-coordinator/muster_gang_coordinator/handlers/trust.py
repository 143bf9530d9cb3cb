"""Which node groups' templates an arrival has confirmed: a fold of the stream `inventory`."""

from collections.abc import Iterable

from muster_types import ClusterId, NodeGroupName


class TrustView:
    """Groups whose last judged arrival had the promised shape."""

    def __init__(self) -> None:
        self._trusted: set[tuple[ClusterId, NodeGroupName]] = set()

    def trust(self, cluster: ClusterId, group: NodeGroupName) -> None:
        """A node arrived as promised."""
        self._trusted.add((cluster, group))

    def mistrust(self, cluster: ClusterId, group: NodeGroupName) -> None:
        """A node arrived in another shape."""
        self._trusted.discard((cluster, group))

    def unconfirmed(self, cluster: ClusterId, groups: Iterable[NodeGroupName]) -> frozenset[NodeGroupName]:
        """Those of `groups` that no arrival has confirmed."""
        return frozenset(g for g in groups if (cluster, g) not in self._trusted)
