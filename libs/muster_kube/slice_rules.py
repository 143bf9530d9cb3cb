"""ResourceSlice: what the API server refuses (dra-semantics §1.2 to §1.7).

The rules hold for one slice; names that must be unique in the whole pool, and counter sets in other slices, are the
engine's to judge (dra-semantics §2.4).
"""

from collections.abc import Mapping, Sequence

from muster_kube.capacity_rules import check_capacity
from muster_kube.faults import Faults, given, numbered
from muster_kube.names import (
    dns_label,
    driver_name,
    fully_qualified_name,
    label_key,
    pool_name,
    qualified_name,
    semantic_version,
)
from muster_kube.parts import mapping, sequence, text, whole
from muster_kube.selector_rules import check_device_taint, check_node_name, check_node_selector

_NODE_FIELDS = ("nodeName", "nodeSelector", "allNodes")
_ONE_OF_NODE = "nodeName, nodeSelector, allNodes, perDeviceNodeSelection"
_VALUES = ("int", "bool", "string", "version", "ints", "bools", "strings", "versions")
_LISTS = ("ints", "bools", "strings", "versions")
_OPERATIONS = ("NodePrepareResources", "NodeUnprepareResources", "*")


def check_slice(faults: Faults, obj: Mapping[str, object]) -> None:
    """A published slice, in any version."""
    spec = mapping(obj.get("spec"))
    flat = not text(obj.get("apiVersion")).endswith("/v1beta1")
    pool = mapping(spec.get("pool"))
    faults.name("spec.pool.name", pool.get("name"), pool_name)
    if not given(spec.get("pool")) or "resourceSliceCount" not in pool:
        faults.add("spec.pool.resourceSliceCount", "it is missing; write how many slices the pool has")
    _check_node_fields(faults, spec, flat=flat)
    check_slice_spec(faults, "spec", spec, flat=flat)


def check_slice_spec(faults: Faults, field: str, spec: Mapping[str, object], *, flat: bool = True) -> None:
    """The spec apart from what places it on a node, so of a template's slice too. `flat`: not v1beta1's `basic`."""
    faults.name(f"{field}.driver", spec.get("driver"), driver_name)
    pool = mapping(spec.get("pool"))
    if whole(pool.get("generation")) < 0:
        faults.add(f"{field}.pool.generation", "it is negative; generations count up from 0")
    if whole(pool.get("resourceSliceCount"), 1) < 1:
        faults.add(f"{field}.pool.resourceSliceCount", "it is not above 0; write how many slices the pool has")
    faults.optional_name(f"{field}.partitionTypeAttribute", spec.get("partitionTypeAttribute"), fully_qualified_name)
    for index, operation in enumerate(sequence(spec.get("skipNodeOperations"))):
        faults.one_of(f"{field}.skipNodeOperations[{index}]", text(operation), _OPERATIONS)
    _check_counter_sets(faults, f"{field}.sharedCounters", sequence(spec.get("sharedCounters")))
    _check_devices(faults, field, spec, flat=flat)


def _check_node_fields(faults: Faults, spec: Mapping[str, object], *, flat: bool) -> None:
    """Exactly one says where the devices are. In v1beta1 "" and false are the same as absent (§1.14)."""
    named = [name for name in (*_NODE_FIELDS, "perDeviceNodeSelection") if spec.get(name) is not None]
    for name in ("nodeName", "allNodes", "perDeviceNodeSelection"):
        if spec.get(name) in ("", False) and name in named:
            if flat:
                faults.add(f"spec.{name}", "it is set to nothing; remove it, or set it to a node name or to true")
            named.remove(name)
    if len(named) != 1:
        found = ", ".join(named) or "none"
        faults.add("spec", f"exactly one of {_ONE_OF_NODE} must be set, got {found}; keep one")
    if "nodeName" in named:
        check_node_name(faults, "spec.nodeName", spec.get("nodeName"))
    if "nodeSelector" in named:
        check_node_selector(faults, "spec.nodeSelector", spec.get("nodeSelector"), terms=1)


def _check_counter_sets(faults: Faults, field: str, sets: Sequence[object]) -> None:
    faults.at_most(field, sets, 8)
    for at, each in numbered(sets, field):
        faults.name(f"{at}.name", each.get("name"), dns_label)
        _check_counters(faults, f"{at}.counters", mapping(each.get("counters")))
    faults.unique(field, (text(mapping(each).get("name")) for each in sets), "counter set")


def _check_counters(faults: Faults, field: str, counters: Mapping[str, object]) -> None:
    faults.at_most(field, counters, 32)
    if not counters:
        faults.add(field, "it has no counter; write at least one")
    for name, counter in counters.items():
        if reason := dns_label(name):
            faults.add(f"{field}[{name[:64]}]", reason)
        if not given(mapping(counter).get("value")):
            faults.add(f"{field}[{name[:64]}].value", "it is missing; write an amount")


def _check_devices(faults: Faults, field: str, spec: Mapping[str, object], *, flat: bool) -> None:
    devices = sequence(spec.get("devices"))
    path = f"{field}.devices"
    if devices and given(spec.get("sharedCounters")):
        faults.add(
            f"{field}.sharedCounters",
            "a slice has devices or shared counters, not both (since 1.35); put the counters into a slice of their "
            "own and count it in resourceSliceCount",
        )
    bodies = [mapping(each) if flat else mapping(mapping(each).get("basic")) for each in devices]
    heavy = any(_is_heavy(body) for body in bodies)
    if len(devices) > (64 if heavy else 128):
        limit = "64 devices with taints, counters or list attributes" if heavy else "128 devices"
        faults.add(path, f"it has {len(devices)} devices, a slice holds at most {limit}; publish more slices")
    per_device = spec.get("perDeviceNodeSelection") is True
    for index, body in enumerate(bodies):
        at = f"{path}[{index}]"
        faults.name(f"{at}.name", mapping(devices[index]).get("name"), dns_label)
        _check_device(faults, at if flat else f"{at}.basic", body, per_device=per_device)
    faults.unique(path, (text(mapping(each).get("name")) for each in devices), "device")


