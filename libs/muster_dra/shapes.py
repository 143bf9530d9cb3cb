"""The form of what a node publishes, names of pools and nodes left out: equal nodes share it and what is worked out.

A `Body` is the device list of one slice, a `Shape` the sequence of bodies that a node sees. Both are interned: two
nodes of one make have the same shape object. Devices are numbered through the shape in search order; a set of devices
is an integer with a bit for each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster_dra.cel import DeviceView
from muster_dra.counters import Counter, drawn
from muster_dra.features import Features
from muster_dra.objects.node_selectors import InvalidSelector
from muster_dra.objects.nodes import Node
from muster_dra.objects.slices import Device, ResourceSlice
from muster_dra.pools import Pool, place_matches, runs_here
from muster_dra.selectors import device_view

_REMEMBERED = 16384


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Body:
    """Devices of one slice, in order, with what does not depend on any claim."""

    driver: str
    devices: tuple[Device, ...]
    views: tuple[DeviceView, ...]
    bits: dict[str, int]
    """Device name to bit."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One body in a shape. `here` and `unreadable` differ from all and none in a per-device slice only."""

    body: Body
    pool: int
    offset: int
    here: int
    unreadable: int
    """Devices whose own node selector cannot be evaluated: fatal once their selectors let them through."""


@dataclass(frozen=True, slots=True, eq=False)
class CounterLayout:
    """The counters of all pools in one vector, and what each device draws from it."""

    counters: tuple[tuple[int, Counter], ...]
    """Pool position in the shape, counter."""
    draws: tuple[tuple[tuple[int, int], ...], ...]
    """For each device: position in the vector, amount in nano-units."""
    drawing: int
    """Devices with `consumesCounters`, even if they name no counter: an overdrawn pool refuses them too."""
    of_pool: tuple[tuple[int, ...], ...]
    """For each pool its positions in the vector."""
    sets: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...]
    """For each counter set the names of its counters, sorted, and their positions in the vector."""
    negative: bool
    """Whether some device draws a negative amount: then taking it can make room."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """`devices` in search order; for each its pool position (`pool_of`) and part (`part_of`).

    `pool_bits` gives the bit of each device name, by pool position.
    """

    key: object
    parts: tuple[Part, ...]
    devices: tuple[Device, ...]
    drivers: tuple[str, ...]
    pool_of: tuple[int, ...]
    part_of: tuple[int, ...]
    pool_bits: tuple[dict[str, int], ...]
    shared: int
    grouped: bool
    """Whether a device names compatibility groups (KEP-5963): such pools are left to the reference search."""
    counters: CounterLayout | None

    @property
    def size(self) -> int:
        return len(self.devices)


class ShapeTable:
    """Makes shapes and remembers them. One table serves all catalogues that come from each other."""

    __slots__ = ("_bodies", "_features", "_shapes")

    def __init__(self, features: Features) -> None:
        self._features = features
        self._bodies: dict[tuple[str, int], Body] = {}
        self._shapes: dict[object, Shape] = {}

    def shape(self, node: Node, pools: Sequence[Pool]) -> Shape:
        """The shape of usable pools in search order, as the node sees them."""
        key: list[object] = []
        bodies = self._bodies
        for pool in pools:
            driver = pool.id.driver
            for slice_ in pool.slices:
                body = bodies.get((driver, id(slice_.devices))) or self._body(slice_)
                key.append((body, self._visible(slice_, node)) if _differs(slice_) else body)
            key.append((driver, _declared(pool)) if pool.counter_sets else driver)
        identity = tuple(key)
        found = self._shapes.get(identity)
        if found is None:
            if len(self._shapes) >= _REMEMBERED:
                self._shapes.clear()
            found = self._shapes[identity] = self._make(identity, node, pools)
        return found

    def _body(self, slice_: ResourceSlice) -> Body:
        devices, driver = slice_.devices, slice_.pool.driver
        if len(self._bodies) >= _REMEMBERED:
            self._bodies.clear()
        body = self._bodies[driver, id(devices)] = Body(
            driver,
            devices,
            tuple(device_view(driver, device) for device in devices),
            {device.name: 1 << index for index, device in enumerate(devices)},
        )
        return body

    def _make(self, key: object, node: Node, pools: Sequence[Pool]) -> Shape:
        parts: list[Part] = []
        offset = 0
        for position, pool in enumerate(pools):
            for slice_ in pool.slices:
                body = self._bodies.get((pool.id.driver, id(slice_.devices))) or self._body(slice_)
                here, unreadable = self._visible(slice_, node) if _differs(slice_) else (-1, 0)
                parts.append(Part(body, position, offset, here, unreadable))
                offset += len(body.devices)
        return self._shape_of(key, tuple(parts), pools)

    def _visible(self, slice_: ResourceSlice, node: Node) -> tuple[int, int]:
        """The devices that are meant for the node, and those of which that cannot be told."""
        return _visible(slice_, node) if runs_here(slice_, node, self._features) else (0, 0)

    def _shape_of(self, key: object, parts: tuple[Part, ...], pools: Sequence[Pool]) -> Shape:
        devices = tuple(device for part in parts for device in part.body.devices)
        pool_bits: list[dict[str, int]] = [{} for _ in pools]
        for part in parts:
            bits = part.body.bits
            pool_bits[part.pool].update({name: bit << part.offset for name, bit in bits.items()})
        shared = 0
        if self._features.consumable_capacity:
            shared = sum(1 << index for index, device in enumerate(devices) if device.allow_multiple_allocations)
        pool_of = tuple(part.pool for part in parts for _ in part.body.devices)
        return Shape(
            key,
            parts,
            devices,
            tuple(part.body.driver for part in parts for _ in part.body.devices),
            pool_of,
            tuple(number for number, part in enumerate(parts) for _ in part.body.devices),
            tuple(pool_bits),
            shared,
            any(draw.compatibility_groups for device in devices for draw in device.consumes),
            self._layout(devices, pool_of, pools),
        )

    def _layout(self, devices: Sequence[Device], pool_of: Sequence[int], pools: Sequence[Pool]) -> CounterLayout | None:
        if not self._features.partitionable_devices or not any(device.consumes for device in devices):
            return None
        counters = tuple(
            (position, (counter_set.name, counter))
            for position, pool in enumerate(pools)
            for counter_set in pool.counter_sets
            for counter in counter_set.counters
        )
        index = {counter: place for place, counter in enumerate(counters)}
        draws = tuple(
            _summed([(index[pool, counter], amount) for counter, amount in drawn(device.consumes, self._features)])
            for device, pool in zip(devices, pool_of, strict=True)
        )
        of_pool = tuple(
            tuple(place for place, (owner, _) in enumerate(counters) if owner == position)
            for position in range(len(pools))
        )
        drawing = sum(1 << index for index, device in enumerate(devices) if device.consumes)
        negative = any(amount < 0 for draw in draws for _, amount in draw)
        return CounterLayout(counters, draws, drawing, of_pool, _sets(index), negative)


def _sets(index: Mapping[tuple[int, Counter], int]) -> tuple[tuple[tuple[str, ...], tuple[int, ...]], ...]:
    sets: dict[tuple[int, str], list[tuple[str, int]]] = {}
    for (pool, (name, counter)), place in index.items():
        sets.setdefault((pool, name), []).append((counter, place))
    return tuple(
        (tuple(counter for counter, _ in sorted(members)), tuple(place for _, place in sorted(members)))
        for members in sets.values()
    )


def _summed(draws: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    sums: dict[int, int] = {}
    for place, amount in draws:
        sums[place] = sums.get(place, 0) + amount
    return tuple(sums.items())


def _declared(pool: Pool) -> object:
    """The counter sets by value: they decide which devices draw from the same source."""
    return tuple((counter_set.name, tuple(counter_set.counters.items())) for counter_set in pool.counter_sets)


def _differs(slice_: ResourceSlice) -> bool:
    """Whether what a node can use of the slice depends on the node."""
    return bool(slice_.per_device_nodes or slice_.skip_node_operations)


def _visible(slice_: ResourceSlice, node: Node) -> tuple[int, int]:
    if not slice_.per_device_nodes:
        return -1, 0
    here = unreadable = 0
    for index, device in enumerate(slice_.devices):
        found = place_matches(device.place, node)
        if isinstance(found, InvalidSelector):
            unreadable |= 1 << index
        elif found:
            here |= 1 << index
    return here, unreadable
