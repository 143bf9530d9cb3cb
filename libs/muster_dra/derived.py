"""Attributes that a request derives from a device by expressions (KEP-6080, dra-semantics §3.11).

They stand before what the device publishes wherever a constraint looks at the devices of that request.
"""

from collections.abc import Mapping

from muster_dra.attributes import Attribute, AttributeKind, Scalar
from muster_dra.cel import CelEnvironment, CelError, CelErrorKind, DeviceView, compile_attribute
from muster_dra.cel.values import Value, type_name
from muster_dra.cel.versions import Semver
from muster_dra.objects.claims import DerivedAttribute
from muster_dra.selectors import SelectorError

_KINDS: Mapping[type, tuple[AttributeKind, AttributeKind]] = {
    bool: (AttributeKind.BOOL, AttributeKind.BOOLS),
    int: (AttributeKind.INT, AttributeKind.INTS),
    str: (AttributeKind.STRING, AttributeKind.STRINGS),
    Semver: (AttributeKind.VERSION, AttributeKind.VERSIONS),
}


def derive(
    wanted: tuple[DerivedAttribute, ...], device: DeviceView, environment: CelEnvironment
) -> Mapping[str, Attribute] | SelectorError:
    """The derived attributes by name, or what could not be compiled, evaluated, or be an attribute."""
    found: dict[str, Attribute] = {}
    for derived in wanted:
        expression = compile_attribute(derived.expression, environment)
        value = expression if isinstance(expression, CelError) else expression.value(device)
        attribute = value if isinstance(value, CelError) else _attribute(value)
        if isinstance(attribute, CelError):
            return SelectorError(f"derived attribute {derived.name}", attribute)
        found[derived.name] = attribute
    return found


def _attribute(value: Value) -> Attribute | CelError:
    elements = value if isinstance(value, tuple) else (value,)
    kinds = {type(element) for element in elements}
    if not elements:  # of no type: a constraint accepts it nowhere
        return Attribute(AttributeKind.UNKNOWN, None)
    if len(kinds) > 1 or not kinds <= _KINDS.keys():
        return CelError(CelErrorKind.RUNTIME, f"CEL result of type {type_name(value)} is no value of an attribute")
    scalar, several = _KINDS[kinds.pop()]
    scalars = tuple(_scalar(element) for element in elements)
    return Attribute(several, scalars) if isinstance(value, tuple) else Attribute(scalar, scalars[0])


def _scalar(value: Value) -> Scalar:
    if isinstance(value, Semver):
        return value.text
    if isinstance(value, bool | int | str):
        return value
    raise AssertionError(f"no scalar: {value!r}")
