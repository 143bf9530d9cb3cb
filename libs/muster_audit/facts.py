"""Every device that is published, and what its attributes say about the hardware behind it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from muster_dra import Attribute, Device, DeviceClass, PoolId, ResourceSlice
from muster_dra.selectors import CompiledSelectors, compile_selectors, device_view, environment_of
from muster_plan import Snapshot
from muster_types import DeviceId, NodeName, ObjectKey

_IDENTITIES = frozenset({"uuid", "gpuuuid", "serial", "serialnumber", "guid"})
_BUS_ADDRESSES = frozenset({"pcibusid", "pciaddress", "pciaddr"})
_IDENTITY = "identity"
_BUS = "bus address"
_PARENT = "parent"


@dataclass(frozen=True, slots=True)
class Look:
    """Devices that no selector can tell apart: the first stands for all."""

    id: DeviceId
    device: Device
    ids: tuple[DeviceId, ...]


@dataclass(frozen=True, slots=True)
class Published:
    """Devices of the newest generation of each pool, in the order of pools and slices, as they are published.

    `looks` are the same by what selectors can see of them.
    """

    devices: Mapping[DeviceId, Device]
    slices: Mapping[DeviceId, ResourceSlice]
    looks: tuple[Look, ...]
    snapshot: Snapshot

    @classmethod
    def of(cls, snapshot: Snapshot, essence: Snapshot) -> "Published":
        """`essence` is the snapshot with equal devices made one (`muster_audit.essence`)."""
        newest: dict[PoolId, int] = {}
        ordered = [snapshot.tables.slices[key] for key in sorted(snapshot.tables.slices)]
        for slice_ in ordered:
            newest[slice_.pool] = max(newest.get(slice_.pool, 0), slice_.generation)
        devices: dict[DeviceId, Device] = {}
        slices: dict[DeviceId, ResourceSlice] = {}
        for slice_ in ordered:
            if slice_.generation == newest[slice_.pool]:
                for device in slice_.devices:
                    devices[slice_.pool.device(device.name)] = device
                    slices[slice_.pool.device(device.name)] = slice_
        return cls(devices, slices, _looks(devices, slices, essence), snapshot)

    def node_of(self, device: DeviceId) -> NodeName:
        """The node that the device's slice names, empty for one that several nodes can reach."""
        slice_ = self.slices.get(device)
        return NodeName(slice_.place.node_name) if slice_ is not None else NodeName("")

    def is_partition(self, device: DeviceId) -> bool:
        return next(parent_reference(self.devices[device]), None) is not None

    def by_value(self) -> "dict[tuple[PoolId, str, str], list[tuple[DeviceId, str]]]":
        """Devices by pool, attribute (lower case, no domain; "" for the device's name) and text of the value.

        With each comes how the relation reads when a partition refers to it in that way.
        """
        wanted = {name for device in self.devices.values() for name, _ in parent_reference(device)}
        found: dict[tuple[PoolId, str, str], list[tuple[DeviceId, str]]] = {}
        if not wanted:
            return found
        for id_, device in self.devices.items():
            pool = PoolId(id_.driver, id_.pool)
            found.setdefault((pool, "", device.name), []).append((id_, f"{_PARENT} = name"))
            for name, attribute in device.attributes.items():
                short = name.rpartition("/")[2]
                text = attribute_text(attribute)
                if short.lower() in wanted and text:
                    how = f"{short} = {_PARENT}{short[:1].upper()}{short[1:]}"
                    if short.lower() == "uuid":
                        how = "uuid = parentUUID"
                        found.setdefault((pool, "", text), []).append((id_, f"{_PARENT} = {short}"))
                    found.setdefault((pool, short.lower(), text), []).append((id_, how))
        return found

    def selectors_of(self, device_class: DeviceClass) -> CompiledSelectors:
        expressions = tuple(("class", each) for each in device_class.selectors if each is not None)
        return compile_selectors(expressions, environment_of(self.snapshot.features))

    def of_class(self, device_class: DeviceClass) -> Iterator[DeviceId]:
        """Devices that the class selects; those on which its selectors fail are not among them."""
        for look in self.looks_of(device_class):
            yield from look.ids

    def looks_of(self, device_class: DeviceClass) -> list[Look]:
        """Those that the class selects."""
        selectors = self.selectors_of(device_class)
        return [look for look in self.looks if selectors.match(device_view(look.id.driver, look.device)) is True]

    def drivers_of(self, device_class: DeviceClass) -> frozenset[str]:
        return frozenset(look.id.driver for look in self.looks_of(device_class))


def _looks(
    devices: Mapping[DeviceId, Device], slices: Mapping[DeviceId, ResourceSlice], essence: Snapshot
) -> tuple[Look, ...]:
    """By driver and the content of the essential device; of equal slices the devices are one tuple."""
    ids: dict[str, list[DeviceId]] = {}
    keys: dict[int, list[str]] = {}
    for name, pool in dict.fromkeys((slice_.name, slice_.pool) for slice_ in map(slices.__getitem__, devices)):
        essential = essence.tables.slices[ObjectKey("ResourceSlice", "", name)].devices
        if id(essential) not in keys:
            keys[id(essential)] = [f"{pool.driver} {replace(each, name='')!r}" for each in essential]
        for key, each in zip(keys[id(essential)], essential, strict=True):
            ids.setdefault(key, []).append(pool.device(each.name))
    return tuple(Look(found[0], devices[found[0]], tuple(found)) for found in ids.values())


def identity_of(driver: str, device: Device, node: NodeName) -> list[tuple[str, str]]:
    """What names the hardware: a uuid or serial number anywhere, a bus address on one node."""
    found: list[tuple[str, str]] = []
    for name, attribute in device.attributes.items():
        role = _role(name)
        if role == _IDENTITY:
            found.append((_IDENTITY, attribute_text(attribute)))
        elif role == _BUS and node:
            found.append((f"{_BUS} on {node}", attribute_text(attribute)))
    return [each for each in found if each[1]]


def parent_reference(device: Device) -> Iterator[tuple[str, str]]:
    """Attributes such as parentUUID: the attribute of the parent that it repeats (lower case, "" for its name)."""
    for name, attribute in device.attributes.items():
        role = _role(name)
        if role.startswith(_PARENT) and (text := attribute_text(attribute)):
            yield role[len(_PARENT) :], text


def names_hardware(attribute: str) -> bool:
    """Whether an attribute of this name differs from board to board by its nature."""
    return _role(attribute) in (_IDENTITY, _BUS)


@lru_cache(4096)
def _role(attribute: str) -> str:
    """What an attribute of this name says about the hardware, "" for nothing."""
    short = attribute.rpartition("/")[2].lower()
    if short in _IDENTITIES:
        return _IDENTITY
    if short in _BUS_ADDRESSES:
        return _BUS
    return short if short.startswith(_PARENT) else ""


def attribute_text(attribute: Attribute | None) -> str:
    """The value as a person writes it; lists in brackets, nothing for an unknown type."""
    value = attribute.value if attribute is not None else None
    if value is None:
        return ""
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_scalar, value)) + "]"
    return _scalar(value)


def _scalar(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
