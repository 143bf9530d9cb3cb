"""Required pod affinity: pods that must be where certain others are."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster_plan.gang import Gang
from muster_plan.kinds import Kind
from muster_plan.pods import AffinityTerm
from muster_plan.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Near:
    """A term that pods of the gang itself can meet: kind `kind` goes to domains with a running match (`existing`), with
    pods of `others`, or, where nobody runs and it selects itself (`own`), to one domain of its own choice."""

    kind: int
    key: str
    existing: frozenset[str]
    others: tuple[int, ...]
    own: bool


def near_rules(kinds: tuple[Kind, ...], gang: Gang, snapshot: Snapshot) -> tuple[Near, ...]:
    """One rule per term, in pod set order."""
    found: list[Near] = []
    for kind in kinds:
        for term in kind.spec.pod_affinity:
            selected = [other.index for other in kinds if _selects(term, other.spec.labels, gang.namespace, gang)]
            found.append(
                Near(
                    kind=kind.index,
                    key=term.topology_key,
                    existing=_running(term, gang, snapshot),
                    others=tuple(index for index in selected if index != kind.index),
                    own=kind.index in selected,
                )
            )
    return tuple(found)


def wanted_domains(
    rules: tuple[Near, ...], kinds: tuple[Kind, ...]
) -> tuple[tuple[tuple[str, frozenset[str]], ...], ...]:
    """Per kind the label values that its nodes must have, from terms that only running pods can meet."""
    return tuple(
        tuple(
            (rule.key, rule.existing)
            for rule in rules
            if rule.kind == kind.index and not rule.others and (rule.existing or not rule.own)
        )
        for kind in kinds
    )


def _running(term: AffinityTerm, gang: Gang, snapshot: Snapshot) -> frozenset[str]:
    found: set[str] = set()
    for name in sorted({*snapshot.pods_by_node, *snapshot.booked_by_node}):
        node = snapshot.node(name)
        value = None if node is None else node.labels.get(term.topology_key)
        if value is not None and any(
            not each.terminating and _selects(term, each.labels, each.namespace, gang)
            for each in snapshot.usage(name).occupants
        ):
            found.add(value)
    return frozenset(found)


def _selects(term: AffinityTerm, labels: Mapping[str, str], namespace: str, gang: Gang) -> bool:
    return term.selects(labels, namespace, gang.namespace)