def _is_heavy(body: Mapping[str, object]) -> bool:
    """Whether a device is one of those of which a slice holds 64 only."""
    if given(body.get("taints")) or given(body.get("consumesCounters")):
        return True
    return any(name in mapping(value) for value in mapping(body.get("attributes")).values() for name in _LISTS)


def _check_device(faults: Faults, field: str, body: Mapping[str, object], *, per_device: bool) -> None:
    attributes, capacity = mapping(body.get("attributes")), mapping(body.get("capacity"))
    if len(attributes) + len(capacity) > 32:
        faults.add(field, f"it has {len(attributes) + len(capacity)} attributes and capacities, at most 32 are allowed")
    values = 0
    for name, value in attributes.items():
        values += _check_attribute(faults, field, name, mapping(value))
    if values > 48:
        faults.add(f"{field}.attributes", f"it has {values} values, list items counted, at most 48 are allowed")
    shared = body.get("allowMultipleAllocations") is True
    for name, value in capacity.items():
        if reason := qualified_name(name):
            faults.add(f"{field}.capacity[{name[:80]}]", reason)
        check_capacity(faults, f"{field}.capacity[{name[:80]}]", mapping(value), shared=shared)
    if len(body) > len(attributes and ("attributes",)) + len(capacity and ("capacity",)):
        _check_rest_of_device(faults, field, body, per_device=per_device)
    elif per_device:
        _check_device_node(faults, field, body, per_device=True)


def _check_rest_of_device(faults: Faults, field: str, body: Mapping[str, object], *, per_device: bool) -> None:
    _check_device_node(faults, field, body, per_device=per_device)
    consumed = sequence(body.get("consumesCounters"))
    faults.at_most(f"{field}.consumesCounters", consumed, 2)
    for at, each in numbered(consumed, f"{field}.consumesCounters"):
        faults.name(f"{at}.counterSet", each.get("counterSet"), dns_label)
        _check_counters(faults, f"{at}.counters", mapping(each.get("counters")))
        faults.at_most(f"{at}.compatibilityGroups", sequence(each.get("compatibilityGroups")), 8)
    sets = (text(mapping(each).get("counterSet")) for each in consumed)
    faults.unique(f"{field}.consumesCounters", sets, "counter set")
    taints = sequence(body.get("taints"))
    faults.at_most(f"{field}.taints", taints, 16)
    for at, taint in numbered(taints, f"{field}.taints"):
        check_device_taint(faults, at, taint)
    for name in ("bindingConditions", "bindingFailureConditions"):
        conditions = sequence(body.get(name))
        faults.at_most(f"{field}.{name}", conditions, 4)
        for index, condition in enumerate(conditions):
            faults.name(f"{field}.{name}[{index}]", condition, label_key)


def _check_device_node(faults: Faults, field: str, body: Mapping[str, object], *, per_device: bool) -> None:
    named = [name for name in _NODE_FIELDS if given(body.get(name)) and body.get(name) is not False]
    if per_device and len(named) != 1:
        faults.add(
            field,
            f"in a slice with perDeviceNodeSelection each device sets exactly one of {', '.join(_NODE_FIELDS)}, "
            f"got {', '.join(named) or 'none'}",
        )
    elif not per_device and named:
        faults.add(f"{field}.{named[0]}", "it is allowed only in a slice with perDeviceNodeSelection; remove it")
    if "nodeName" in named:
        check_node_name(faults, f"{field}.nodeName", body.get("nodeName"))
    if "nodeSelector" in named:
        check_node_selector(faults, f"{field}.nodeSelector", body.get("nodeSelector"))


def _check_attribute(faults: Faults, field: str, name: str, value: Mapping[str, object]) -> int:
    """Gives the number of values. A field of a later release is kept: the engine knows what it means (§1.4)."""
    reason = qualified_name(name)
    set_fields = [each for each in value if value[each] is not None]
    if not reason and len(set_fields) == 1:
        only = set_fields[0]
        if only in ("int", "bool") or (only == "string" and len(text(value["string"])) <= 64):
            return 1
    at = f"{field}.attributes[{name[:80]}]"
    if reason:
        faults.add(at, reason)
    known = [each for each in set_fields if each in _VALUES]
    if not set_fields or len(known) > 1:
        faults.add(at, f"exactly one of {', '.join(_VALUES)} must be set, got {', '.join(known) or 'none'}; keep one")
    count = 0
    for each in known:
        items = sequence(value[each]) if each in _LISTS else (value[each],)
        if not items:
            faults.add(f"{at}.{each}", "the list is empty; write a value or remove the attribute")
        _check_texts(faults, f"{at}.{each}", each, items)
        count += len(items)
    return count


def _check_texts(faults: Faults, field: str, kind: str, items: Sequence[object]) -> None:
    for index, item in enumerate(items):
        at = f"{field}[{index}]" if kind in _LISTS else field
        written = text(item)
        if kind in ("string", "strings") and len(written) > 64:
            faults.add(
                at, f"the text {written[:20]!r}… has {len(written)} characters, at most 64 are allowed; shorten it"
            )
        elif kind in ("version", "versions") and (reason := semantic_version(written)):
            faults.add(at, reason)


def slice_devices(spec: Mapping[str, object]) -> set[str]:
    """The names of the devices of a slice's spec."""
    return {text(mapping(each).get("name")) for each in sequence(spec.get("devices"))}
