"""Devices that a template promises: attributes nobody knows before boot become symbols (group-capacity §8.3 C4, C5).

A binding gives its devices one symbol of their own, so `matchAttribute` holds inside a binding and across no two.
A unique attribute gives each device a symbol, so `distinctAttribute` holds. Whether two bindings will differ nobody
knows either: a `distinctAttribute` over a bound attribute is turned to a shadow attribute that is equal everywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from muster_dra import Attribute, AttributeKind, ClaimSpec, Device, NodePlace, PoolId, ResourceSlice, parse_slice
from muster_plan.node_groups import AttributeBinding, NodeTemplate
from muster_types import DeviceId, NodeName

_SHADOW = "unknown.muster.dev/"
_NUMBERS_FROM = 2**62  # 64 bits hold it, and no driver publishes it


@dataclass(frozen=True, slots=True)
class Promise:
    """The slices of one potential node; its pools carry the node's name before their own. `bound`: bound attributes."""

    node: NodeName
    slices: tuple[ResourceSlice, ...]
    bound: frozenset[str]

    def as_written(self, device: DeviceId) -> DeviceId:
        """The device as the template names it; one of a cluster-wide pool stays."""
        prefix = f"{self.node}/"
        if not device.pool.startswith(prefix):
            return device
        return replace(device, pool=device.pool.removeprefix(prefix))

    def careful(self, spec: ClaimSpec) -> ClaimSpec:
        """The claim as it must be asked of the promise."""
        if not any(constraint.distinct_attribute in self.bound for constraint in spec.constraints):
            return spec
        return replace(
            spec,
            constraints=tuple(
                replace(each, distinct_attribute=_shadow(each.distinct_attribute))
                if each.distinct_attribute in self.bound
                else each
                for each in spec.constraints
            ),
        )


def promise_of(node: NodeName, template: NodeTemplate) -> Promise:
    """Raises InvalidObject for slices that cannot be read."""
    slices: list[ResourceSlice] = []
    for index, spec in enumerate(template.slices or ()):
        # the name keeps the template's order, which is the order of first fit inside a pool
        body: Mapping[str, object] = {"metadata": {"name": f"{node}/{index:04d}"}, "spec": spec}
        read = parse_slice(body)
        pool = PoolId(read.pool.driver, f"{node}/{read.pool.name}")
        devices = tuple(replace(device, place=NodePlace()) for device in read.devices)
        slices.append(replace(read, pool=pool, place=NodePlace(node_name=node), per_device_nodes=None, devices=devices))
    symbols = _Symbols(template)
    return Promise(
        node,
        tuple(
            replace(each, devices=tuple(symbols.applied(device, each) for device in each.devices)) for each in slices
        ),
        frozenset(binding.attribute for binding in template.bindings),
    )


@dataclass(slots=True)
class _Symbols:
    template: NodeTemplate
    numbers: dict[str, int] = field(default_factory=dict[str, int])

    def applied(self, device: Device, slice_: ResourceSlice) -> Device:
        attributes = dict(device.attributes)
        driver = slice_.pool.driver
        identity = f"{driver}/{slice_.pool.name}/{device.name}"
        for name in self.template.unique_attributes:
            key = attribute_key(attributes, driver, name)
            if key is not None:
                attributes[key] = self._symbol(f"unique {identity}", attributes[key])
        for attribute, index, devices in _merged(self.template.bindings):
            if device.name not in devices:
                continue
            key = attribute_key(attributes, driver, attribute)
            before = attributes.get(key) if key is not None else None
            attributes[key or _own(attribute, driver)] = self._symbol(f"binding {index}", before)
            attributes[_shadow(attribute)] = Attribute(AttributeKind.STRING, "unknown")
        for binding in self.template.bindings:
            key = attribute_key(attributes, driver, binding.attribute)
            if key is not None:
                attributes.setdefault(_shadow(binding.attribute), attributes[key])
        return replace(device, attributes=attributes)

    def _symbol(self, text: str, before: Attribute | None) -> Attribute:
        """A value of its own of the same type; a boolean cannot have one and stays as written."""
        number = _NUMBERS_FROM + self.numbers.setdefault(text, len(self.numbers))
        match None if before is None else before.kind:
            case AttributeKind.INT as kind:
                return Attribute(kind, number)
            case AttributeKind.VERSION as kind:
                return Attribute(kind, f"0.0.0-{number}")
            case AttributeKind.STRINGS as kind:
                return Attribute(kind, (text,))
            case AttributeKind.INTS as kind:
                return Attribute(kind, (number,))
            case AttributeKind.VERSIONS as kind:
                return Attribute(kind, (f"0.0.0-{number}",))
            case AttributeKind.BOOL | AttributeKind.BOOLS if before is not None:
                return before
            case _:
                return Attribute(AttributeKind.STRING, text)


def _merged(bindings: Sequence[AttributeBinding]) -> tuple[tuple[str, int, frozenset[str]], ...]:
    """Bindings of one attribute that name a common device are one: sharing a value is transitive."""
    found: list[tuple[str, set[str]]] = []
    for binding in bindings:
        devices = set(binding.devices)
        rest: list[tuple[str, set[str]]] = []
        for attribute, others in found:
            if attribute == binding.attribute and devices & others:
                devices |= others
            else:
                rest.append((attribute, others))
        found = [*rest, (binding.attribute, devices)]
    return tuple((attribute, index, frozenset(devices)) for index, (attribute, devices) in enumerate(found))


def attribute_key(attributes: Mapping[str, object], driver: str, name: str) -> str | None:
    """The key under which a device lists an attribute: as written, or bare for the driver's own domain."""
    if name in attributes:
        return name
    domain, slash, own = name.partition("/")
    if slash and domain == driver and own in attributes:
        return own
    qualified = f"{driver}/{name}"
    return qualified if not slash and qualified in attributes else None


def _own(name: str, driver: str) -> str:
    domain, slash, own = name.partition("/")
    return own if slash and domain == driver else name


def _shadow(attribute: str) -> str:
    return _SHADOW + attribute.replace("/", "_")
