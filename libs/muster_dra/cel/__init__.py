"""CEL of DRA selectors: `compile_selector(expression)` and `selector.matches(device)`; docs/decisions/0002-cel.md."""

from muster_dra.cel.device import DeviceView
from muster_dra.cel.environment import DEFAULT, CelEnvironment, Profile
from muster_dra.cel.selector import CelError, CelErrorKind, Selector, compile_attribute, compile_selector

__all__ = [
    "DEFAULT",
    "CelEnvironment",
    "CelError",
    "CelErrorKind",
    "DeviceView",
    "Profile",
    "Selector",
    "compile_attribute",
    "compile_selector",
]
