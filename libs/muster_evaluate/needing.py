"""Which capabilities the pending work needs: those that Muster's plan for it makes use of."""

from collections.abc import Iterator

from muster_evaluate.capabilities import Capability
from muster_evaluate.comparison import Compared, Comparison
from muster_evaluate.fields import parts
from muster_plan import NodeTemplate, SharedEntry, Snapshot

OF_GANGS = frozenset(
    {
        Capability.TEMPLATES,
        Capability.FROM_ZERO,
        Capability.PARTITIONS,
        Capability.CONSUMABLE,
        Capability.MULTI_NODE,
        Capability.GROUP_CLAIMS,
        Capability.ATOMIC,
        Capability.MIXED,
        Capability.HETEROGENEOUS,
        Capability.BACKTRACKING,
        Capability.TOPOLOGY_GROWING,
        Capability.TOPOLOGY_PLACING,
        Capability.NEVER,
    }
)
"""Those that work may need; the others are of use to who runs the cluster."""


def needed_by(comparison: Comparison, snapshot: Snapshot) -> dict[Capability, tuple[str, ...]]:
    """The subjects that need each. Nothing pending: all that a gang may need, by nobody in particular."""
    if not comparison.rows:
        return dict.fromkeys(sorted(OF_GANGS), ())
    found: dict[Capability, list[str]] = {}
    for row in comparison.rows:
        for capability in sorted(set(_needs(row, snapshot))):
            found.setdefault(capability, []).append(row.work.subject)
    return {capability: tuple(found[capability]) for capability in sorted(found)}


def _needs(row: Compared, snapshot: Snapshot) -> Iterator[Capability]:
    gang, orders = row.work.gang, row.muster.orders
    asks = any(each.claims for each in gang.pod_sets)
    groups = [group for order in orders if (group := snapshot.group(order.group)) is not None]
    if row.needs.never:
        yield Capability.NEVER
    if asks and orders:
        yield Capability.TEMPLATES
        if any(group.current_size == 0 for group in groups):
            yield Capability.FROM_ZERO
        if any(_says(group.template, "sharedCounters", "consumesCounters") for group in groups):
            yield Capability.PARTITIONS
        if any(_says(group.template, "allowMultipleAllocations") for group in groups):
            yield Capability.CONSUMABLE
    shared = [each for pod_set in gang.pod_sets for each in pod_set.claims if isinstance(each, SharedEntry)]
    if any(not each.direct for each in shared):
        yield Capability.GROUP_CLAIMS
    if orders and any(_on_the_network(each, snapshot) for each in shared):
        yield Capability.MULTI_NODE
    if not row.work.together:
        return
    if len(orders) > 1:
        yield Capability.ATOMIC
    if orders and row.needs.existing:
        yield Capability.MIXED
    if len(gang.pod_sets) > 1:
        yield Capability.HETEROGENEOUS
    if asks and row.needs.pinned:
        yield Capability.BACKTRACKING
    if any(each.topology_keys for each in gang.pod_groups.values()) or any(
        each.topology.required for each in gang.pod_sets
    ):
        yield Capability.TOPOLOGY_PLACING
        if orders:
            yield Capability.TOPOLOGY_GROWING


def _says(template: NodeTemplate, *fields: str) -> bool:
    """Whether a slice of the template, or a device in it, has one of these fields."""
    return any(
        each.get(field)
        for slice_ in template.slices or ()
        for each in (slice_, *parts(slice_, "devices"))
        for field in fields
    )


def _on_the_network(entry: SharedEntry, snapshot: Snapshot) -> bool:
    """A claim of several pods while devices are published that more than one node reaches."""
    return bool(snapshot.network) and bool(entry.claim.spec.requests)
