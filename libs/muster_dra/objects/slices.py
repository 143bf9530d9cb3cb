"""ResourceSlices and their devices as values (dra-semantics §1.2-§1.6)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

import orjson

from muster_dra.amounts import Amount
from muster_dra.attributes import Attribute, AttributeKind
from muster_dra.objects.node_selectors import NodeSelector, parse_node_selector
from muster_dra.objects.taints import DeviceTaint, parse_taint
from muster_dra.objects.versions import VERSIONS, device_fields
from muster_dra.reading import Fields, InvalidObject
from muster_types import DeviceId, Nano


@dataclass(frozen=True, slots=True)
class ValidRange:
    min: Amount
    max: Amount | None = None
    step: Amount | None = None


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """How much of a shared device's capacity one request takes; at most one of values and range is set."""

    default: Amount | None = None
    valid_values: tuple[Amount, ...] = ()
    valid_range: ValidRange | None = None


@dataclass(frozen=True, slots=True)
class DeviceCapacity:
    value: Amount
    policy: RequestPolicy | None = None


@dataclass(frozen=True, slots=True)
class CounterConsumption:
    """What a device draws from one counter set of its pool, in nano-units by counter."""

    counter_set: str
    counters: Mapping[str, Nano]
    compatibility_groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodePlace:
    """Where a slice or a device can be used: the first of the three that is set decides alone (dra-semantics §2.1)."""

    node_name: str = ""
    all_nodes: bool = False
    selector: NodeSelector | None = None

    @property
    def anywhere_set(self) -> bool:
        return bool(self.node_name) or self.all_nodes or self.selector is not None


@dataclass(frozen=True, slots=True)
class Device:
    """One device as published. `binding_conditions` is None when the list is absent: an empty list is still a list."""

    name: str
    attributes: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])
    capacity: Mapping[str, DeviceCapacity] = field(default_factory=dict[str, DeviceCapacity])
    consumes: tuple[CounterConsumption, ...] = ()
    place: NodePlace = NodePlace()
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] | None = None
    binding_failure_conditions: tuple[str, ...] | None = None
    allow_multiple_allocations: bool = False


@dataclass(frozen=True, slots=True)
class CounterSet:
    name: str
    counters: Mapping[str, Nano]


class PoolId(NamedTuple):
    """A pool is all slices of one driver under one pool name. A tuple, because it is hashed for every node."""

    driver: str
    name: str

    def device(self, name: str) -> DeviceId:
        return DeviceId(self.driver, self.name, name)

    def __str__(self) -> str:
        return f"{self.driver}/{self.name}"


@dataclass(frozen=True, slots=True)
class ResourceSlice:
    """One slice. `per_device_nodes` is None when absent: even false hides a slice while the gate is off."""

    name: str
    pool: PoolId
    generation: int
    slice_count: int
    place: NodePlace = NodePlace()
    per_device_nodes: bool | None = None
    devices: tuple[Device, ...] = ()
    counter_sets: tuple[CounterSet, ...] = ()
    skip_node_operations: tuple[str, ...] = ()

    @property
    def holds_counters(self) -> bool:
        """A slice with counter sets is a counter slice; devices beside them do not exist (dra-semantics §1.14)."""
        return bool(self.counter_sets)


def parse_slice(json: object) -> ResourceSlice:
    """A ResourceSlice of v1, v1beta2, v1beta1 or v1alpha3, normalised to v1.

    Raises InvalidObject for what cannot be read. What the API server would refuse but the allocator can read
    (an attribute of no known type, an invalid selector, too many devices) is kept: `check_slice` lists it.
    """
    top = Fields.of_object(json, "ResourceSlice", VERSIONS)
    spec = top.child("spec")
    pool = spec.child("pool")
    generation = pool.integer("generation") or 0
    count = pool.integer("resourceSliceCount")
    if generation < 0:
        raise pool.wrong("generation", f"want 0 or more, got {generation}")
    return ResourceSlice(
        top.name,
        PoolId(spec.required_text("driver"), pool.required_text("name")),
        generation,
        count or 0,
        _place(spec),
        spec.boolean("perDeviceNodeSelection"),
        _devices(spec),
        tuple(map(_counter_set, spec.children("sharedCounters"))),
        spec.texts("skipNodeOperations"),
    )


