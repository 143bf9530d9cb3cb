"""Re-checks chosen devices of one node from the raw JSON: existence, selectors, constraints, counters, amounts, taints.

Written apart from the engine's search: it only judges a finished choice. Expressions are evaluated by `muster_dra.cel`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muster_dra.attributes import Attribute, AttributeKind
from muster_dra.cel import DeviceView, compile_selector
from muster_types import parse_quantity

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Published:
    """A device as a node sees it."""

    driver: str
    pool: str
    body: Json
    attributes: Mapping[str, tuple[str, Any]]
    nodes: Any = None

    @property
    def id(self) -> tuple[str, str, str]:
        return self.driver, self.pool, self.body["name"]


@dataclass
class NodeDevices:
    """Devices of one node, what is taken already, and counters of its pools."""

    devices: dict[tuple[str, str, str], Published] = field(default_factory=dict)
    counters: dict[tuple[str, str, str, str], int] = field(default_factory=dict)  # driver, pool, set, counter
    taken: set[tuple[str, str, str]] = field(default_factory=set)
    shares: Counter[tuple[tuple[str, str, str], str]] = field(default_factory=Counter)
    shared_once: set[tuple[str, str, str]] = field(default_factory=set)


def attributes_of(device: Json, driver: str) -> dict[str, tuple[str, Any]]:
    found = {}
    for name, value in device.get("attributes", {}).items():
        full = name if "/" in name else f"{driver}/{name}"
        kind, content = next(iter(value.items()))
        found[full] = (kind, content)
    return found


def publish(node: NodeDevices, slice_spec: Json) -> None:
    driver, pool = slice_spec["driver"], slice_spec["pool"]["name"]
    for each in slice_spec.get("sharedCounters", []):
        for name, counter in each["counters"].items():
            node.counters[driver, pool, each["name"], name] = parse_quantity(str(counter["value"]))
    for device in slice_spec.get("devices", []):
        found = Published(driver, pool, device, attributes_of(device, driver))
        node.devices[found.id] = found


def promised(node: NodeDevices, template: Json) -> None:
    """Symbols for what nobody knows before boot."""
    for key, device in list(node.devices.items()):
        attributes = dict(device.attributes)
        for name in template.get("uniqueAttributes", []):
            if name in attributes:
                attributes[name] = ("unique", key)
        for index, binding in enumerate(template.get("attributeBindings", [])):
            if device.body["name"] in binding["devices"]:
                attributes[binding["attribute"]] = ("bound", index)
        node.devices[key] = Published(device.driver, device.pool, device.body, attributes)


def take(node: NodeDevices, result: Json, *, consumed: Mapping[str, int]) -> list[str]:
    """Marks a device as in use; the complaints if it cannot be."""
    id = (result["driver"], result["pool"], result["device"])
    device = node.devices.get(id)
    if result.get("adminAccess"):
        return []
    shared = device is not None and bool(device.body.get("allowMultipleAllocations"))
    faults = []
    if not shared and not result.get("shareID"):
        if id in node.taken:
            faults.append(f"{id} is taken twice")
        node.taken.add(id)
        if device is not None:
            _draw(node, device)
        return faults
    for name, amount in consumed.items():
        node.shares[id, name] += amount
        total = parse_quantity(str(device.body["capacity"][name]["value"])) if device is not None else None
        if total is not None and node.shares[id, name] > total:
            faults.append(f"{id}: {name} is given out beyond its total")
    if id not in node.shared_once and device is not None:
        node.shared_once.add(id)
        _draw(node, device)
    return faults


def _draw(node: NodeDevices, device: Published) -> None:
    for consumption in device.body.get("consumesCounters", []):
        for name, value in consumption["counters"].items():
            key = (device.driver, device.pool, consumption["counterSet"], name)
            node.counters[key] = node.counters.get(key, 0) - parse_quantity(str(value["value"]))


def counters_hold(node: NodeDevices) -> list[str]:
    return [f"counter {key} is overdrawn" for key, value in sorted(node.counters.items()) if value < 0]


def check_claim(node: NodeDevices, spec: Json, results: Sequence[Json], classes: Mapping[str, Json]) -> list[str]:
    """Whether the results answer the claim; takes the devices."""
    faults: list[str] = []
    chosen: dict[str, list[Published]] = {}
    left = list(results)
    for request in spec["devices"]["requests"]:
        names = {request["name"]: request.get("exactly")}
        for sub in request.get("firstAvailable", []):
            names[f"{request['name']}/{sub['name']}"] = sub
        mine = [each for each in left if each["request"].split("/")[0] == request["name"]]
        left = [each for each in left if each not in mine]
        used = {each["request"] for each in mine}
        if len(used) != 1 or used - set(names):
            faults.append(f"request {request['name']}: answered as {sorted(used)}")
            continue
        answered = used.pop()
        wanted = names[answered]
        if wanted is None:
            faults.append(f"request {request['name']}: answered as {answered}")
            continue
        faults += _check_request(node, answered, wanted, mine, classes, chosen)
    if left:
        faults.append(f"results for no request: {left}")
    for constraint in spec["devices"].get("constraints", []):
        faults += _check_constraint(constraint, chosen)
    return faults


def _check_request(
    node: NodeDevices,
    answered: str,
    wanted: Json,
    results: Sequence[Json],
    classes: Mapping[str, Json],
    chosen: dict[str, list[Published]],
) -> list[str]:
    faults: list[str] = []
    fitting = [device for device in node.devices.values() if _selected(device, wanted, classes)]
    if wanted.get("allocationMode") == "All":
        if sorted(device.id for device in fitting) != sorted((r["driver"], r["pool"], r["device"]) for r in results):
            faults.append(f"request {answered}: not all fitting devices are chosen")
    elif len(results) != wanted.get("count", 1):
        faults.append(f"request {answered}: {len(results)} devices for {wanted.get('count', 1)}")
    seen = set()
    for result in results:
        id = (result["driver"], result["pool"], result["device"])
        device = node.devices.get(id)
        if device is None or device not in fitting:
            faults.append(f"request {answered}: {id} does not fit it or does not exist")
            continue
        if id in seen:
            faults.append(f"request {answered}: {id} twice")
        seen.add(id)
        for taint in device.body.get("taints", []):
            blocks = taint["effect"] in ("NoSchedule", "NoExecute")
            if blocks and not any(_tolerates(each, taint) for each in wanted.get("tolerations", [])):
                faults.append(f"request {answered}: {id} is tainted")
        amounts = _amounts(device, wanted.get("capacity", {}).get("requests", {}))
        if amounts is None:
            faults.append(f"request {answered}: {id} cannot give the amount")
        else:
            faults += take(node, {**result, "adminAccess": wanted.get("adminAccess")}, consumed=amounts)
        chosen.setdefault(answered, []).append(device)
    return faults


def _selected(device: Published, wanted: Json, classes: Mapping[str, Json]) -> bool:
    selectors = [*classes[wanted["deviceClassName"]]["spec"].get("selectors", []), *wanted.get("selectors", [])]
    view = DeviceView(
        device.driver,
        {name: _attribute(kind, value) for name, (kind, value) in device.attributes.items()},
        {name: str(each["value"]) for name, each in device.body.get("capacity", {}).items()},
        bool(device.body.get("allowMultipleAllocations")),
    )
    return all(compile_selector(each["cel"]["expression"]).matches(view) is True for each in selectors)


def _attribute(kind: str, value: Any) -> Attribute:
    try:
        return Attribute(AttributeKind(kind), value)
    except ValueError:
        return Attribute(AttributeKind.STRING, repr(value))


def _tolerates(toleration: Json, taint: Json) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")


def _amounts(device: Published, wanted: Mapping[str, Any]) -> dict[str, int] | None:
    capacity = device.body.get("capacity", {})
    if set(wanted) - set(capacity):
        return None
    found: dict[str, int] = {}
    for name, each in capacity.items():
        policy, total = each.get("requestPolicy", {}), parse_quantity(str(each["value"]))
        asked = parse_quantity(str(wanted[name])) if name in wanted else None
        if asked is None:
            found[name] = parse_quantity(str(policy["default"])) if "default" in policy else total
        elif "validRange" in policy:
            bounds = policy["validRange"]
            least = parse_quantity(str(bounds["min"]))
            amount = max(asked, least)
            if "step" in bounds:
                step = parse_quantity(str(bounds["step"]))
                amount = least + -(-(amount - least) // step) * step
            if "max" in bounds and amount > parse_quantity(str(bounds["max"])):
                return None
            found[name] = amount
        elif "validValues" in policy:
            values = sorted(parse_quantity(str(value)) for value in policy["validValues"])
            larger = [value for value in values if value >= asked]
            if not larger:
                return None
            found[name] = larger[0]
        else:
            found[name] = asked
        if found[name] > total:
            return None
    return found if device.body.get("allowMultipleAllocations") else {}


def _check_constraint(constraint: Json, chosen: Mapping[str, list[Published]]) -> list[str]:
    names = constraint.get("requests", [])
    meant = [
        device
        for answered, devices in chosen.items()
        if not names or answered in names or answered.split("/")[0] in names
        for device in devices
    ]
    attribute = constraint.get("matchAttribute") or constraint["distinctAttribute"]
    values = [device.attributes.get(attribute) for device in meant]
    if None in values:
        return [f"{attribute}: a chosen device lacks it"]
    if "matchAttribute" in constraint:
        return [f"{attribute}: {values} differ"] if len(set(values)) > 1 else []
    if any(kind == "bound" for kind, _ in values if values) and len(values) > 1:
        return [f"{attribute}: nobody knows whether bound values differ"]
    return [f"{attribute}: {values} are not distinct"] if len(set(values)) != len(values) else []
