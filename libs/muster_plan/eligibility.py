"""Which nodes a kind of pod may use at all, before room and devices are counted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from muster_dra import Node
from muster_plan.gang import Gang
from muster_plan.kinds import Kind
from muster_plan.labels import HOSTNAME
from muster_plan.nodes import Taint
from muster_plan.pods import AffinityTerm
from muster_plan.snapshot import Snapshot
from muster_plan.usage import Occupant
from muster_types import GangId

RESERVATION = "muster.dev/gang"
"""Key of the taint on nodes that are held for a gang; its value is the gang's id."""


class Barrier(Enum):
    """What keeps a kind off a node."""

    NOT_READY = "not ready"
    UNSCHEDULABLE = "cordoned"
    TAINT = "taint"
    SELECTOR = "selector"
    ANTI_AFFINITY = "anti-affinity"
    AFFINITY = "affinity"
    HOST_PORT = "host port"
    PINNED = "pinned elsewhere"
    NO_CLASS = "no device class"
    RESERVED = "held for another gang"


@dataclass(frozen=True, slots=True)
class Blocked:
    barrier: Barrier
    detail: str


@dataclass(frozen=True, slots=True)
class Site:
    """A place for pods as eligibility sees it: an existing node, or the next node of a group (`name` is None)."""

    node: Node
    name: str | None
    taints: tuple[Taint, ...]
    unschedulable: bool
    ready: bool

    @property
    def labels(self) -> Mapping[str, str]:
        return self.node.labels


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Where running pods stand in the way of kinds, and where they must be near: label key -> values, per kind."""

    refused: tuple[Mapping[str, frozenset[str]], ...]
    wanted: tuple[tuple[tuple[str, frozenset[str]], ...], ...]  # label values that running pods make necessary


def first_blocker(kind: Kind, site: Site, neighbours: Neighbours, gang: GangId) -> Blocked | None:
    """The first thing that keeps the kind off the site, None if nothing does. Room and devices are not looked at."""
    if site.unschedulable:
        return Blocked(Barrier.UNSCHEDULABLE, "the node is cordoned")
    if not site.ready:
        return Blocked(Barrier.NOT_READY, "the node is not ready")
    for taint in site.taints:
        if not taint.blocks:
            continue
        if taint.key == RESERVATION:
            if taint.value != gang:
                return Blocked(Barrier.RESERVED, f"held for gang {taint.value}")
        elif not any(toleration.tolerates(taint) for toleration in kind.spec.tolerations):
            return Blocked(Barrier.TAINT, f"taint {taint} is not tolerated")
    if not kind.spec.accepts_labels(site.labels, site.name):
        return Blocked(Barrier.SELECTOR, selector_text(kind))
    for key, values in neighbours.refused[kind.index].items():
        if site.labels.get(key) in values:
            return Blocked(Barrier.ANTI_AFFINITY, f"a running pod in {key}={site.labels[key]} forbids it")
    for key, values in neighbours.wanted[kind.index]:
        if site.labels.get(key) not in values:
            return Blocked(Barrier.AFFINITY, f"no pod that it must be near runs in its {key}")
    if kind.home and site.name != kind.home:
        return Blocked(Barrier.PINNED, f"running members hold it to node {kind.home}")
    for entry in kind.pod_set.shared_claims:
        existing = entry.claim.existing
        if existing is None or existing.allocation is None or existing.allocation.node_selector is None:
            continue
        if existing.allocation.node_selector.matches(site.node) is not True:
            return Blocked(Barrier.PINNED, f"claim {existing.name} is allocated elsewhere")
    return None


def selector_text(kind: Kind) -> str:
    parts = [f"{key}={value}" for key, value in sorted(kind.spec.node_selector.items())]
    if kind.spec.affinity is not None:
        parts.append(str(kind.spec.affinity))
    return "the pod wants " + " and ".join(parts)


def occupant_conflict(kind: Kind, occupants: Iterable[Occupant], namespace: str) -> Blocked | None:
    """What pods on the node itself forbid: host ports, and anti-affinity over the hostname."""
    for occupant in occupants:
        for theirs in occupant.host_ports:
            for ours in kind.spec.host_ports:
                if ours.collides(theirs):
                    return Blocked(Barrier.HOST_PORT, f"host port {ours.port}/{ours.protocol} is taken")
        terms = (
            *((term, occupant.labels, occupant.namespace, namespace) for term in kind.spec.anti_affinity),
            *((term, kind.spec.labels, namespace, occupant.namespace) for term in occupant.anti_affinity),
        )
        for term, labels, there, own in terms:
            if term.topology_key == HOSTNAME and term.selects(labels, there, own):
                return Blocked(Barrier.ANTI_AFFINITY, "a pod on the node forbids it")
    return None


def neighbours_of(
    kinds: tuple[Kind, ...],
    gang: Gang,
    snapshot: Snapshot,
    wanted: tuple[tuple[tuple[str, frozenset[str]], ...], ...],
) -> Neighbours:
    """Required anti-affinity between the gang and running pods, both ways: whole domains are refused.

    Over the hostname it is a matter of the node alone: `occupant_conflict`."""
    refused: list[dict[str, set[str]]] = [{} for _ in kinds]
    ours = any(kind.spec.anti_affinity for kind in kinds)
    for name in sorted({*snapshot.pods_by_node, *snapshot.booked_by_node}):
        node = snapshot.node(name)
        if node is None:
            continue
        for occupant in snapshot.usage(name).occupants:
            if not ours and not occupant.anti_affinity:
                continue
            for kind in kinds:
                terms = [
                    *(term for term in kind.spec.anti_affinity if _selects(term, occupant, gang.namespace)),
                    *(
                        term
                        for term in occupant.anti_affinity
                        if term.selects(kind.spec.labels, gang.namespace, occupant.namespace)
                    ),
                ]
                for term in terms:
                    value = node.labels.get(term.topology_key)
                    if value is not None and term.topology_key != HOSTNAME:
                        refused[kind.index].setdefault(term.topology_key, set()).add(value)
    return Neighbours(
        tuple({key: frozenset(values) for key, values in sorted(each.items())} for each in refused),
        wanted,
    )


def conflicts(kinds: tuple[Kind, ...], key: str) -> frozenset[tuple[int, int]]:
    """Pairs of kinds (lower index first, a kind may conflict with itself) whose pods refuse each other per `key`."""
    found: set[tuple[int, int]] = set()
    for one in kinds:
        for other in kinds:
            for term in one.spec.anti_affinity:
                namespace = one.spec.namespace
                if term.topology_key == key and term.selects(other.spec.labels, other.spec.namespace, namespace):
                    found.add((min(one.index, other.index), max(one.index, other.index)))
    if key == HOSTNAME:
        for one in kinds:
            for other in kinds[one.index :]:
                if any(mine.collides(theirs) for mine in one.spec.host_ports for theirs in other.spec.host_ports):
                    found.add((one.index, other.index))
    return frozenset(found)


def anti_affinity_keys(kinds: tuple[Kind, ...]) -> tuple[str, ...]:
    """Keys other than the hostname over which pods of the gang refuse each other."""
    keys = {term.topology_key for kind in kinds for term in kind.spec.anti_affinity} - {HOSTNAME}
    return tuple(key for key in sorted(keys) if conflicts(kinds, key))


def _selects(term: AffinityTerm, occupant: Occupant, namespace: str) -> bool:
    return term.selects(occupant.labels, occupant.namespace, namespace)
