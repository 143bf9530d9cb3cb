"""What tells nodes apart by their devices: the state of their own, and the network-attached pools they reach."""

from collections.abc import Hashable

from muster_dra import AllocatedState, Catalog, Node, UnreadableSelector
from muster_dra.views import exclusive_use, occupancy
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


def node_class_key(node: Node, catalog: Catalog, allocated: AllocatedState) -> Hashable:
    """The form of what the node publishes, and which of its devices, shares and counters are taken."""
    """Equal keys, same answers for claims of the node alone, up to names."""
    view = catalog.view(node)
    if isinstance(view, UnreadableSelector):
        return ("unreadable", node.name)
    taken: Hashable = exclusive_use(view, allocated)
    if taken is None:
        use = occupancy(view, allocated, catalog.features)
        taken = repr(use.key)
    return (view.shape, taken, view.unusable is not None, view.invalid)