def _place(json: Fields) -> NodePlace:
    return NodePlace(
        json.text("nodeName"),
        bool(json.boolean("allNodes")),
        parse_node_selector(json.child("nodeSelector")) if json.has("nodeSelector") else None,
    )


_REMEMBERED_LISTS = 2048
_lists: dict[bytes, tuple[Device, ...]] = {}


def _devices(spec: Fields) -> tuple[Device, ...]:
    """The devices of a slice. Equal lists are one object: nodes of one make share all that is worked out for it."""
    try:
        text = orjson.dumps(spec.json.get("devices"), option=orjson.OPT_PASSTHROUGH_DATETIME)
    except orjson.JSONEncodeError:  # what JSON cannot say is refused by the reading below
        text = b"null"
    if b"null" in text:  # NaN is written so too
        return tuple(map(_device, spec.children("devices")))
    key = blake2b(text, digest_size=16).digest()
    devices = _lists.get(key)
    if devices is None:
        devices = tuple(map(_device, spec.children("devices")))
        if len(_lists) >= _REMEMBERED_LISTS:
            del _lists[next(iter(_lists))]
        _lists[key] = devices
    return devices


def _device(item: Fields) -> Device:
    json = device_fields(item)
    return Device(
        item.required_text("name"),
        {name: _attribute(value) for name, value in json.named_children("attributes")},
        _capacities(json),
        tuple(map(_consumption, json.children("consumesCounters"))),
        _place(json),
        tuple(map(parse_taint, json.children("taints"))),
        bool(json.boolean("bindsToNode")),
        json.optional_texts("bindingConditions"),
        json.optional_texts("bindingFailureConditions"),
        bool(json.boolean("allowMultipleAllocations")),
    )


def _attribute(json: Fields) -> Attribute:
    if json.has("string"):
        return Attribute(AttributeKind.STRING, json.text("string"))
    if json.has("int"):
        return Attribute(AttributeKind.INT, json.integer("int"))
    if json.has("bool"):
        return Attribute(AttributeKind.BOOL, json.boolean("bool"))
    if json.has("version"):
        return Attribute(AttributeKind.VERSION, json.text("version"))
    if json.has("strings"):
        return Attribute(AttributeKind.STRINGS, json.texts("strings"))
    if json.has("ints"):
        return Attribute(AttributeKind.INTS, json.integers("ints"))
    if json.has("bools"):
        return Attribute(AttributeKind.BOOLS, json.booleans("bools"))
    if json.has("versions"):
        return Attribute(AttributeKind.VERSIONS, json.texts("versions"))
    return Attribute(AttributeKind.UNKNOWN, None)


def _capacities(json: Fields) -> dict[str, DeviceCapacity]:
    holder = json.child("capacity")
    found: dict[str, DeviceCapacity] = {}
    for name, value in holder.json.items():
        if isinstance(value, str | int | float):  # v1alpha3: a bare quantity
            found[name] = DeviceCapacity(holder.required_amount(name))
        else:
            found[name] = _capacity(holder.child(name))
    return found


def _capacity(json: Fields) -> DeviceCapacity:
    value = json.required_amount("value")
    if not json.has("requestPolicy"):
        return DeviceCapacity(value)
    policy = json.child("requestPolicy")
    return DeviceCapacity(
        value,
        RequestPolicy(
            policy.amount("default"),
            policy.amounts("validValues"),
            _valid_range(policy.child("validRange")) if policy.has("validRange") else None,
        ),
    )


def _valid_range(json: Fields) -> ValidRange:
    step = json.amount("step")
    if step is not None and step.nano <= 0:
        raise json.wrong("step", f"want more than 0, got {step}")
    return ValidRange(json.required_amount("min"), json.amount("max"), step)


def _counters(json: Fields) -> dict[str, Nano]:
    return {name: counter.required_amount("value").nano for name, counter in json.named_children("counters")}


def _counter_set(json: Fields) -> CounterSet:
    return CounterSet(json.required_text("name"), _counters(json))


def _consumption(json: Fields) -> CounterConsumption:
    return CounterConsumption(json.required_text("counterSet"), _counters(json), json.texts("compatibilityGroups"))


__all__ = [
    "CounterConsumption",
    "CounterSet",
    "Device",
    "DeviceCapacity",
    "InvalidObject",
    "NodePlace",
    "PoolId",
    "RequestPolicy",
    "ResourceSlice",
    "ValidRange",
    "parse_slice",
]
