"""Node selectors, label selectors and taints of Kubernetes (dra-semantics §1.1, §1.7)."""

from collections.abc import Mapping

from muster_kube.faults import Faults, check_labels, given, numbered
from muster_kube.names import dns_subdomain, label_key, label_value
from muster_kube.parts import mapping, sequence, text

_NODE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_NODE_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_DEVICE_EFFECTS = ("None", "NoSchedule", "NoExecute")


def check_node_selector(faults: Faults, field: str, selector: object, *, terms: int | None = None) -> None:
    """`nodeSelectorTerms`; `terms` is their number where the API fixes it."""
    given_terms = sequence(mapping(selector).get("nodeSelectorTerms"))
    path = f"{field}.nodeSelectorTerms"
    if terms is not None and len(given_terms) != terms:
        faults.add(path, f"it has {len(given_terms)} terms, exactly {terms} is allowed; join them into one")
    if not given_terms and terms is None:
        faults.add(path, "it is empty and matches no node; write a term")
    for at, term in numbered(given_terms, path):
        check_node_term(faults, at, term)


def check_node_term(faults: Faults, field: str, term: Mapping[str, object]) -> None:
    """One term: expressions over labels, and over `metadata.name`."""
    for at, expression in numbered(term.get("matchExpressions"), f"{field}.matchExpressions"):
        _check_expression(faults, at, expression, _NODE_OPERATORS)
    for at, expression in numbered(term.get("matchFields"), f"{field}.matchFields"):
        if expression.get("key") != "metadata.name":
            faults.add(f"{at}.key", f"{text(expression.get('key'))!r} cannot be matched; only metadata.name can")
        faults.one_of(f"{at}.operator", text(expression.get("operator")), ("In", "NotIn"))
        if len(sequence(expression.get("values"))) != 1:
            faults.add(f"{at}.values", "exactly one node name is allowed; use one term for each")


def check_label_selector(faults: Faults, field: str, selector: object) -> None:
    """`matchLabels` and `matchExpressions`."""
    check_labels(faults, f"{field}.matchLabels", mapping(selector).get("matchLabels"))
    for at, expression in numbered(mapping(selector).get("matchExpressions"), f"{field}.matchExpressions"):
        _check_expression(faults, at, expression, _LABEL_OPERATORS)


def _check_expression(faults: Faults, field: str, expression: Mapping[str, object], operators: tuple[str, ...]) -> None:
    faults.name(f"{field}.key", expression.get("key"), label_key)
    operator = text(expression.get("operator"))
    values = [text(value) for value in sequence(expression.get("values"))]
    faults.one_of(f"{field}.operator", operator, operators)
    if operator in ("In", "NotIn") and not values:
        faults.add(f"{field}.values", f"{operator} wants at least one value; write it")
    elif operator in ("Exists", "DoesNotExist") and values:
        faults.add(f"{field}.values", f"{operator} takes no values; remove them")
    elif operator in ("Gt", "Lt") and not (len(values) == 1 and _is_integer(values[0])):
        faults.add(f"{field}.values", f"{operator} wants exactly one whole number in quotes; write it")


def _is_integer(written: str) -> bool:
    digits = written.removeprefix("-").removeprefix("+")
    return digits.isascii() and digits.isdigit()


def check_node_taint(faults: Faults, field: str, taint: Mapping[str, object]) -> None:
    """A taint of a node."""
    faults.name(f"{field}.key", taint.get("key"), label_key)
    faults.optional_name(f"{field}.value", taint.get("value"), label_value)
    faults.one_of(f"{field}.effect", text(taint.get("effect")), _NODE_EFFECTS)


def check_device_taint(faults: Faults, field: str, taint: Mapping[str, object]) -> None:
    """A taint of a device; an effect of a later release acts as None (dra-semantics §1.7)."""
    faults.name(f"{field}.key", taint.get("key"), label_key)
    faults.optional_name(f"{field}.value", taint.get("value"), label_value)
    effect = text(taint.get("effect"))
    if not effect:
        faults.add(f"{field}.effect", f"it is missing; use one of {', '.join(_DEVICE_EFFECTS)}")
    elif effect not in _DEVICE_EFFECTS:
        faults.warn(f"{field}.effect", f"the effect {effect!r} is unknown and acts as None")


def check_toleration(faults: Faults, field: str, toleration: Mapping[str, object]) -> None:
    """A toleration of a pod or of a device request."""
    key, operator = text(toleration.get("key")), text(toleration.get("operator"))
    faults.optional_name(f"{field}.key", key, label_key)
    if operator not in ("", "Equal", "Exists", "Lt", "Gt"):
        faults.add(f"{field}.operator", f"{operator!r} is not known; use Equal or Exists")
    if not key and operator != "Exists":
        faults.add(f"{field}.operator", "without a key it must be Exists; write the key or Exists")
    if operator == "Exists" and given(toleration.get("value")):
        faults.add(f"{field}.value", "Exists takes no value; remove it")


def check_node_name(faults: Faults, field: str, value: object) -> None:
    """The name of a node."""
    faults.name(field, value, dns_subdomain)
