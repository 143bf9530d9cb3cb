"""Proof on a dump: where did the old form of a pod fit, where does the new one, and is any device sold twice?

Every node is judged as if it were empty: which devices the integers of running pods are, nobody can tell on a node that
has both forms, so the capacity of the whole node is what the two forms are compared by.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from muster_dra import (
    Allocation,
    Catalog,
    ClaimSpec,
    Fatal,
    NodeError,
    NoFit,
    Outcome,
    ResourceClaim,
    allocate,
    parse_claim_template,
)
from muster_migrate.catalogue import Query
from muster_migrate.edits import Json
from muster_migrate.evidence import EMPTY, Evidence
from muster_migrate.extended import pod_claim, read_classes
from muster_migrate.objects import Migration
from muster_migrate.pods import PodMigration
from muster_migrate.writing import claim_template, device_class
from muster_plan import ClusterNode, PodSpec, parse_pod_template
from muster_types import NANO, Nano

_PODS = "pods"


class Fit(StrEnum):
    """How the two forms of a pod compare on one node."""

    BOTH = "both"
    NEITHER = "neither"
    ONLY_OLD = "only-old"  # the new form is narrower
    ONLY_NEW = "only-new"  # the new form is wider, although the node offers the integers
    NOT_PUBLISHED = "not-published"  # the integers are there, no driver publishes devices for them yet
    SWITCHED = "switched"  # the new form fits, and the node offers no integers (any more)


@dataclass(frozen=True, slots=True)
class NodeFit:
    """One node; `why` says what keeps one of the forms off."""

    node: str
    fit: Fit
    why: str = ""


@dataclass(frozen=True, slots=True)
class PodCheck:
    """One pod of one object over all nodes of the dump; `role` tells the pods of an object apart."""

    subject: str
    role: str
    nodes: tuple[NodeFit, ...]

    def of(self, *fits: Fit) -> tuple[NodeFit, ...]:
        """The nodes where the forms compare so."""
        return tuple(each for each in self.nodes if each.fit in fits)

    @property
    def nowhere(self) -> bool:
        """No node of the dump takes the pod in any form: there is nothing that it could be compared on."""
        return not self.of(Fit.BOTH, Fit.SWITCHED, Fit.ONLY_OLD, Fit.ONLY_NEW, Fit.NOT_PUBLISHED)

    @property
    def proven(self) -> bool:
        """On every node both forms fit or neither does, or the node is one that has been switched over."""
        return not self.of(Fit.ONLY_OLD, Fit.ONLY_NEW, Fit.NOT_PUBLISHED)


@dataclass(frozen=True, slots=True)
class SoldTwice:
    """A node that offers the same devices as integers and through slices. `pods` hold such integers there now."""

    node: str
    resource: str
    integers: int
    devices: int
    pods: tuple[str, ...]

    def sentence(self) -> str:
        """For a person, with the way out."""
        held = f"; {', '.join(self.pods[:3])}{' …' if len(self.pods) > 3 else ''} hold some now" if self.pods else ""
        return (
            f"node {self.node} offers {self.integers} {self.resource} and {self.devices} devices for it: the same "
            f"hardware, sold twice{held}; when no pod there holds integers any more, switch its device plugin off "
            "before a claim goes there"
        )


@dataclass(frozen=True, slots=True)
class Check:
    """What a dump says about a migration."""

    pods: tuple[PodCheck, ...]
    sold_twice: tuple[SoldTwice, ...]

    @property
    def proven(self) -> bool:
        """The new form fits wherever the old one does, and on no node that refuses the old one."""
        return all(each.proven for each in self.pods)

    @property
    def passed(self) -> bool:
        """Proven, and nothing is sold twice."""
        return self.proven and not self.sold_twice


def check_migration(migration: Migration, evidence: Evidence) -> Check:
    """Compare the two forms of every migrated pod on every node of the dump. Raises InvalidObject for a broken pod."""
    catalog = _catalog(migration, evidence)
    checks: list[PodCheck] = []
    queries: dict[str, Query] = {}
    forms: dict[Hashable, ClaimSpec] = {}
    for each in migration.objects:
        for pod in each.pods:
            if not pod.queries:
                continue
            queries.update(pod.meant)
            checks.append(_pod_check(pod, migration.extended, evidence, catalog, forms))
    return Check(tuple(checks), sold_twice(queries, evidence))


def sold_twice(queries: Mapping[str, Query], evidence: Evidence) -> tuple[SoldTwice, ...]:
    """Nodes that offer a resource as integers while a driver publishes its devices there.

    Where the count of the node's own label says that there is hardware for both together, they are different devices.
    """
    found: list[SoldTwice] = []
    for node in evidence.nodes:
        for resource, query in sorted(queries.items()):
            integers = evidence.offered(node, resource)
            devices = len(evidence.matching(node.name, query)) if integers else 0
            if not devices:
                continue
            label = node.labels.get("nvidia.com/gpu.count", "") if resource == "nvidia.com/gpu" else ""
            if label.isdecimal() and int(label) >= integers + devices:
                continue
            pods = tuple(
                f"Pod/{pod.namespace}/{pod.name}"
                for pod in evidence.pods
                if pod.node == node.name and not pod.finished and pod.spec.requests.get(resource, 0) > 0
            )
            found.append(SoldTwice(node.name, resource, integers, devices, pods))
    return tuple(found)


def _catalog(migration: Migration, evidence: Evidence) -> Catalog:
    """The dump's slices with its classes, those written, and, where it has none, the classes as documented."""
    known = evidence.catalog or Catalog.build((), ())
    documented = {
        query.device_class: parsed
        for each in migration.objects
        for query in each.queries.values()
        for parsed in read_classes((device_class(query),)).values()
    }
    classes = {**documented, **known.classes, **read_classes(migration.classes)}
    slices = known.index.slices()
    return Catalog.build(slices, classes.values(), features=known.features)


