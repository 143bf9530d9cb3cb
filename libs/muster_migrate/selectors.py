"""Conditions on product labels of nodes, as CEL on what devices publish (labels: gpu-feature-discovery, AMD node
labeller, GKE, Karpenter; attributes: dra-semantics §1.15 and the drivers' documentation).

A condition is turned only where a rule is documented, or the dump shows that the label and the attribute say the same
on every node. All else stays a condition on nodes, with the reason.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster_migrate.catalogue import Query, attribute, quoted
from muster_migrate.evidence import Evidence, Published
from muster_migrate.label_rules import (
    INSTANCE_TYPES,
    INTEGER,
    NAMED_ATTRIBUTES,
    NODE_FACTS,
    PARTITION,
    PREFIXES,
    RULES,
    VENDORS,
    LabelRule,
)
from muster_migrate.remarks import Cause

_MOST_NAMES = 8
_GKE = "cloud.google.com/"


@dataclass(frozen=True, slots=True)
class Condition:
    """One requirement on a node label (core/v1 NodeSelectorRequirement; an entry of nodeSelector is `In` one value)."""

    key: str
    operator: str
    values: tuple[str, ...]

    def holds(self, value: str | None) -> bool:
        """As the scheduler judges a node whose label has this value, None when it has none."""
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                if value is None or not INTEGER.fullmatch(value) or not INTEGER.fullmatch(self.values[0]):
                    return False
                return int(value) > int(self.values[0]) if self.operator == "Gt" else int(value) < int(self.values[0])
            case _:
                return False

    def __str__(self) -> str:
        if self.operator == "In" and len(self.values) == 1:
            return f"{self.key}={self.values[0]}"
        return f"{self.key} {self.operator} {','.join(self.values)}".strip()


@dataclass(frozen=True, slots=True)
class Turned:
    """The condition as CEL; "" where every device of the claim meets it anyway."""

    expression: str
    why: str


@dataclass(frozen=True, slots=True)
class Stays:
    """The condition stays on the node."""

    cause: Cause
    why: str


def is_product_label(key: str) -> bool:
    """Whether a label says something about accelerators (or, for instance types, implies it)."""
    return key in RULES or key in NODE_FACTS or key in NAMED_ATTRIBUTES or key.startswith(PREFIXES)


def label_driver(key: str) -> str:
    """The driver whose devices a label is about; "" where the claims of the pod must tell."""
    rule = RULES.get(key)
    if rule is not None:
        return rule.driver
    for prefix, driver in VENDORS.items():
        if key.startswith(prefix):
            return driver
    return ""


def turn(condition: Condition, query: Query, evidence: Evidence) -> Turned | Stays:
    """One condition for the devices of one query."""
    known = evidence.remembered.get((condition, query))
    if not isinstance(known, Turned | Stays):
        known = _turned(condition, query, evidence)
        evidence.remembered[condition, query] = known
    return known


def _turned(condition: Condition, query: Query, evidence: Evidence) -> Turned | Stays:
    if condition.key in NODE_FACTS:
        return Stays(Cause.NODE_FACT, NODE_FACTS[condition.key])
    rule = RULES.get(condition.key)
    if rule is None:
        return _shown(condition, query, evidence)
    if condition.operator == "DoesNotExist":
        return Stays(Cause.NODE_FACT, "it asks for nodes without the label, which says nothing about a device")
    expression = _expression(condition, rule, _names(rule, query, evidence))
    if expression is None:
        return Stays(Cause.NO_ATTRIBUTE, f"no attribute of {rule.driver} says what {condition} says")
    return _tried(condition, Turned(expression, rule.why), query, evidence)


def partition_asked(condition: Condition) -> str | None:
    """The one MIG profile that a label asks for where `nvidia.com/gpu` counts partitions (MIG strategy single; GKE)."""
    if condition.operator != "In" or not condition.values:
        return None
    if condition.key == "cloud.google.com/gke-gpu-partition-size":
        return condition.values[0] if len(condition.values) == 1 else None
    if condition.key != "nvidia.com/gpu.product":
        return None
    found = {match["profile"] if (match := PARTITION.search(value)) else None for value in condition.values}
    return found.pop() if len(found) == 1 else None


def _expression(condition: Condition, rule: LabelRule, names: Sequence[str]) -> str | None:
    if condition.operator == "Exists":
        return ""
    if condition.operator in ("Gt", "Lt"):
        if rule.bound is None or len(condition.values) != 1 or not INTEGER.fullmatch(condition.values[0]):
            return None
        return rule.bound(condition.operator, int(condition.values[0]))
    parts = [rule.equal(value, names) for value in condition.values]
    found = [part for part in parts if part is not None]
    if len(found) != len(parts) or not found:
        return None
    joined = " || ".join(f"({part})" if "&&" in part and len(found) > 1 else part for part in found)
    if condition.operator == "In":
        return "" if "" in found else joined
    return None if "" in found else f"!({joined})"


def _tried(condition: Condition, turned: Turned, query: Query, evidence: Evidence) -> Turned | Stays:
    """Where the dump shows nodes with label and devices, both must say the same of every one of them."""
    labelled = any(condition.key in node.labels for node in evidence.nodes)
    for node in evidence.nodes if labelled else ():
        for each in evidence.matching(node.name, query):
            value = node.labels.get(condition.key)
            says = each.satisfies((turned.expression,)) if turned.expression else True
            if says is not condition.holds(value):
                label = "has no such label" if value is None else f"says {value}"
                found = "cannot be asked" if says is None else f"says {'yes' if says else 'no'}"
                why = f"node {node.name} {label}, but its device {each.device.name} {found} to {turned.expression!r}"
                return Stays(Cause.CONTRADICTED, why if turned.expression else f"node {node.name} {label}")
    return turned


def _shown(condition: Condition, query: Query, evidence: Evidence) -> Turned | Stays:
    """A label without a documented rule: an attribute that has the label's value on all nodes, or one name for each."""
    if condition.operator not in ("In", "NotIn"):
        return Stays(Cause.NO_ATTRIBUTE, f"{condition.operator} on this label has no documented attribute")
    if not evidence.given:
        return Stays(Cause.NO_ATTRIBUTE, "no attribute is documented to say the same; with --check a dump may show one")
    seen = {
        str(node.name): (node.labels.get(condition.key), evidence.matching(node.name, query)) for node in evidence.nodes
    }
    seen = {name: found for name, found in seen.items() if found[1]}
    values = {value for value, _ in seen.values() if value is not None}
    missing = [value for value in condition.values if value not in values]
    if missing:
        return Stays(Cause.NO_ATTRIBUTE, f"the dump shows no device on a node with {condition.key}={missing[0]}")
    driver = query.driver or next(each.driver for _, found in seen.values() for each in found)
    names = NAMED_ATTRIBUTES.get(condition.key, ())
    for name in (*_equal_attributes(seen, driver), *names):
        sorts = _sorts(seen, name)
        wanted = sorted({text for value in condition.values for text in sorts.get(value, ())})
        if not sorts or not wanted or len(wanted) > _MOST_NAMES:
            continue
        where = attribute(driver, name)
        expression = " || ".join(f"{where} == {quoted(text)}" for text in wanted)
        if condition.operator == "NotIn":
            expression = f"!({expression})"
        why = f"on every node of the dump {condition.key} and {name} tell the same devices apart"
        found = _tried(condition, Turned(expression, why), query, evidence)
        if isinstance(found, Turned):
            return found
    if condition.key in INSTANCE_TYPES:
        return Stays(Cause.NODE_FACT, "an instance type says more than its devices: CPUs, memory, network")
    return Stays(Cause.NO_ATTRIBUTE, "no attribute of the dump's devices says the same on every node")


