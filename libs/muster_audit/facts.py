"""Every device that is published, and what its attributes say about the hardware behind it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from muster_dra import Attribute, Device, DeviceClass, PoolId, ResourceSlice
from muster_dra.selectors import CompiledSelectors, compile_selectors, device_view, environment_of
from muster_plan import Snapshot
from muster_types import DeviceId, NodeName

_IDENTITIES = frozenset({"uuid", "gpuuuid", "serial", "serialnumber", "guid"})
_BUS_ADDRESSES = frozenset({"pcibusid", "pciaddress", "pciaddr"})
_IDENTITY = "identity"
_BUS = "bus address"
_PARENT = "parent"


@dataclass(frozen=True, slots=True)
class Published:
    """Devices of the newest generation of each pool, in the order of pools and slices."""

    devices: Mapping[DeviceId, Device]
    slices: Mapping[DeviceId, ResourceSlice]
    snapshot: Snapshot

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Published":
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
        return cls(devices, slices, snapshot)

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
        selectors = self.selectors_of(device_class)
        known: dict[int, bool] = {}
        for id_, device in self.devices.items():
            key = id(device)
            if key not in known:
                known[key] = selectors.match(device_view(id_.driver, device)) is True
            if known[key]:
                yield id_

    def drivers_of(self, device_class: DeviceClass) -> frozenset[str]:
        return frozenset(device.driver for device in self.of_class(device_class))


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