def _pod_check(
    pod: PodMigration, extended: bool, evidence: Evidence, catalog: Catalog, forms: dict[Hashable, ClaimSpec]
) -> PodCheck:
    old, new = _spec(pod.old, pod), _spec(pod.new, pod)
    specs: Sequence[ClaimSpec]
    if extended:
        specs = pod_claim(pod, catalog.classes)
    else:
        specs = [parse_claim_template(claim_template(plan, pod.namespace)) for plan in pod.claims]
    # Equal claims of many pods are one to the allocator, which knows a compiled claim by the identity of its spec.
    shared = [forms.setdefault(spec.requests, spec) for spec in specs]
    claims = [ResourceClaim(f"claim-{index}", pod.namespace, spec) for index, spec in enumerate(shared)]
    nodes = tuple(_compare(node, pod, old, new, claims, evidence, catalog) for node in evidence.nodes)
    return PodCheck(pod.subject, pod.place.role, nodes)


def _compare(
    node: ClusterNode,
    pod: PodMigration,
    old: PodSpec,
    new: PodSpec,
    claims: Sequence[ResourceClaim],
    evidence: Evidence,
    catalog: Catalog,
) -> NodeFit:
    offered = [resource for resource in pod.queries if evidence.offered(node, resource) > 0]
    refusal = _refusal(old, node, frozenset())
    outcome: Outcome | None = None
    against = _refusal(new, node, frozenset(pod.queries))
    if not against:
        outcome = allocate(node.node, claims, catalog, EMPTY)
    fits = not against and isinstance(outcome, Allocation)
    match not refusal, fits:
        case True, True:
            return NodeFit(node.name, Fit.BOTH)
        case False, False:
            return NodeFit(node.name, Fit.NEITHER)
        case True, _:
            if not any(evidence.matching(node.name, query) for query in pod.meant.values()):
                drivers = ", ".join(sorted({query.driver or query.device_class for query in pod.queries.values()}))
                return NodeFit(node.name, Fit.NOT_PUBLISHED, f"driver {drivers} publishes nothing there")
            return NodeFit(node.name, Fit.ONLY_OLD, against or _sentence(outcome))
        case _:
            if not offered:
                return NodeFit(node.name, Fit.SWITCHED)
            return NodeFit(node.name, Fit.ONLY_NEW, refusal)


def _refusal(spec: PodSpec, node: ClusterNode, devices: frozenset[str]) -> str:
    """Why an empty node would not take the pod, claims apart; "" if it would. `devices` are not counted as integers."""
    if not spec.accepts_labels(node.labels, node.name):
        return "node selector or affinity"
    for taint in node.taints:
        if taint.blocks and not any(each.tolerates(taint) for each in spec.tolerations):
            return f"taint {taint}"
    for resource, amount in {**spec.requests, _PODS: Nano(NANO)}.items():
        have = node.allocatable.get(resource)
        if resource in devices or (have is None and resource == _PODS):
            continue
        if amount > (have or 0):
            return f"{resource}: wants {amount / NANO:g}, the node has {(have or 0) / NANO:g}"
    return ""


def _sentence(outcome: Outcome | None) -> str:
    match outcome:
        case Fatal():
            return outcome.message
        case NoFit() | NodeError():
            return outcome.reasons[0].sentence() if outcome.reasons else "it has no such devices"
        case Allocation() | None:
            return ""


def _spec(template: Json, pod: PodMigration) -> PodSpec:
    head = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "pod", "namespace": pod.namespace}}
    return parse_pod_template({**head, "template": template}).spec
