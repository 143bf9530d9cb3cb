"""Equal nodes: one answer for all of them (architecture §4)."""

from collections.abc import Hashable, Sequence

from muster_dra.allocated import AllocatedState
from muster_dra.catalog import Catalog
from muster_dra.objects.claims import ResourceClaim
from muster_dra.objects.nodes import Node
from muster_dra.outcome import Fatal
from muster_dra.pools import UnreadableSelector
from muster_dra.solving import shrunk_sets
from muster_dra.views import exclusive_use, occupancy


def node_class_key(
    node: Node, catalog: Catalog, allocated: AllocatedState, claims: Sequence[ResourceClaim] | None = None
) -> Hashable:
    """Nodes with equal keys give the same answer up to the names of nodes and pools.

    Without `claims`: for any claims that only want devices of the node; what the devices publish and what is in use has
    to be the same. With `claims`: for these claims; serial numbers and devices that no solution can use do not count,
    so the classes are larger. Keys are comparable within one catalogue and those that `with_slices` made of it.
    """
    view = catalog.view(node)
    if isinstance(view, UnreadableSelector):
        return "unreadable", view.slice, view.device
    marks = view.unusable is not None, view.invalid
    dedicated = exclusive_use(view, allocated)
    plans = catalog.plans(claims) if claims is not None else None
    if plans is None or isinstance(plans, Fatal):
        taken = dedicated if dedicated is not None else occupancy(view, allocated, catalog.features).key
        return view.shape, marks, taken
    plan = plans.plan(view.shape)
    if dedicated is None:
        return plan, view.shape, marks, occupancy(view, allocated, catalog.features).key
    # Devices that no selector was asked about may differ though the plans are one.
    unread = view.shape if any(choice.unread for choice in plan.options) else None
    return plan, unread, marks, shrunk_sets(plan, dedicated & plan.watched)
