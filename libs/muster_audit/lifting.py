"""What keeps requests apart that would fit one by one: each kind of condition is lifted in thought, and asked again."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from muster_audit.words import Cause
from muster_dra import (
    AllocatedState,
    Allocation,
    Catalog,
    Device,
    Node,
    ResourceClaim,
    ResourceSlice,
    UnreadableSelector,
    allocate,
)
from muster_dra.amounts import Amount

_PLENTY = 1 << 20


def binding(node: Node, claims: Sequence[ResourceClaim], catalog: Catalog, allocated: AllocatedState) -> Cause | None:
    """The first of counters, capacities and constraints without which the node would take the claims; None: devices
    themselves are too few, or several kinds bind together."""
    for cause, change in (
        (Cause.COUNTERS_EXHAUSTED, _without_counters),
        (Cause.CAPACITY_EXHAUSTED, _with_plenty),
    ):
        changed = _changed(node, catalog, change)
        if changed is not None and _fits(node, claims, changed, allocated):
            return cause
    free = [replace(claim, spec=replace(claim.spec, constraints=())) for claim in claims]
    if any(claim.spec.constraints for claim in claims) and _fits(node, free, catalog, allocated):
        return Cause.TOPOLOGY_MISMATCH
    return None


def _fits(node: Node, claims: Sequence[ResourceClaim], catalog: Catalog, allocated: AllocatedState) -> bool:
    return isinstance(allocate(node, claims, catalog, allocated), Allocation)


def _changed(node: Node, catalog: Catalog, change: Callable[[Device], Device]) -> Catalog | None:
    """What the node sees with its devices changed; None where no device does."""
    pools = catalog.pools_of(node)
    if isinstance(pools, UnreadableSelector):
        return None
    slices: list[ResourceSlice] = []
    same = True
    for pool in pools:
        for slice_ in pool.slices if pool.usable else ():
            devices = tuple(map(change, slice_.devices))
            same = same and devices == slice_.devices
            slices.append(replace(slice_, devices=devices, counter_sets=(), slice_count=len(pool.slices)))
    return None if same else Catalog.build(slices, catalog.classes.values(), features=catalog.features)


def _without_counters(device: Device) -> Device:
    return replace(device, consumes=())


def _with_plenty(device: Device) -> Device:
    capacity = {
        name: replace(each, value=Amount.computed(each.value.nano * _PLENTY)) for name, each in device.capacity.items()
    }
    return replace(device, capacity=capacity) if device.allow_multiple_allocations else device