def _equal_attributes(seen: Mapping[str, tuple[str | None, tuple[Published, ...]]], driver: str) -> list[str]:
    """String attributes that have the label's own value, spelling apart, on every device."""
    found: set[str] | None = None
    for value, devices in seen.values():
        for each in devices:
            if value is None or each.driver != driver:
                return []
            same = {name for name in each.device.attributes if _plain(each.text(name)) == _plain(value)}
            found = same if found is None else found & same
    return sorted(name for name in found or () if "/" not in name or name.startswith(f"{driver}/"))


def _sorts(seen: Mapping[str, tuple[str | None, tuple[Published, ...]]], name: str) -> dict[str, set[str]]:
    """Values of an attribute by value of the label; empty where one attribute value stands under two labels."""
    found: dict[str, set[str]] = {}
    owner: dict[str, str | None] = {}
    for value, devices in seen.values():
        for each in devices:
            text = each.text(name)
            if text is None or owner.setdefault(text, value) != value:
                return {}
            if value is not None:
                found.setdefault(value, set()).add(text)
    return found


def _plain(text: str | None) -> str | None:
    return None if text is None else re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _names(rule: LabelRule, query: Query, evidence: Evidence) -> tuple[str, ...]:
    if not rule.attribute:
        return ()
    found = {
        text
        for node in evidence.nodes
        for each in evidence.matching(node.name, query)
        if (text := each.text(rule.attribute)) is not None
    }
    return tuple(sorted(found))


def asks_for_shares(condition: Condition) -> bool:
    """Whether a condition wants nodes whose devices are sold several times over."""
    if condition.operator != "In":
        return False
    if condition.key == "nvidia.com/gpu.product":
        return any(value.endswith("-SHARED") for value in condition.values)
    if condition.key == "nvidia.com/gpu.replicas":
        return any(value not in ("0", "1") for value in condition.values)
    if condition.key == "nvidia.com/gpu.sharing-strategy":
        return any(value != "none" for value in condition.values)
    return condition.key in (f"{_GKE}gke-gpu-sharing-strategy", f"{_GKE}gke-max-shared-clients-per-gpu")
