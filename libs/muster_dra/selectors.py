"""CEL selectors of classes and requests, compiled once for a catalogue (dra-semantics §3.4 step 2, §4)."""

import re
from dataclasses import dataclass

from muster_dra.attributes import AttributeKind
from muster_dra.cel import CelEnvironment, CelError, DeviceView, Profile, Selector, compile_selector
from muster_dra.features import Features
from muster_dra.objects.slices import Device

_DRIVER_ALONE = re.compile(r"""\s*device\.driver\s*==\s*["']([-a-z0-9.]*)["']\s*""", re.ASCII)
_PLAIN = (AttributeKind.STRING, AttributeKind.INT, AttributeKind.BOOL)


@dataclass(frozen=True, slots=True)
class SelectorError:
    """An expression that could not be compiled or evaluated; fatal where it is reached."""

    place: str
    error: CelError

    def sentence(self) -> str:
        return f"{self.place}: CEL {self.error.kind.value}: {self.error.message}"


@dataclass(frozen=True, slots=True)
class CompiledSelectors:
    """The selectors of one request: those of its class first. `place` says whose each is."""

    selectors: tuple[tuple[str, str, Selector | CelError], ...]

    def beyond_driver(self, driver: str) -> "CompiledSelectors | None":
        """What is left to ask of a plain device of the driver; None: nothing, it is refused.

        Most classes ask for a driver and nothing else, which needs no expression to be evaluated.
        """
        for index, (_, expression, _) in enumerate(self.selectors):
            found = _DRIVER_ALONE.fullmatch(expression)
            if found is None:
                return CompiledSelectors(self.selectors[index:])
            if found[1] != driver:
                return None
        return CompiledSelectors(())

    def light(self) -> bool:
        """Whether their cost need not be counted on devices within the limits of the API."""
        return all(isinstance(selector, CelError) or selector.light for _, _, selector in self.selectors)

    def weigh(self, device: DeviceView) -> "tuple[bool | SelectorError, int]":
        """As `match`, with what it cost."""
        total = 0
        for place, _, selector in self.selectors:
            found, cost = (selector, 0) if isinstance(selector, CelError) else selector.weigh(device)
            total += cost
            if isinstance(found, CelError):
                return SelectorError(place, found), total
            if not found:
                return False, total
        return True, total

    def match(self, device: DeviceView) -> bool | SelectorError:
        """In order; the first false decides, and protects those behind it from being evaluated."""
        for place, _, selector in self.selectors:
            found = selector if isinstance(selector, CelError) else selector.matches(device)
            if isinstance(found, CelError):
                return SelectorError(place, found)
            if not found:
                return False
        return True


def compile_selectors(expressions: tuple[tuple[str, str], ...], environment: CelEnvironment) -> CompiledSelectors:
    """From pairs of place and expression."""
    return CompiledSelectors(
        tuple((place, expression, compile_selector(expression, environment)) for place, expression in expressions)
    )


def is_plain(device: Device) -> bool:
    """Whether expressions can be evaluated on the device for certain: no versions, lists or values of unknown type."""
    return all(attribute.kind in _PLAIN for attribute in device.attributes.values())


def device_view(driver: str, device: Device) -> DeviceView:
    """The device as an expression sees it: total capacity, no name, no pool."""
    return DeviceView(
        driver,
        device.attributes,
        {name: capacity.value.written for name, capacity in device.capacity.items()},
        device.allow_multiple_allocations,
    )


def environment_of(features: Features) -> CelEnvironment:
    """The expression environment of a release and its gates (dra-semantics §4.1, D5)."""
    return CelEnvironment(Profile(features.release.value), features.list_type_attributes)
