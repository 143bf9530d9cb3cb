"""ResourceSlices of a new node, made from the template of its group.

Pool and slice names are made per node; unique attributes get values of their own, attribute bindings values that their
devices share and no other device of the node has. Scripted wrong shapes are applied last, on what was promised.
"""

import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from muster_provisioner.adapters.simulated.chance import draw_hex
from muster_provisioner.adapters.simulated.group_settings import (
    AttributeBinding,
    AttributeSetting,
    Json,
    SimulatedGroup,
    WrongShape,
)
from muster_types import NodeName

JsonObject = dict[str, object]
API_VERSION = "resource.k8s.io/v1"
PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
_ELSEWHERE = ("nodeSelector", "allNodes", "perDeviceNodeSelection")


def slice_objects(group: SimulatedGroup, node: NodeName, shape: WrongShape, seed: int) -> tuple[JsonObject, ...]:
    """The ResourceSlices (resource.k8s.io/v1) that the drivers of a new node publish, in template order."""
    template = group.spec.template
    specs = [copy.deepcopy(dict(each)) for each in template.resource_slices]
    pools = Counter(pool for pool in {_pool_of(spec) for spec in specs})
    per_driver = Counter(driver for driver, _ in pools)
    slices_in = Counter(_pool_of(spec) for spec in specs)
    for attribute in template.unique_attributes:
        _set_unique(specs, attribute, node, seed)
    _set_bound(specs, template.attribute_bindings, node, seed)
    for drop in shape.drop:
        _drop(specs, drop)
    for setting in shape.set:
        _set_wrong(specs, setting)
    objects: list[JsonObject] = []
    for index, spec in enumerate(specs):
        driver, pool = _pool_of(spec)
        promised = cast("Json", spec.get("pool") or {})
        spec["pool"] = {
            "name": node if per_driver[driver] == 1 else f"{node}-{pool}" if pool else node,
            "generation": promised.get("generation", 1),
            "resourceSliceCount": promised.get("resourceSliceCount") or slices_in[driver, pool],
        }
        if not any(spec.get(field) for field in _ELSEWHERE):
            spec["nodeName"] = node
        name = f"{node}-{driver.replace('/', '-')}-{index}"
        objects.append(
            {
                "apiVersion": API_VERSION,
                "kind": "ResourceSlice",
                "metadata": {"name": name, "labels": {"muster.dev/node-group": group.name}},
                "spec": spec,
            }
        )
    return tuple(objects)


def _pool_of(spec: Json) -> tuple[str, str]:
    pool = cast("Json", spec.get("pool") or {})
    return str(spec.get("driver", "")), str(pool.get("name", ""))


def _devices(specs: Sequence[JsonObject]) -> Iterator[tuple[str, JsonObject]]:
    """Every device of the node with its driver."""
    for spec in specs:
        driver, _ = _pool_of(spec)
        for device in cast("list[JsonObject]", spec.get("devices") or []):
            yield driver, device


def _attributes(device: JsonObject) -> dict[str, JsonObject]:
    """The attributes of a device, to be changed in place; v1beta1 keeps them under `basic`."""
    holder = cast("JsonObject", device.get("basic") or device)
    return cast("dict[str, JsonObject]", holder.setdefault("attributes", {}))


def _spelling(driver: str, attribute: str, attributes: Mapping[str, object]) -> str | None:
    """How a device spells an attribute; without a domain it belongs to the driver's. None: it does not list it."""
    bare = attribute.removeprefix(f"{driver}/")
    qualified = attribute if "/" in attribute else f"{driver}/{attribute}"
    return next((name for name in (qualified, attribute, bare) if name in attributes), None)


def _set_unique(specs: Sequence[JsonObject], attribute: str, node: NodeName, seed: int) -> None:
    taken: set[str] = set()
    for driver, device in _devices(specs):
        attributes = _attributes(device)
        spelling = _spelling(driver, attribute, attributes)
        if spelling is None:
            continue
        digits = draw_hex(seed, 12, node, driver, str(device.get("name")), attribute, taken=taken)
        taken.add(digits)
        attributes[spelling] = _typed(attributes[spelling], digits, f"{spelling.rpartition('/')[2].lower()}-{digits}")


def _set_bound(specs: Sequence[JsonObject], bindings: Sequence[AttributeBinding], node: NodeName, seed: int) -> None:
    for attribute in dict.fromkeys(each.attribute for each in bindings):
        same = [each for each in bindings if each.attribute == attribute]
        bound = {name for each in same for name in each.devices}
        taken = _written(specs, attribute, bound)
        for index, binding in enumerate(same):
            digits = draw_hex(seed, 2, node, attribute, index, taken={text[-2:] for text in taken})
            text = f"pci0000:{digits}" if attribute == PCIE_ROOT else f"{attribute.rpartition('/')[2].lower()}-{digits}"
            number = next(each for each in _numbers(index) if str(each) not in taken)
            taken |= {text, str(number)}
            for driver, device in _devices(specs):
                if device.get("name") in binding.devices:
                    attributes = _attributes(device)
                    spelling = _spelling(driver, attribute, attributes) or attribute
                    old = attributes.get(spelling, {"string": ""})
                    attributes[spelling] = {"int": number} if "int" in old else {"string": text}


def _written(specs: Sequence[JsonObject], attribute: str, bound: set[str]) -> set[str]:
    """Values of an attribute that devices outside all bindings have."""
    found: set[str] = set()
    for driver, device in _devices(specs):
        attributes = _attributes(device)
        spelling = _spelling(driver, attribute, attributes)
        if spelling is not None and device.get("name") not in bound:
            found |= {str(value) for value in attributes[spelling].values()}
    return found


def _numbers(first: int) -> Iterator[int]:
    number = first
    while True:
        yield number
        number += 1


def _typed(old: JsonObject, digits: str, text: str) -> JsonObject:
    """A unique value of the kind that the template writes."""
    if "int" in old:
        return {"int": int(digits, 16)}
    return {"string": text}


def _drop(specs: Sequence[JsonObject], name: str) -> None:
    for spec in specs:
        devices = cast("list[JsonObject] | None", spec.get("devices"))
        if devices:
            spec["devices"] = [device for device in devices if device.get("name") != name]


def _set_wrong(specs: Sequence[JsonObject], setting: AttributeSetting) -> None:
    for driver, device in _devices(specs):
        if device.get("name") != setting.device:
            continue
        attributes = _attributes(device)
        spelling = _spelling(driver, setting.attribute, attributes) or setting.attribute
        value = setting.value
        if isinstance(value, bool):
            attributes[spelling] = {"bool": value}
        elif isinstance(value, int):
            attributes[spelling] = {"int": value}
        else:
            kind = "version" if "version" in attributes.get(spelling, {}) else "string"
            attributes[spelling] = {kind: value}
