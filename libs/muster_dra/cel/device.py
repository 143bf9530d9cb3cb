"""The device as a selector sees it (dra-semantics §4.1)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster_dra.attributes import Attribute, AttributeKind
from muster_dra.cel.access import Domains
from muster_dra.cel.quantities import read_quantity
from muster_dra.cel.values import Value
from muster_dra.cel.versions import read_semver

DRIVER, ATTRIBUTES, CAPACITY, SHARED = range(4)  # where a frame holds the fields of `device`
MOST_ITEMS, LONGEST_TEXT = 64, 128  # at least what the API allows: 48 values, 32 entries, 96 characters of a full name
FIELDS = {"driver": DRIVER, "attributes": ATTRIBUTES, "capacity": CAPACITY, "allowMultipleAllocations": SHARED}


@dataclass(frozen=True, slots=True)
class Frame:
    """A device ready for evaluation, or the reason why no expression can be evaluated on it.

    `fields` are the four fields of `device` in FIELDS' order. `lists`: it publishes a list attribute. `within_limits`:
    no text, list or map of it is larger than the API allows, so that costs have bounds. `ready` are the fields again if
    the device is readable and within limits.
    """

    fields: tuple[str, Domains, Domains, bool]
    lists: bool
    within_limits: bool
    unreadable: str
    ready: tuple[str, Domains, Domains, bool] | None


@dataclass(frozen=True, slots=True, eq=False)
class DeviceView:
    """What CEL may read of a device: keys as published (bare or `domain/id`), quantities as written."""

    driver: str
    attributes: Mapping[str, Attribute]
    capacity: Mapping[str, str]
    allow_multiple_allocations: bool
    _frame: list[Frame] = field(default_factory=list[Frame], init=False, repr=False)

    def frame(self) -> Frame:
        """The device as evaluation needs it, made once."""
        frame = self._frame
        if not frame:
            frame.append(_to_frame(self))
        return frame[0]


_LISTS = frozenset((AttributeKind.INTS, AttributeKind.BOOLS, AttributeKind.STRINGS, AttributeKind.VERSIONS))


class _Unreadable(Exception):
    pass


def _version(name: str, text: object) -> Value:
    found = read_semver(text) if isinstance(text, str) else None
    if found is None:
        raise _Unreadable(f"attribute {name}: parse semantic version: {text!r} is none")
    return found


def _value(name: str, attribute: Attribute) -> Value:
    match attribute.kind:
        case AttributeKind.VERSION:
            return _version(name, attribute.value)
        case AttributeKind.VERSIONS:
            texts = attribute.value if isinstance(attribute.value, tuple) else ()
            return tuple(_version(name, text) for text in texts)
        case AttributeKind.UNKNOWN:
            raise _Unreadable(f"attribute {name}: unsupported attribute value")
        case _:
            return attribute.value


def _capacity(name: str, text: str) -> Value:
    found = read_quantity(text)
    if found is None:
        raise _Unreadable(f"capacity {name}: invalid quantity {text!r}")
    return found


def _split(name: str, driver: str) -> tuple[str, str]:
    """(domain, id) of a name as published; a bare one belongs to the driver's domain."""
    domain, slash, short = name.partition("/")
    return (domain, short) if slash else (driver, name)


def _to_frame(device: DeviceView) -> Frame:
    attributes, capacity = dict[str, dict[str, Value]](), dict[str, dict[str, Value]]()
    unreadable = ""
    try:
        # A bare name and its full form may both be published; the full one wins here, upstream picks at random.
        for name in sorted(device.attributes, key=lambda name: ("/" in name, name)):
            domain, short = _split(name, device.driver)
            attributes.setdefault(domain, {})[short] = _value(name, device.attributes[name])
        for name in sorted(device.capacity, key=lambda name: ("/" in name, name)):
            domain, short = _split(name, device.driver)
            capacity.setdefault(domain, {})[short] = _capacity(name, device.capacity[name])
    except _Unreadable as error:
        unreadable = str(error)
    fields = (device.driver, Domains(attributes), Domains(capacity), device.allow_multiple_allocations)
    lists = any(one.kind in _LISTS for one in device.attributes.values())
    within_limits = _within_limits(device)
    return Frame(fields, lists, within_limits, unreadable, fields if within_limits and not unreadable else None)


def _within_limits(device: DeviceView) -> bool:
    texts: list[object] = [device.driver, *device.attributes, *device.capacity]
    for attribute in device.attributes.values():
        if isinstance(attribute.value, tuple):
            if len(attribute.value) > MOST_ITEMS:
                return False
            texts.extend(attribute.value)
        else:
            texts.append(attribute.value)
    entries = len(device.attributes) + len(device.capacity)
    return entries <= MOST_ITEMS and all(len(text.encode()) <= LONGEST_TEXT for text in texts if isinstance(text, str))
