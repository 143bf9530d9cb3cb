"""The environment that selectors are compiled and evaluated in (dra-semantics §4.2, D5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from muster_dra.cel.types import ANY, BOOL, DYN, STRING, Kind, Type, map_of, parse_type

DEVICE_TYPE = Type(Kind.NULLABLE, "kubernetes.DRADevice")


class Profile(Enum):
    """The release of Kubernetes whose scheduler is followed."""

    V1_36 = "v1.36"
    V1_37 = "v1.37"


@dataclass(frozen=True, slots=True)
class CelEnvironment:
    """A profile, and whether the gate DRAListTypeAttributes is on.

    The gate matters to 1.36 only (D5): off, list attributes can't be read, and attributes have the type `any`.
    """

    profile: Profile = Profile.V1_37
    list_attributes: bool = False

    @property
    def reads_lists(self) -> bool:
        """Whether a device with a list attribute can be evaluated at all."""
        return self.profile is Profile.V1_37 or self.list_attributes

    @property
    def attribute_type(self) -> Type:
        """The static type of an attribute."""
        return DYN if self.reads_lists else ANY

    @property
    def variables(self) -> Mapping[str, Type]:
        """The variables, by name."""
        return {"device": DEVICE_TYPE}

    @property
    def messages(self) -> Mapping[str, Mapping[str, Type]]:
        """The fields of each message type, by its name."""
        return _MESSAGES[self.attribute_type]


def _messages(attribute: Type) -> Mapping[str, Mapping[str, Type]]:
    attributes = map_of(STRING, map_of(STRING, attribute))
    capacity = map_of(STRING, map_of(STRING, parse_type("kubernetes.Quantity")))
    fields = {"driver": STRING, "attributes": attributes, "capacity": capacity, "allowMultipleAllocations": BOOL}
    return {DEVICE_TYPE.name: fields}


_MESSAGES = {attribute: _messages(attribute) for attribute in (DYN, ANY)}

DEFAULT = CelEnvironment()
