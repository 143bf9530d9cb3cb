"""Conditions across the devices of one claim, with exact undo: the slow, obvious form (dra-semantics §3.5)."""

from collections.abc import Mapping
from types import MappingProxyType

from muster_dra.attributes import Attribute, AttributeKind, Scalar, lookup
from muster_dra.features import Features
from muster_dra.objects.slices import Device
from muster_dra.prepare import PreparedConstraint

_SCALARS = (AttributeKind.STRING, AttributeKind.INT, AttributeKind.BOOL, AttributeKind.VERSION)
_ELEMENT = {
    AttributeKind.STRINGS: AttributeKind.STRING,
    AttributeKind.INTS: AttributeKind.INT,
    AttributeKind.BOOLS: AttributeKind.BOOL,
    AttributeKind.VERSIONS: AttributeKind.VERSION,
}

NONE_DERIVED: Mapping[str, Attribute] = MappingProxyType({})
Values = tuple[AttributeKind, frozenset[Scalar]]


def values_of(attribute: Attribute) -> Values | None:
    """An attribute as a typed set; a scalar is a set of one. None: no known type, or an empty list."""
    value = attribute.value
    if isinstance(value, tuple):
        return (_ELEMENT[attribute.kind], frozenset(value)) if value else None
    return None if value is None else (attribute.kind, frozenset((value,)))


class ConstraintState:
    """What a constraint remembers of the devices it accepted. `add` and `remove` are called in strict nesting."""

    def __init__(self, constraint: PreparedConstraint, features: Features) -> None:
        self._constraint, self._features = constraint, features
        self._accepted: list[Attribute] = []
        self._running: list[Values] = []
        self._by_request: dict[str, Attribute] = {}  # what 1.36 remembers of a distinct constraint (D3)

    def add(self, request: str, driver: str, device: Device, derived: Mapping[str, Attribute] = NONE_DERIVED) -> bool:
        """Whether the constraint accepts the device beside those it has; remembers it if so."""
        name = self._constraint.attribute
        attribute = derived.get(name) or lookup(device.attributes, driver, name)
        if attribute is None:
            return False
        accepted = (
            self._accepts_set(attribute) if self._features.list_type_attributes else self._accepts_scalar(attribute)
        )
        if accepted:
            self._accepted.append(attribute)
            self._by_request[request] = attribute
        return accepted

    def remove(self, request: str) -> None:
        """Forgets the device that was accepted last."""
        self._accepted.pop()
        self._by_request.pop(request, None)
        if self._running:
            self._running.pop()

    def _accepts_scalar(self, attribute: Attribute) -> bool:
        if not self._accepted:
            return True
        if attribute.kind not in _SCALARS:
            return False
        if not self._constraint.distinct:
            return self._accepted[0] == attribute
        remembered = self._by_request.values() if self._features.forgetful_distinct else self._accepted
        return attribute not in remembered

    def _accepts_set(self, attribute: Attribute) -> bool:
        found = values_of(attribute)
        if found is None:
            return False
        kind, values = found
        if self._constraint.distinct:
            others = [values_of(earlier) for earlier in self._accepted]
            return all(other is None or other[0] is not kind or not other[1] & values for other in others)
        if self._running:
            common_kind, common = self._running[-1]
            if kind is not common_kind or not common & values:
                return False
            values = common & values
        self._running.append((kind, values))
        return True
