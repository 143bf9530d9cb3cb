"""The one thing taken from muster_dra: what a CEL expression says of a device (§4)."""

from collections.abc import Mapping
from typing import Any

from muster_dra.attributes import Attribute, AttributeKind
from muster_dra.cel import CelEnvironment, CelError, DeviceView, Profile, compile_selector
from support.dra_reference.nodes import Ended
from support.dra_reference.pools import Published

_ENVIRONMENT = CelEnvironment(Profile("v1.37"), False)


def selected(expression: str, device: Published) -> bool:
    """Whether the expression holds. Raises Ended for one that does not compile or fails on the device."""
    compiled = compile_selector(expression, _ENVIRONMENT)
    found = compiled if isinstance(compiled, CelError) else compiled.matches(_view(device))
    if isinstance(found, CelError):
        raise Ended(f"{expression}: {found.message}")
    return found


def _view(device: Published) -> DeviceView:
    return DeviceView(
        device.pool[0],
        {name: _attribute(value) for name, value in (device.json.get("attributes") or {}).items()},
        {name: str(value["value"]) for name, value in (device.json.get("capacity") or {}).items()},
        device.shared,
    )


def _attribute(json: Mapping[str, Any]) -> Attribute:
    for kind in AttributeKind:
        if kind.value in json:
            value = json[kind.value]
            return Attribute(kind, tuple(value) if isinstance(value, list) else value)
    return Attribute(AttributeKind.UNKNOWN, None)
