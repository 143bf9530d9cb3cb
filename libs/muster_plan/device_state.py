"""What tells nodes apart beside their own devices: the network-attached pools they reach."""

from muster_dra import Catalog, Node, UnreadableSelector
from muster_plan.snapshot import Snapshot

REACH = "\0reach"
"""Stands for a topology key whose values are the sets of network-attached pools that a node reaches."""


def reach_of(node: Node, catalog: Catalog, snapshot: Snapshot) -> str:
    """The network-attached pools that a node reaches, as a domain value."""
    pools = catalog.pools_of(node)
    if isinstance(pools, UnreadableSelector):
        return "unreadable"
    network = {each.pool for each in snapshot.network}
    return " ".join(sorted(str(pool.id) for pool in pools if pool.id in network))
