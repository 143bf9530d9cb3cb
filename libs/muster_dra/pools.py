"""The pools that a node sees: relevant slices, newest generation, completeness, validity, order (dra-semantics §2).

`gather_pools` follows the specification line by line. The catalogue feeds it with indexed slices, the reference
search with all of them; the answer is the same.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import itemgetter
from typing import NamedTuple

from muster_dra.features import Features, Release
from muster_dra.objects.node_selectors import InvalidSelector
from muster_dra.objects.nodes import Node
from muster_dra.objects.slices import CounterSet, Device, NodePlace, PoolId, ResourceSlice

OPTIONAL_OPERATIONS = "DRAOptionalNodeOperations"
"""What a node declares that can leave out operations of a driver."""


class PoolState(Enum):
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    """Slices are missing or left over at the newest generation: the pool is being updated."""
    INVALID = "invalid"
    """Complete, but contradictory: a device or counter set twice, or a counter that does not exist."""
    DROPPED = "dropped"
    """Only an older generation is visible here and it is not whole: as if the pool did not exist."""


class PoolDefect(Enum):
    """Why a pool is not complete and valid."""

    MISSING_SLICES = "missing slices"
    SURPLUS_SLICES = "surplus slices"
    NEWER_ELSEWHERE = "a newer generation exists elsewhere"
    DUPLICATE_DEVICE = "duplicate device name"
    DUPLICATE_COUNTER_SET = "duplicate counter set name"
    UNKNOWN_COUNTER_SET = "unknown counter set"
    UNKNOWN_COUNTER = "unknown counter"


@dataclass(frozen=True, slots=True)
class PoolReason:
    """The defect with its evidence: `subject` is a device or counter set, the numbers count slices of `generation`."""

    defect: PoolDefect
    generation: int
    found: int = 0
    wanted: int = 0
    newest: int = 0
    subject: str = ""

    def sentence(self, pool: PoolId) -> str:
        match self.defect:
            case PoolDefect.MISSING_SLICES:
                return f"pool {pool} half updated: {self.found} of {self.wanted} slices of generation {self.generation}"
            case PoolDefect.SURPLUS_SLICES:
                return (
                    f"pool {pool} half updated: {self.found} slices of generation {self.generation}, "
                    f"{self.wanted} should be there"
                )
            case PoolDefect.NEWER_ELSEWHERE:
                return (
                    f"pool {pool} is at generation {self.newest} elsewhere, here only at {self.generation} "
                    f"with {self.found} of {self.wanted} slices"
                )
            case PoolDefect.DUPLICATE_DEVICE:
                return f"pool {pool} invalid: device {self.subject} is published twice"
            case PoolDefect.DUPLICATE_COUNTER_SET:
                return f"pool {pool} invalid: counter set {self.subject} is published twice"
            case PoolDefect.UNKNOWN_COUNTER_SET:
                return f"pool {pool} invalid: {self.subject} is not a counter set of the pool"
            case PoolDefect.UNKNOWN_COUNTER:
                return f"pool {pool} invalid: {self.subject} is not a counter of the pool"


class Pool(NamedTuple):
    """A pool as one node sees it. `slices` hold devices in order; `elsewhere` are devices only other nodes can use.

    Devices of INCOMPLETE, INVALID and DROPPED pools cannot be used: they are listed for explanations only.
    """

    id: PoolId
    state: PoolState
    generation: int
    slices: tuple[ResourceSlice, ...]
    counter_sets: tuple[CounterSet, ...] = ()
    elsewhere: tuple[Device, ...] = ()
    reason: PoolReason | None = None

    @property
    def usable(self) -> bool:
        return self.state is PoolState.COMPLETE

    def why_unusable(self) -> str:
        """A sentence about its defect; of a usable pool its state."""
        return self.reason.sentence(self.id) if self.reason is not None else f"pool {self.id} is {self.state.value}"

    def devices(self) -> Iterable[tuple[ResourceSlice, Device]]:
        """Devices in order, those of a per-device slice that are meant for other nodes included."""
        return ((slice_, device) for slice_ in self.slices for device in slice_.devices)


@dataclass(frozen=True, slots=True)
class UnreadableSelector:
    """A node selector that Kubernetes cannot parse was reached: fatal on this node, whatever is asked for."""

    slice: str
    device: str
    reason: str

    def sentence(self) -> str:
        place = f"device {self.device} of slice {self.slice}" if self.device else f"slice {self.slice}"
        return f"the node selector of {place} cannot be evaluated: {self.reason}"


def place_matches(place: NodePlace, node: Node) -> bool | InvalidSelector:
    """Whether a slice's or device's node fields mean the node; False when none of the three is set."""
    if place.node_name:
        return place.node_name == node.name
    if place.all_nodes:
        return True
    return place.selector.matches(node) if place.selector is not None else False


def runs_here(slice_: ResourceSlice, node: Node, features: Features) -> bool:
    """Whether the node may use devices whose driver wants node operations skipped (KEP-5945, dra-semantics §3.11)."""
    if not slice_.skip_node_operations or features.release is Release.V1_36:
        return True
    return features.optional_node_operations and OPTIONAL_OPERATIONS in node.declared_features


def is_relevant(slice_: ResourceSlice, node: Node, features: Features) -> bool | UnreadableSelector:
    """Whether the slice is a source of devices or counters for the node (dra-semantics §2.1, D7)."""
    if not features.partitionable_devices and (slice_.per_device_nodes is not None or slice_.holds_counters):
        return False
    if slice_.holds_counters and features.release is Release.V1_36:
        return True
    if slice_.place.anywhere_set:
        found = place_matches(slice_.place, node)
        return UnreadableSelector(slice_.name, "", found.reason) if isinstance(found, InvalidSelector) else found
    if not slice_.per_device_nodes:
        return False
    for device in slice_.devices:
        found = place_matches(device.place, node)
        if isinstance(found, InvalidSelector):
            return UnreadableSelector(slice_.name, device.name, found.reason)
        if found:
            return True
    return False


def gather_pools(
    node: Node,
    candidates: Iterable[ResourceSlice],
    slices_of: Callable[[PoolId], Sequence[ResourceSlice]],
    features: Features,
) -> tuple[Pool, ...] | UnreadableSelector:
    """All pools with a slice that is relevant for the node, in search order; DROPPED ones last.

    `candidates` are slices in input order, at least all that could be relevant. `slices_of` gives all slices of a pool
    in the cluster, in input order.
    """
    relevant: dict[PoolId, list[ResourceSlice]] = {}
    gated = not features.partitionable_devices
    for slice_ in candidates:
        if slice_.place.node_name == node.name and not gated:
            found = True  # by far the most common case of what follows
        else:
            found = is_relevant(slice_, node, features)
            if isinstance(found, UnreadableSelector):
                return found
        if found:
            relevant.setdefault(slice_.pool, []).append(slice_)
    pools = [_pool(pool, members, slices_of, features) for pool, members in relevant.items()]
    if len(pools) > 1:
        special = any(pool.state is PoolState.DROPPED or _binds(pool) for pool in pools)
        pools.sort(key=_order if special else _ID)
    return tuple(pools)


def with_former(pool: Pool, former: Mapping[str, Device]) -> Pool:
    """The pool with devices that it published before and that may still be allocated (docs/dra.md)."""
    if not former or not pool.usable:
        return pool
    published = {device.name for _, device in pool.devices()} | {device.name for device in pool.elsewhere}
    missing = tuple(device for name, device in former.items() if name not in published)
    return pool._replace(elsewhere=pool.elsewhere + missing)


def _order(pool: Pool) -> tuple[bool, bool, PoolId]:
    # Python orders text by code point, which is the byte-wise order of UTF-8.
    return pool.state is PoolState.DROPPED, _binds(pool), pool.id


_ID = itemgetter(0)


def _binds(pool: Pool) -> bool:
    for slice_ in pool.slices:
        if _facts(slice_.devices).binding:
            return pool.usable
    return False


def _pool(
    pool: PoolId,
    relevant: list[ResourceSlice],
    slices_of: Callable[[PoolId], Sequence[ResourceSlice]],
    features: Features,
) -> Pool:
    generation = relevant[0].generation
    if len(relevant) == 1 and relevant[0].slice_count == 1 and not relevant[0].counter_sets:
        facts = _facts(relevant[0].devices)
        if facts.unique and not facts.drawing:
            return Pool(pool, PoolState.COMPLETE, generation, (relevant[0],))
    generation = max(slice_.generation for slice_ in relevant)
    visible = [slice_ for slice_ in relevant if slice_.generation == generation]
    wanted = _first(visible, features).slice_count
    slices = tuple(sorted(_device_slices(visible), key=lambda slice_: slice_.name))
    known = visible
    if len(visible) != wanted:
        everywhere = slices_of(pool)
        newest = max(slice_.generation for slice_ in everywhere)
        known = [slice_ for slice_ in everywhere if slice_.generation == generation]
        if newest > generation:
            reason = PoolReason(PoolDefect.NEWER_ELSEWHERE, generation, len(visible), wanted, newest)
            return Pool(pool, PoolState.DROPPED, generation, slices, reason=reason)
        if len(known) != wanted:
            defect = PoolDefect.MISSING_SLICES if len(known) < wanted else PoolDefect.SURPLUS_SLICES
            reason = PoolReason(defect, generation, len(known), wanted, newest)
            return Pool(pool, PoolState.INCOMPLETE, generation, slices, reason=reason)
    seen = {id(slice_) for slice_ in visible}
    away = [slice_ for slice_ in known if id(slice_) not in seen]
    reason = _contradiction(generation, visible, away, features)
    return Pool(
        pool,
        PoolState.COMPLETE if reason is None else PoolState.INVALID,
        generation,
        slices,
        tuple(counter_set for slice_ in (*visible, *away) for counter_set in slice_.counter_sets),
        tuple(device for slice_ in _device_slices(away) for device in slice_.devices),
        reason,
    )


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a device list says whatever pool it is in."""

    unique: bool
    drawing: bool
    binding: bool


