"""What earlier looks at a cluster showed and the last one does not: devices, slices, values, outages."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from muster_audit.frames import Frame
from muster_audit.parts import Json, part, parts, text, whole
from muster_dra import Attribute, Device, InvalidObject, PoolId, ResourceSlice, parse_slice
from muster_types import DeviceId, NodeName, ObjectKey


@dataclass(frozen=True, slots=True)
class AttributeChange:
    """One attribute of one device before and after. `generation` is the pool's when it changed."""

    name: str
    before: Attribute | None
    after: Attribute | None
    generation: int


@dataclass(frozen=True, slots=True)
class Vanished:
    """A slice that was there. `node` is empty for one that was not bound to a node by name."""

    name: str
    pool: PoolId
    node: NodeName
    devices: tuple[str, ...]
    when: str


@dataclass(frozen=True, slots=True)
class Memory:
    """`devices`: the last publication of each device, gone or not, as far as slices changed. `unready`: nodes that
    were not ready at some time."""

    devices: Mapping[DeviceId, Device] = field(default_factory=dict[DeviceId, Device])
    vanished: tuple[Vanished, ...] = ()
    changes: Mapping[DeviceId, tuple[AttributeChange, ...]] = field(
        default_factory=dict[DeviceId, tuple[AttributeChange, ...]]
    )
    unready: frozenset[NodeName] = frozenset()

    def vanished_on(self, node: NodeName) -> tuple[Vanished, ...]:
        return tuple(each for each in self.vanished if each.node == node)


def remember(frames: Sequence[Frame]) -> Memory:
    """Folds all frames; only what changed from one to the next is looked into."""
    devices: dict[DeviceId, Device] = {}
    vanished: dict[str, Vanished] = {}
    changes: dict[DeviceId, list[AttributeChange]] = {}
    unready = {NodeName(key.name) for key, obj in frames[0].of_kind("Node") if not is_ready(obj)}
    for before, after in pairwise(frames):
        for key, old in before.of_kind("ResourceSlice"):
            new = after.objects.get(key)
            if new is old or new == old:
                continue
            read = _read(old)
            if read is None:
                continue
            devices.update({read.pool.device(each.name): each for each in read.devices})
            successor = _read(new) if new is not None else None
            if successor is None:
                vanished[key.name] = _vanished(read, after.label)
            else:
                _note_changes(read, successor, changes)
        for key, obj in after.of_kind("ResourceSlice"):
            vanished.pop(key.name, None)
            if obj is not before.objects.get(key) and (read := _read(obj)) is not None:
                devices.update({read.pool.device(each.name): each for each in read.devices})
        unready |= {NodeName(key.name) for key, obj in _changed(before, after, "Node") if not is_ready(obj)}
    return Memory(
        devices,
        tuple(vanished[name] for name in sorted(vanished)),
        {device: tuple(found) for device, found in sorted(changes.items())},
        frozenset(unready),
    )


def is_ready(node: Json) -> bool:
    """As the Ready condition says; a node without one is taken as ready."""
    return all(
        text(each.get("status")) == "True"
        for each in parts(node, "status", "conditions")
        if text(each.get("type")) == "Ready"
    )


def _changed(before: Frame, after: Frame, kind: str) -> Iterable[tuple[ObjectKey, Json]]:
    return [(key, obj) for key, obj in after.of_kind(kind) if obj is not before.objects.get(key)]


def _read(obj: Json) -> ResourceSlice | None:
    try:
        return parse_slice(obj)
    except InvalidObject:
        return None


def _vanished(slice_: ResourceSlice, label: str) -> Vanished:
    names = tuple(device.name for device in slice_.devices)
    return Vanished(slice_.name, slice_.pool, NodeName(slice_.place.node_name), names, label)


def _note_changes(before: ResourceSlice, after: ResourceSlice, changes: dict[DeviceId, list[AttributeChange]]) -> None:
    old = {each.name: each for each in before.devices}
    for device in after.devices:
        earlier = old.get(device.name)
        if earlier is None or earlier.attributes == device.attributes:
            continue
        for name in sorted({*earlier.attributes, *device.attributes}):
            was, now = earlier.attributes.get(name), device.attributes.get(name)
            if was != now:
                change = AttributeChange(name, was, now, after.generation)
                changes.setdefault(after.pool.device(device.name), []).append(change)


def generation_of(slice_: Json) -> int:
    return whole(part(slice_, "spec", "pool").get("generation"))
