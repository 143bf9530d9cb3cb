"""Label selectors and node selector terms (core/v1, meta/v1): who matches whom."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from muster_plan.reading import Reader

HOSTNAME = "kubernetes.io/hostname"

Labels = Mapping[str, str]


class Operator(Enum):
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


_OPERATORS = {operator.value: operator for operator in Operator}


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression over a label, or over the node's name in `matchFields`."""

    key: str
    operator: Operator
    values: tuple[str, ...]

    def matches(self, value: str | None) -> bool:
        """`value` is the label's value, None when the label is absent: then `NotIn` and `DoesNotExist` hold."""
        match self.operator:
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.GT | Operator.LT:
                found, bound = _integer(value), _integer(self.values[0])
                if found is None or bound is None:
                    return False
                return found > bound if self.operator is Operator.GT else found < bound

    def __str__(self) -> str:
        match self.operator:
            case Operator.EXISTS | Operator.DOES_NOT_EXIST:
                return f"{self.key} {self.operator.value}"
            case Operator.GT | Operator.LT:
                return f"{self.key} {self.operator.value} {self.values[0]}"
            case Operator.IN if len(self.values) == 1:
                return f"{self.key}={self.values[0]}"
            case _:
                return f"{self.key} {self.operator.value} ({', '.join(self.values)})"


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A meta/v1 LabelSelector: an empty one matches everything, a missing one (None where it is used) nothing."""

    requirements: tuple[Requirement, ...]

    def matches(self, labels: Labels) -> bool:
        return all(requirement.matches(labels.get(requirement.key)) for requirement in self.requirements)


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """One term of a node selector; the expressions of a term are ANDed, an empty term matches nothing."""

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]

    def matches(self, labels: Labels, name: str | None) -> bool:
        """`name` is None for a node that does not exist yet: no expression over the name holds for it."""
        if not self.labels and not self.fields:
            return False
        if self.fields and name is None:
            return False
        return all(r.matches(labels.get(r.key)) for r in self.labels) and all(r.matches(name) for r in self.fields)

    def __str__(self) -> str:
        return " and ".join(map(str, (*self.labels, *self.fields))) or "nothing"


@dataclass(frozen=True, slots=True)
class NodeSelector:
    """ORed terms; no term matches nothing."""

    terms: tuple[NodeTerm, ...]

    def matches(self, labels: Labels, name: str | None) -> bool:
        return any(term.matches(labels, name) for term in self.terms)

    def __str__(self) -> str:
        return " or ".join(map(str, self.terms)) or "nothing"


def read_label_selector(reader: Reader) -> LabelSelector:
    """Raises InvalidObject on an operator or a number of values that the API refuses."""
    exact = [Requirement(key, Operator.IN, (value,)) for key, value in sorted(reader.texts("matchLabels").items())]
    written = [_read_requirement(each, numeric=False) for each in reader.each("matchExpressions")]
    return LabelSelector((*exact, *written))


def read_node_selector(reader: Reader) -> NodeSelector:
    return NodeSelector(
        tuple(
            NodeTerm(
                tuple(_read_requirement(each, numeric=True) for each in term.each("matchExpressions")),
                tuple(_read_field(each) for each in term.each("matchFields")),
            )
            for term in reader.each("nodeSelectorTerms")
        )
    )


def _read_requirement(reader: Reader, *, numeric: bool) -> Requirement:
    key, word, values = reader.text("key"), reader.text("operator"), reader.strings("values")
    operator = _OPERATORS.get(word)
    if operator is None or (operator in (Operator.GT, Operator.LT) and not numeric):
        raise reader.fault("operator", f"unknown operator {word!r}")
    match operator:
        case Operator.IN | Operator.NOT_IN:
            if not values:
                raise reader.fault("values", f"{word} needs at least one value")
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            if values:
                raise reader.fault("values", f"{word} takes no values")
        case Operator.GT | Operator.LT:
            if len(values) != 1 or _integer(values[0]) is None:
                raise reader.fault("values", f"{word} needs exactly one integer, got {list(values)}")
    return Requirement(key, operator, values)


def _read_field(reader: Reader) -> Requirement:
    requirement = _read_requirement(reader, numeric=False)
    if requirement.key != "metadata.name":
        raise reader.fault("key", f"only metadata.name is a field of nodes, got {requirement.key!r}")
    if requirement.operator not in (Operator.IN, Operator.NOT_IN) or len(requirement.values) != 1:
        raise reader.fault("values", "a field takes In or NotIn with exactly one value")
    return requirement


def _integer(text: str | None) -> int | None:
    if text is None:
        return None
    digits = text[1:] if text[:1] in ("+", "-") else text
    return int(text) if digits.isascii() and digits.isdigit() else None
