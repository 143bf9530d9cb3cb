"""Node selectors: which nodes a slice, a device, an allocation or a pod's affinity means (dra-semantics §1.1).

Terms are ORed, the requirements of a term ANDed; an empty term and an empty selector match nothing. A selector that
Kubernetes cannot parse is a value (`InvalidSelector`), because it is fatal only where it is reached.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from muster_dra.objects.nodes import Node
from muster_dra.reading import Fields


class Operator(Enum):
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement as written; `operator` keeps its text, an unknown one included."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    @property
    def identity(self) -> tuple[str, str, frozenset[str]]:
        """Two requirements that mean the same: the order of values does not count."""
        return self.key, self.operator, frozenset(self.values)

    def to_json(self) -> dict[str, object]:
        json: dict[str, object] = {"key": self.key, "operator": self.operator}
        if self.values:
            json["values"] = list(self.values)
        return json


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    def to_json(self) -> dict[str, object]:
        json: dict[str, object] = {}
        if self.expressions:
            json["matchExpressions"] = [requirement.to_json() for requirement in self.expressions]
        if self.fields:
            json["matchFields"] = [requirement.to_json() for requirement in self.fields]
        return json


@dataclass(frozen=True, slots=True)
class InvalidSelector:
    """Why Kubernetes refuses to evaluate a selector."""

    reason: str


@dataclass(frozen=True, slots=True)
class NodeSelector:
    terms: tuple[NodeSelectorTerm, ...] = ()

    @classmethod
    def only(cls, node: str) -> "NodeSelector":
        """The selector that pins to one node by name."""
        return cls((NodeSelectorTerm(fields=(Requirement("metadata.name", Operator.IN.value, (node,)),)),))

    def defect(self) -> InvalidSelector | None:
        """Why the selector cannot be evaluated on any node, or None."""
        for position, term in enumerate(self.terms):
            for index, requirement in enumerate(term.expressions):
                if reason := _defect(requirement):
                    return InvalidSelector(f"nodeSelectorTerms[{position}].matchExpressions[{index}]: {reason}")
            for index, requirement in enumerate(term.fields):
                if reason := _field_defect(requirement):
                    return InvalidSelector(f"nodeSelectorTerms[{position}].matchFields[{index}]: {reason}")
        return None

    def matches(self, node: Node) -> bool | InvalidSelector:
        """Whether the node is meant. A term without requirements matches nothing, an invalid one spoils the whole."""
        return self.defect() or any(
            (term.expressions or term.fields)
            and all(_holds(requirement, node.labels) for requirement in term.expressions)
            and all(_field_holds(requirement, node) for requirement in term.fields)
            for term in self.terms
        )

    def to_json(self) -> dict[str, object]:
        return {"nodeSelectorTerms": [term.to_json() for term in self.terms]}


def parse_node_selector(json: Fields) -> NodeSelector:
    """A NodeSelector of core/v1. Raises InvalidObject for wrong types only: wrong operators are kept as written."""
    return NodeSelector(
        tuple(
            NodeSelectorTerm(
                tuple(map(_requirement, term.children("matchExpressions"))),
                tuple(map(_requirement, term.children("matchFields"))),
            )
            for term in json.children("nodeSelectorTerms")
        )
    )


def _requirement(json: Fields) -> Requirement:
    return Requirement(json.text("key"), json.text("operator"), json.texts("values"))


def _defect(requirement: Requirement) -> str:
    values = requirement.values
    match requirement.operator:
        case "In" | "NotIn":
            return "" if values else f"{requirement.operator} wants at least one value"
        case "Exists" | "DoesNotExist":
            return f"{requirement.operator} takes no values" if values else ""
        case "Gt" | "Lt":
            if len(values) != 1:
                return f"{requirement.operator} wants exactly one value"
            return (
                "" if _integer(values[0]) is not None else f"{requirement.operator} wants an integer, got {values[0]!r}"
            )
        case unknown:
            return f"{unknown!r} is not a valid operator"


def _field_defect(requirement: Requirement) -> str:
    if requirement.key != "metadata.name":
        return f"{requirement.key!r} is not a valid field; only metadata.name is"
    if requirement.operator not in ("In", "NotIn"):
        return f"{requirement.operator!r} is not a valid operator for fields"
    return "" if len(requirement.values) == 1 else "a field wants exactly one value"


def _holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            found, bound = _integer(value or ""), _integer(requirement.values[0])
            if found is None or bound is None:
                return False
            return found > bound if requirement.operator == "Gt" else found < bound


def _field_holds(requirement: Requirement, node: Node) -> bool:
    return (node.name in requirement.values) == (requirement.operator == "In")


def _integer(text: str) -> int | None:
    """As Go's ParseInt(text, 10, 64): ASCII digits with an optional sign."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None
