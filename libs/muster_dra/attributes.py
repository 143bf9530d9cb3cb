"""Attribute values of devices, typed (resource.k8s.io/v1 DeviceAttribute, dra-semantics §1.4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class AttributeKind(Enum):
    """Which field of the union a device publishes; two kinds never compare equal."""

    INT = "int"
    BOOL = "bool"
    STRING = "string"
    VERSION = "version"
    INTS = "ints"
    BOOLS = "bools"
    STRINGS = "strings"
    VERSIONS = "versions"
    UNKNOWN = "unknown"  # no known field is set: a newer API, or a broken driver


Scalar = int | bool | str


@dataclass(frozen=True, slots=True)
class Attribute:
    """One value of one attribute. `value` is a scalar, a tuple of scalars for the list kinds, None for UNKNOWN.

    Versions keep their text: constraints compare it literally, CEL parses it (dra-semantics §3.5, §4.1).
    """

    kind: AttributeKind
    value: Scalar | tuple[Scalar, ...] | None


def qualified(name: str, driver: str) -> str:
    """The fully qualified form of a published name: a bare one belongs to the driver's domain (dra-semantics §1.1)."""
    return name if "/" in name else f"{driver}/{name}"


def lookup(attributes: Mapping[str, Attribute], driver: str, attribute: str) -> Attribute | None:
    """What a constraint on the fully qualified `attribute` sees: the exact key, else the driver's bare one (§3.5)."""
    found = attributes.get(attribute)
    if found is None:
        domain, _, name = attribute.partition("/")
        if domain == driver:
            found = attributes.get(name)
    return found
