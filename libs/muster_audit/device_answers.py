"""One device against one request: the first condition it fails, in the allocator's order (dra-semantics §3.4)."""

from dataclasses import dataclass

from muster_audit.amount_words import amount_like
from muster_audit.expressions import conjuncts, mentions_of
from muster_audit.facts import attribute_text
from muster_audit.scene import Scene
from muster_audit.selector_misses import value_of
from muster_audit.wording import holders_text
from muster_dra import AllocatedState, ClaimSpec, Device, DeviceRequest, Node, Pool
from muster_dra.attributes import lookup
from muster_dra.capacity import amounts_taken, fits
from muster_dra.cel import CelError, compile_selector
from muster_dra.counters import available, drawn
from muster_dra.objects.taints import untolerated
from muster_dra.pools import place_matches
from muster_dra.selectors import device_view, environment_of
from muster_types import format_quantity


@dataclass(frozen=True, slots=True)
class DeviceAnswer:
    """`fits`: the device could be taken by the request alone. `text` says why not, or what it has."""

    fits: bool
    text: str


def answer(
    device: Device,
    pool: Pool,
    request: DeviceRequest,
    spec: ClaimSpec,
    node: Node,
    allocated: AllocatedState,
    scene: Scene,
) -> DeviceAnswer:
    """For a device of a usable pool."""
    device_class = scene.snapshot.catalog.classes.get(request.class_name)
    if device_class is None:
        return DeviceAnswer(False, f"class {request.class_name} does not exist")
    if device.place.anywhere_set and place_matches(device.place, node) is not True:
        return DeviceAnswer(False, "bound to other nodes")
    for place, selectors in ((f"class {device_class.name}", device_class.selectors), ("selector", request.selectors)):
        for expression in selectors:
            failed = _selector(expression, device, pool, scene) if expression else ""
            if failed:
                return DeviceAnswer(False, f"{place}: {failed}")
    taint = untolerated(device.taints, request.tolerations)
    if taint is not None:
        return DeviceAnswer(False, f"tainted {taint}")
    use = allocated.use(pool.id)
    if not request.admin_access and device.name in use.dedicated:
        return DeviceAnswer(False, f"held by {holders_text(use.dedicated[device.name], scene.cluster)}")
    short = _capacity(device, pool, request, allocated, scene) or _counters(device, pool, allocated, scene)
    if short:
        return DeviceAnswer(False, short)
    return DeviceAnswer(True, ", ".join(("free", *_constrained(device, pool, request, spec))))


def _selector(expression: str, device: Device, pool: Pool, scene: Scene) -> str:
    """The part of an expression that is false, with the device's values; "" if it is true."""
    environment = environment_of(scene.snapshot.features)
    view = device_view(pool.id.driver, device)
    for part in conjuncts(expression):
        selector = compile_selector(part, environment)
        if isinstance(selector, CelError):
            return f"{part}: {selector.message}"
        found = selector.matches(view)
        if isinstance(found, CelError):
            return f"{part}: {found.message}"
        if not found:
            values = [
                f"{each.name} is {value_of(each, pool.id.driver, device) or 'absent'}" for each in mentions_of(part)
            ]
            return f"not {part}" + (f" ({', '.join(values)})" if values else "")
    return ""


def _capacity(device: Device, pool: Pool, request: DeviceRequest, allocated: AllocatedState, scene: Scene) -> str:
    features = scene.snapshot.features
    wanted = request.capacity or {}
    if not wanted and not device.allow_multiple_allocations:
        return ""
    amounts = amounts_taken(device, pool.id.driver, wanted, features)
    if amounts is None:
        missing = [name for name in wanted if name not in device.capacity]
        return f"has no capacity {missing[0]}" if missing else "its request policy does not allow the amount"
    shared = allocated.use(pool.id).shared.get(device.name)
    used = (shared.amounts or {}) if shared is not None else {}
    if fits(device, amounts, used):
        return ""
    for name, amount in amounts.items():
        total = device.capacity[name].value
        left = total.nano - used.get(name, 0)
        if amount.nano > left:
            return (
                f"{amount_like(max(left, 0), total.written)} of {total.written} {name} left, "
                f"{amount_like(amount.nano, total.written)} wanted"
            )
    return ""


def _counters(device: Device, pool: Pool, allocated: AllocatedState, scene: Scene) -> str:
    features = scene.snapshot.features
    use = allocated.use(pool.id)
    if not device.consumes or device.name in use.shared:
        return ""
    left = available(pool, use, features)
    for (counter_set, counter), amount in drawn(device.consumes, features):
        have = left.get((counter_set, counter), 0)
        if have < amount:
            return (
                f"counter {counter_set}/{counter}: {format_quantity(amount)} needed, "
                f"{format_quantity(max(have, 0))} left"
            )
    return ""


def _constrained(device: Device, pool: Pool, request: DeviceRequest, spec: ClaimSpec) -> list[str]:
    """The values that the claim's constraints look at."""
    found: list[str] = []
    for each in spec.constraints:
        attribute = each.match_attribute or each.distinct_attribute
        if not each.requests or request.name in {name.split("/")[0] for name in each.requests}:
            value = attribute_text(lookup(device.attributes, pool.id.driver, attribute))
            told = f"{attribute.rpartition('/')[2]}={value or 'absent'}"
            if told not in found:
                found.append(told)
    return found
