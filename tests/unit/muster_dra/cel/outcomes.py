"""Devices and answers for the tests of selectors."""

import re
from collections.abc import Mapping

from muster_dra.attributes import Attribute, AttributeKind, Scalar
from muster_dra.cel import DEFAULT, CelEnvironment, CelError, DeviceView, compile_selector

DOMAIN = "gpu.example.com"


def an_attribute(value: Scalar | tuple[Scalar, ...]) -> Attribute:
    """An attribute of the kind that a Python value suggests."""
    if isinstance(value, tuple):
        kinds = {bool: AttributeKind.BOOLS, int: AttributeKind.INTS, str: AttributeKind.STRINGS}
        return Attribute(kinds[type(value[0])] if value else AttributeKind.INTS, value)
    kinds = {bool: AttributeKind.BOOL, int: AttributeKind.INT, str: AttributeKind.STRING}
    return Attribute(kinds[type(value)], value)


def a_version(text: str) -> Attribute:
    """A version attribute."""
    return Attribute(AttributeKind.VERSION, text)


def a_device(
    attributes: Mapping[str, Attribute] | None = None,
    capacity: Mapping[str, str] | None = None,
    *,
    driver: str = DOMAIN,
    shared: bool = False,
) -> DeviceView:
    """A device of the driver gpu.example.com."""
    return DeviceView(driver, attributes or {}, capacity or {}, shared)


EXAMPLE = a_device(
    {
        "model": an_attribute("A100"),
        "ecc": an_attribute(True),
        "index": an_attribute(0),
        "driverVersion": a_version("550.54.0"),
        "links": an_attribute((1, 2)),
        "resource.kubernetes.io/pcieRoot": an_attribute("pci0000:17"),
    },
    {"memory": "40Gi"},
)
"""The device of dra-semantics §4.5."""


_SHORT = re.compile(r"""(?<![\w."'^])[AC](?=[.\[\s,)]|$)""")
_FIELDS = {"A": "attributes", "C": "capacity"}


def expand(expression: str) -> str:
    """An expression with `A` and `C` written out, the abbreviations of dra-semantics §4.5."""
    return _SHORT.sub(lambda found: f'device.{_FIELDS[found[0]]}["{DOMAIN}"]', expression)


def outcome(expression: str, device: DeviceView = EXAMPLE, environment: CelEnvironment = DEFAULT) -> str:
    """How an expression ends, in the words of shared/corpus; `A` and `C` as in dra-semantics §4.5."""
    return written_outcome(expand(expression), device, environment)


def written_outcome(expression: str, device: DeviceView, environment: CelEnvironment = DEFAULT) -> str:
    """How an expression ends that is taken as written."""
    selector = compile_selector(expression, environment)
    if isinstance(selector, CelError):
        return selector.kind.value
    answer = selector.matches(device)
    if isinstance(answer, CelError):
        return answer.kind.value
    return "true" if answer else "false"


def complaint(expression: str, device: DeviceView = EXAMPLE, environment: CelEnvironment = DEFAULT) -> str:
    """The message of the error that an expression ends with; empty if it has an answer."""
    selector = compile_selector(expand(expression), environment)
    answer = selector if isinstance(selector, CelError) else selector.matches(device)
    return answer.message if isinstance(answer, CelError) else ""
