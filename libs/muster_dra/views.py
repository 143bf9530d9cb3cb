"""A node with its pools, ready for any claim; and how much of it is taken."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from muster_dra.allocated import NO_USE, AllocatedState
from muster_dra.counters import available
from muster_dra.features import Features
from muster_dra.objects.node_selectors import NodeSelector
from muster_dra.objects.nodes import Node
from muster_dra.objects.slices import Device, ResourceSlice
from muster_dra.pools import Pool, PoolState
from muster_dra.shapes import Part, Shape, ShapeTable
from muster_types import Nano

_NO_AMOUNTS: Mapping[str, Nano] = {}


class NodeView:
    """What one node sees. Immutable but for what it remembers; made by `node_view`.

    `pools` are the usable ones in search order, `unusable` the first that is not; `invalid`: a pool is INVALID, so a no
    is a node error; `bound`: a device may be bound to nodes by a selector, so its allocation may turn out fatal.
    """

    __slots__ = ("_pinned", "_slices", "bound", "invalid", "node", "pool_ids", "pools", "shape", "skips", "unusable")

    def __init__(self, node: Node, pools: tuple[Pool, ...], shape: Shape, others: list[Pool]) -> None:
        self.node, self.pools, self.shape = node, pools, shape
        self.pool_ids = [pool.id for pool in pools]
        self.unusable = others[0] if others else None
        self.invalid = any(pool.state is PoolState.INVALID for pool in others)
        self.bound = self.skips = False
        """`skips`: whether a slice has node operations to skip."""
        for pool in pools:
            for slice_ in pool.slices:
                if slice_.place.selector is not None or slice_.per_device_nodes:
                    self.bound = True
                if slice_.skip_node_operations:
                    self.skips = True
        self._slices: list[tuple[Pool, ResourceSlice]] = []
        self._pinned: NodeSelector | None = None

    def slot(self, device: int) -> "Slot":
        """The device with a number of the shape, with the pool and slice it is from on this node."""
        if not self._slices:
            self._slices = [(pool, slice_) for pool in self.pools for slice_ in pool.slices]
        number = self.shape.part_of[device]
        pool, slice_ = self._slices[number]
        return Slot(pool, slice_, self.shape.devices[device], self.shape.parts[number])

    def slots(self) -> "list[Slot]":
        """Every device of the shape, in order."""
        return [self.slot(device) for device in range(self.shape.size)]

    @property
    def pinned(self) -> NodeSelector:
        """The selector of this node alone."""
        if self._pinned is None:
            self._pinned = NodeSelector.only(self.node.name)
        return self._pinned


class Slot(NamedTuple):
    pool: Pool
    slice: ResourceSlice
    device: Device
    part: Part


@dataclass(frozen=True, slots=True, eq=False)
class Occupancy:
    """How much of a view is taken.

    `dedicated` are devices that no ordinary request may use. `committed` gives the recorded amounts of devices with
    shares, None where none were recorded; `left` what is left of each counter of the layout.
    `key`: equal keys of one shape mean equal occupancy.
    """

    dedicated: int
    committed: Mapping[int, Mapping[str, Nano] | None]
    left: tuple[int, ...]
    key: object


def node_view(node: Node, pools: tuple[Pool, ...], table: ShapeTable) -> NodeView:
    """From all pools of a node; dropped ones do not exist for it."""
    usable, others = pools, list[Pool]()
    for pool in pools:
        if pool.state is not PoolState.COMPLETE:
            usable = tuple(pool for pool in pools if pool.usable)
            others = [pool for pool in pools if pool.state in (PoolState.INCOMPLETE, PoolState.INVALID)]
            break
    return NodeView(node, usable, table.shape(node, usable), others)


def exclusive_use(view: NodeView, allocated: AllocatedState) -> int | None:
    """The devices that no ordinary request may use, if that is all there is to say; else None, ask `occupancy`."""
    if view.shape.counters is not None:
        return None
    dedicated = 0
    for pool, bits in zip(view.pool_ids, view.shape.pool_bits, strict=True):
        use = allocated.pools.get(pool, NO_USE)
        if use.shared:
            return None
        for name in use.dedicated:
            dedicated |= bits.get(name, 0)
    return dedicated


def occupancy(view: NodeView, allocated: AllocatedState, features: Features) -> Occupancy:
    """How much of the view the state takes."""
    uses = [allocated.pools.get(pool, NO_USE) for pool in view.pool_ids]
    dedicated = sum(
        bits.get(name, 0) for use, bits in zip(uses, view.shape.pool_bits, strict=True) for name in use.dedicated
    )
    committed: dict[int, Mapping[str, Nano] | None] = {}
    for use, bits in zip(uses, view.shape.pool_bits, strict=True):
        for name, shared in use.shared.items():
            bit = bits.get(name, 0)
            if not bit:
                continue
            if not features.consumable_capacity:
                dedicated |= bit if shared.shares else 0
                continue
            committed[bit.bit_length() - 1] = shared.amounts
    left: tuple[int, ...] = ()
    layout = view.shape.counters
    if layout is not None:
        remaining = [available(pool, use, features) for pool, use in zip(view.pools, uses, strict=True)]
        left = tuple(remaining[pool][counter] for pool, counter in layout.counters)
    key = (
        dedicated,
        tuple(
            (device, None if amounts is None else tuple(sorted(amounts.items())))
            for device, amounts in sorted(committed.items())
        ),
        left,
    )
    return Occupancy(dedicated, committed, left, key)
