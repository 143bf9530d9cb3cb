"""Device classes behind an integer resource: a pod cannot say more than a number, so all devices must be alike."""

from dataclasses import dataclass

from muster_audit.facts import attribute_text
from muster_audit.scene import Scene
from muster_dra import Device
from muster_types import DeviceId

_KIND_ATTRIBUTES = ("type", "kind", "profile", "partitionProfile")


@dataclass(frozen=True, slots=True)
class Mixed:
    """A class with devices of several kinds: each kind in words, with one device of it; the smallest first."""

    name: str
    kinds: tuple[tuple[str, DeviceId], ...]

    def sentence(self) -> str:
        return ", ".join(text for text, _ in self.kinds)

    def least_text(self) -> str:
        text, device = self.kinds[0]
        return f"{device.device} ({text})"


def mixed_class(name: str, scene: Scene) -> Mixed | None:
    """None for a class whose published devices are alike, or that does not exist. Remembered in the scene."""
    if name not in scene.kinds:
        scene.kinds[name] = _mixed_class(name, scene)
    found = scene.kinds[name]
    return found if isinstance(found, Mixed) else None


def _mixed_class(name: str, scene: Scene) -> Mixed | None:
    device_class = scene.snapshot.catalog.classes.get(name)
    if device_class is None:
        return None
    found: dict[tuple[object, ...], DeviceId] = {}
    for id_ in scene.published.of_class(device_class):
        found.setdefault(_kind(scene.published.devices[id_]), id_)
    if len(found) < 2:
        return None
    ordered = sorted(found.items(), key=lambda item: (_size(item[0]), item[1]))
    return Mixed(name, tuple((_text(scene.published.devices[id_], kind), id_) for kind, id_ in ordered))


def _kind(device: Device) -> tuple[object, ...]:
    """What makes a device another thing to a pod: its amounts, and what it calls itself."""
    capacity = tuple(sorted((name, amount.value.nano) for name, amount in device.capacity.items()))
    named = tuple(
        (short, attribute_text(attribute))
        for name, attribute in sorted(device.attributes.items())
        if (short := name.rpartition("/")[2]) in _KIND_ATTRIBUTES
    )
    return capacity, named


def _size(kind: tuple[object, ...]) -> tuple[int, ...]:
    capacity = kind[0]
    return tuple(amount for _, amount in capacity) if isinstance(capacity, tuple) else ()


def _text(device: Device, kind: tuple[object, ...]) -> str:
    amounts = [f"{amount.value} {name.rpartition('/')[2]}" for name, amount in sorted(device.capacity.items())]
    named = kind[1] if isinstance(kind[1], tuple) else ()
    return " ".join([*(value for _, value in named), *amounts]) or device.name
