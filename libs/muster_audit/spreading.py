"""Topology spread of one pod over what runs already: the domains it may still go to."""

from collections.abc import Mapping

from muster_plan import ClusterNode, Snapshot
from muster_plan.kinds import Kind
from muster_plan.pods import Spread
from muster_types import NodeName


def allowed_domains(kind: Kind, snapshot: Snapshot) -> tuple[tuple[str, frozenset[str]], ...]:
    """For each spread constraint its label key and the values where one more pod keeps the skew."""
    return tuple((rule.topology_key, _allowed(rule, kind, snapshot)) for rule in kind.spec.spread)


def _allowed(rule: Spread, kind: Kind, snapshot: Snapshot) -> frozenset[str]:
    counts: dict[str, int] = {}
    nodes: dict[NodeName, str] = {}
    for key in sorted(snapshot.tables.nodes):
        node = snapshot.tables.nodes[key]
        value = node.labels.get(rule.topology_key)
        if value is not None and _counts(rule, kind, node):
            counts.setdefault(value, 0)
            nodes[node.name] = value
    for name, value in nodes.items():
        counts[value] += _matching(rule, kind, snapshot, name)
    least = 0 if len(counts) < rule.min_domains else min(counts.values(), default=0)
    own = 1 if rule.selects(kind.spec.labels) else 0
    return frozenset(value for value, count in counts.items() if count + own - least <= rule.max_skew)


def _counts(rule: Spread, kind: Kind, node: ClusterNode) -> bool:
    if rule.honor_affinity and not kind.spec.accepts_labels(node.labels, node.name):
        return False
    if not rule.honor_taints:
        return True
    return all(
        not taint.blocks or any(toleration.tolerates(taint) for toleration in kind.spec.tolerations)
        for taint in node.taints
    )


def _matching(rule: Spread, kind: Kind, snapshot: Snapshot, node: NodeName) -> int:
    nobody: Mapping[object, object] = {}
    if not snapshot.pods_by_node.get(node, nobody):
        return 0
    return sum(
        1
        for occupant in snapshot.usage(node).occupants
        if occupant.namespace == kind.spec.namespace and not occupant.terminating and rule.selects(occupant.labels)
    )
