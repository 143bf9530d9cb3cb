"""Topology constraints of a gang as sets of kinds over label keys."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster_plan.affinity import Near
from muster_plan.eligibility import conflicts
from muster_plan.gang import Gang
from muster_plan.kinds import Kind
from muster_plan.labels import HOSTNAME
from muster_plan.pods import Spread
from muster_plan.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Scope:
    """All placed pods of these kinds are in one domain of the key. `pinned`: the values that running members allow."""

    kinds: tuple[int, ...]
    key: str
    pinned: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Layer:
    """In each domain of the key the pods of the kind are a multiple of the size."""

    kind: int
    key: str
    size: int


@dataclass(frozen=True, slots=True)
class SpreadRule:
    """A kind's spread constraint, counted out: `base` pods per existing domain; `counted` are the kinds it selects."""

    kind: int
    rule: Spread
    base: Mapping[str, int]
    counted: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HostSpread:
    """A spread constraint over hosts: pods of the counted kinds on one node, `base` included, stay within `ceiling`.

    The emptiest host is taken as it is today, so the bound is safe but may be stricter than the scheduler.
    """

    kind: int
    counted: tuple[int, ...]
    base: Mapping[str, int]
    ceiling: int


@dataclass(frozen=True, slots=True)
class Apart:
    """Two kinds (or pods of one kind) that may not share a domain of the key."""

    key: str
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Topologies:
    scopes: tuple[Scope, ...]
    layers: tuple[Layer, ...]
    spreads: tuple[SpreadRule, ...]
    apart: tuple[Apart, ...]
    near: tuple[Near, ...] = ()  # only those that pods of other pod sets can meet
    preferred: tuple[Scope, ...] = ()
    kept: tuple[str, ...] = ()  # keys to keep telling apart although no rule needs them

    @property
    def keys(self) -> tuple[str, ...]:
        """Label keys other than the hostname that tell domains apart."""
        keys = {each.key for each in (*self.scopes, *self.layers, *self.apart, *self.near, *self.preferred)}
        keys |= {each.rule.topology_key for each in self.spreads}
        return tuple(sorted({*keys, *self.kept} - {HOSTNAME}))


def topologies_of(gang: Gang, kinds: tuple[Kind, ...], snapshot: Snapshot, near: tuple[Near, ...] = ()) -> Topologies:
    keys = sorted({term.topology_key for kind in kinds for term in kind.spec.anti_affinity} - {HOSTNAME})
    return Topologies(
        scopes=(*_scopes(gang, kinds, snapshot), *_rooted(near)),
        layers=tuple(
            Layer(kind.index, layer.key, layer.size)
            for kind in kinds
            for layer in kind.pod_set.topology.layers
            if layer.key != HOSTNAME
        ),
        spreads=tuple(_counted(kind, rule, kinds, gang, snapshot) for kind in kinds for rule in kind.spec.spread),
        apart=tuple(Apart(key, a, b) for key in keys for a, b in sorted(conflicts(kinds, key))),
        near=tuple(rule for rule in near if rule.others),
        preferred=_preferred(kinds),
    )


def host_spreads(topologies: Topologies, *, growing: bool) -> tuple[HostSpread, ...]:
    """Spread over hosts. `growing`: new nodes may come, and they come empty."""
    found: list[HostSpread] = []
    for each in topologies.spreads:
        if each.rule.topology_key == HOSTNAME:
            few = growing or len(each.base) < each.rule.min_domains
            emptiest = 0 if few else min(each.base.values(), default=0)
            found.append(HostSpread(each.kind, each.counted, each.base, emptiest + each.rule.max_skew))
    return tuple(found)


def _rooted(near: tuple[Near, ...]) -> tuple[Scope, ...]:
    """Pods that want each other, with nobody there yet: the first chooses the domain, the rest follow."""
    return tuple(Scope((rule.kind,), rule.key) for rule in near if rule.own and not rule.existing and not rule.others)


def _preferred(kinds: tuple[Kind, ...]) -> tuple[Scope, ...]:
    together: dict[tuple[str, str], list[int]] = {}
    for kind in kinds:
        topology = kind.pod_set.topology
        if topology.preferred and topology.preferred != HOSTNAME:
            name = f"group {topology.group}" if topology.group else f"set {kind.index}"
            together.setdefault((topology.preferred, name), []).append(kind.index)
    return tuple(Scope(tuple(members), key) for (key, _), members in sorted(together.items()))


def _scopes(gang: Gang, kinds: tuple[Kind, ...], snapshot: Snapshot) -> tuple[Scope, ...]:
    """Kueue's annotations and the topology of PodGroups; scopes that say the same once."""
    together: dict[tuple[str, str], list[int]] = {}
    for kind in kinds:
        topology = kind.pod_set.topology
        if not topology.required:
            continue
        name = "request" if gang.one_domain else f"group {topology.group}" if topology.group else f"set {kind.index}"
        together.setdefault((topology.required, name), []).append(kind.index)
    for name in sorted(gang.pod_groups):
        members = [kind.index for kind in kinds if kind.spec.pod_group == name]
        for key in gang.pod_groups[name].topology_keys:
            together.setdefault((key, f"pod group {name}"), []).extend(members)
    found = {
        Scope(tuple(members), key, _pinned([kinds[index].name for index in members], key, gang, snapshot))
        for (key, _), members in together.items()
    }
    return tuple(sorted(found, key=lambda scope: (scope.key, scope.kinds)))


def _pinned(names: list[str], key: str, gang: Gang, snapshot: Snapshot) -> frozenset[str] | None:
    """The domains of running members; None where none of the pod sets has one."""
    nodes = [snapshot.node(each.node) for each in gang.running if each.pod_set in names]
    if not nodes:
        return None
    return frozenset(node.labels[key] for node in nodes if node is not None and key in node.labels)


def _counted(kind: Kind, rule: Spread, kinds: tuple[Kind, ...], gang: Gang, snapshot: Snapshot) -> SpreadRule:
    """Domains are the values on existing nodes that match the pod's selector and affinity, whatever their state."""
    base: dict[str, int] = {}
    nodes = snapshot.tables.nodes
    for key in sorted(nodes):
        node = nodes[key]
        value = node.labels.get(rule.topology_key)
        if value is None:
            continue
        if rule.honor_affinity and not kind.spec.accepts_labels(node.labels, node.name):
            continue
        if rule.honor_taints and any(
            taint.blocks and not any(each.tolerates(taint) for each in kind.spec.tolerations) for taint in node.taints
        ):
            continue
        running = sum(
            1
            for occupant in snapshot.usage(node.name).occupants
            if occupant.namespace == gang.namespace and not occupant.terminating and rule.selects(occupant.labels)
        )
        base[value] = base.get(value, 0) + running
    counted = tuple(other.index for other in kinds if rule.selects(other.spec.labels))
    return SpreadRule(kind.index, rule, base, counted)