_REMEMBERED_LISTS = 8192
_known_facts: dict[int, tuple[tuple[Device, ...], _Facts]] = {}


def _facts(devices: tuple[Device, ...]) -> _Facts:
    """By the identity of the list: nodes of one make share it."""
    known = _known_facts.get(id(devices))
    if known is None:
        facts = _Facts(
            len({device.name for device in devices}) == len(devices),
            any(device.consumes for device in devices),
            any(device.binding_conditions is not None for device in devices),
        )
        if len(_known_facts) >= _REMEMBERED_LISTS:
            _known_facts.clear()
        known = _known_facts[id(devices)] = devices, facts
    return known[1]


def _first(visible: list[ResourceSlice], features: Features) -> ResourceSlice:
    """The slice whose count is believed when they disagree: node-local slices are found first."""
    for slice_ in visible:
        if slice_.place.node_name and not (features.release is Release.V1_36 and slice_.holds_counters):
            return slice_
    return visible[0]


def _device_slices(slices: Iterable[ResourceSlice]) -> list[ResourceSlice]:
    return [slice_ for slice_ in slices if not slice_.holds_counters]


def _contradiction(
    generation: int, visible: list[ResourceSlice], away: list[ResourceSlice], features: Features
) -> PoolReason | None:
    names: set[str] = set()
    for slice_ in _device_slices(visible):
        for device in slice_.devices:
            if device.name in names:
                return PoolReason(PoolDefect.DUPLICATE_DEVICE, generation, subject=device.name)
            names.add(device.name)
    if not features.partitionable_devices:
        return None
    counters: dict[str, CounterSet] = {}
    for slice_ in (*visible, *away):
        for counter_set in slice_.counter_sets:
            if counter_set.name in counters:
                return PoolReason(PoolDefect.DUPLICATE_COUNTER_SET, generation, subject=counter_set.name)
            counters[counter_set.name] = counter_set
    checked = (*visible, *away) if features.release is Release.V1_36 else _device_slices((*visible, *away))
    for slice_ in checked:
        for device in slice_.devices:
            for consumption in device.consumes:
                subject = f"{consumption.counter_set} (drawn from by {device.name})"
                if consumption.counter_set not in counters:
                    return PoolReason(PoolDefect.UNKNOWN_COUNTER_SET, generation, subject=subject)
                for counter in consumption.counters:
                    if counter not in counters[consumption.counter_set].counters:
                        subject = f"{consumption.counter_set}/{counter} (drawn from by {device.name})"
                        return PoolReason(PoolDefect.UNKNOWN_COUNTER, generation, subject=subject)
    return None
