"""What the API server would refuse of a slice that can be read nevertheless (dra-semantics §1.2-§1.7)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from muster_dra.attributes import AttributeKind
from muster_dra.objects.slices import Device, DeviceCapacity, NodePlace, RequestPolicy, ResourceSlice

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}", re.ASCII)
_VERSION = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)
_LISTS = (AttributeKind.INTS, AttributeKind.BOOLS, AttributeKind.STRINGS, AttributeKind.VERSIONS)
_TEXT_LIMIT = 64


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that an object breaks; `field` is its path from `spec`."""

    field: str
    reason: str


def check_slice(slice_: ResourceSlice) -> tuple[Violation, ...]:
    """Every rule that the slice breaks, in the order of its fields."""
    return tuple(_check_slice(slice_))


def _check_slice(slice_: ResourceSlice) -> Iterator[Violation]:
    if len(slice_.pool.driver) > 63 or not _SUBDOMAIN.fullmatch(slice_.pool.driver):
        yield Violation("driver", f"{slice_.pool.driver!r} is no DNS subdomain of at most 63 characters")
    segments = slice_.pool.name.split("/")
    if len(slice_.pool.name) > 253 or not all(_SUBDOMAIN.fullmatch(segment) for segment in segments):
        yield Violation("pool.name", f"{slice_.pool.name!r} is not made of DNS subdomains joined by /")
    if slice_.slice_count <= 0:
        yield Violation("pool.resourceSliceCount", f"want more than 0, got {slice_.slice_count}")
    places = _places(slice_.place) + bool(slice_.per_device_nodes)
    if places != 1:
        yield Violation("", f"exactly one of nodeName, nodeSelector, allNodes, perDeviceNodeSelection, got {places}")
    yield from _check_selector("nodeSelector", slice_.place)
    if slice_.devices and slice_.counter_sets:
        yield Violation("sharedCounters", "devices and sharedCounters exclude each other; the devices are ignored")
    if len(slice_.counter_sets) > 8:
        yield Violation("sharedCounters", f"at most 8 counter sets, got {len(slice_.counter_sets)}")
    for index, counter_set in enumerate(slice_.counter_sets):
        if not 1 <= len(counter_set.counters) <= 32:
            yield Violation(f"sharedCounters[{index}].counters", f"1 to 32 counters, got {len(counter_set.counters)}")
    costly = any(
        device.taints or device.consumes or any(one.kind in _LISTS for one in device.attributes.values())
        for device in slice_.devices
    )
    limit = 64 if costly else 128
    if len(slice_.devices) > limit:
        yield Violation("devices", f"at most {limit} devices here, got {len(slice_.devices)}")
    seen: set[str] = set()
    for index, device in enumerate(slice_.devices):
        if device.name in seen:
            yield Violation(f"devices[{index}].name", f"{device.name!r} is there twice")
        seen.add(device.name)
        yield from _check_device(f"devices[{index}]", device, bool(slice_.per_device_nodes))


def _places(place: NodePlace) -> int:
    return bool(place.node_name) + place.all_nodes + (place.selector is not None)


def _check_selector(field: str, place: NodePlace) -> Iterator[Violation]:
    if place.selector is None:
        return
    if len(place.selector.terms) != 1:
        yield Violation(field, f"exactly one term, got {len(place.selector.terms)}")
    defect = place.selector.defect()
    if defect is not None:
        yield Violation(field, defect.reason)


def _check_device(field: str, device: Device, per_device: bool) -> Iterator[Violation]:
    if not _LABEL.fullmatch(device.name):
        yield Violation(f"{field}.name", f"{device.name!r} is no DNS label")
    places = _places(device.place)
    if places != per_device:
        wanted = "no node fields without perDeviceNodeSelection"
        if per_device:
            wanted = "exactly one of nodeName, nodeSelector, allNodes"
        yield Violation(field, f"{wanted}, got {places}")
    entries = len(device.attributes) + len(device.capacity)
    if entries > 32:
        yield Violation(field, f"at most 32 attributes and capacities, got {entries}")
    for name in (*device.attributes, *device.capacity):
        domain, slash, short = name.rpartition("/")
        if not _IDENTIFIER.fullmatch(short) or (slash and (len(domain) > 63 or not _SUBDOMAIN.fullmatch(domain))):
            yield Violation(f"{field}.attributes", f"{name!r} is no qualified name")
    yield from _check_attributes(field, device)
    for name, capacity in device.capacity.items():
        yield from _check_capacity(f"{field}.capacity[{name}]", capacity, device.allow_multiple_allocations)
    for name, found, most in (
        ("consumesCounters", device.consumes, 2),
        ("taints", device.taints, 16),
        ("bindingConditions", device.binding_conditions or (), 4),
        ("bindingFailureConditions", device.binding_failure_conditions or (), 4),
    ):
        if len(found) > most:
            yield Violation(f"{field}.{name}", f"at most {most}, got {len(found)}")


def _check_attributes(field: str, device: Device) -> Iterator[Violation]:
    values = 0
    for name, attribute in device.attributes.items():
        place, value = f"{field}.attributes[{name}]", attribute.value
        items = value if isinstance(value, tuple) else () if value is None else (value,)
        values += len(items)
        if attribute.kind is AttributeKind.UNKNOWN:
            yield Violation(place, "no known type; every expression on the device is an error")
        elif not items:
            yield Violation(place, "an empty list")
        for item in items:
            if isinstance(item, str) and len(item) > _TEXT_LIMIT:
                yield Violation(place, f"at most {_TEXT_LIMIT} characters, got {len(item)}")
            if attribute.kind in (AttributeKind.VERSION, AttributeKind.VERSIONS) and not _VERSION.fullmatch(str(item)):
                yield Violation(place, f"{item!r} is no semantic version; every expression on the device is an error")
    if values > 48:
        yield Violation(f"{field}.attributes", f"at most 48 values, got {values}")


def _check_capacity(field: str, capacity: DeviceCapacity, shared: bool) -> Iterator[Violation]:
    policy = capacity.policy
    if policy is None:
        return
    if not shared:
        yield Violation(f"{field}.requestPolicy", "only for devices with allowMultipleAllocations")
    yield from _check_policy(f"{field}.requestPolicy", policy, capacity.value.nano)


def _check_policy(field: str, policy: RequestPolicy, total: int) -> Iterator[Violation]:
    default, valid, values = policy.default, policy.valid_range, policy.valid_values
    if values and valid is not None:
        yield Violation(field, "validValues and validRange exclude each other")
    if (values or valid is not None) and default is None:
        yield Violation(f"{field}.default", "required")
    nanos = [value.nano for value in values]
    if nanos != sorted(set(nanos)):
        yield Violation(f"{field}.validValues", "not ascending")
    if len(values) > 10:
        yield Violation(f"{field}.validValues", f"at most 10, got {len(values)}")
    if values and default is not None and default.nano not in nanos:
        yield Violation(f"{field}.default", f"{default} is none of the valid values")
    if valid is not None:
        for name, bound in (("min", valid.min), ("max", valid.max)):
            if bound is not None and bound.nano > total:
                yield Violation(f"{field}.validRange.{name}", f"{bound} is more than the device has")
        if valid.max is not None and valid.max.nano < valid.min.nano:
            yield Violation(f"{field}.validRange.max", f"{valid.max} is less than min {valid.min}")
        if default is not None and (
            default.nano < valid.min.nano or (valid.max is not None and default.nano > valid.max.nano)
        ):
            yield Violation(f"{field}.default", f"{default} is outside the valid range")
