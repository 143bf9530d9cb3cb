"""Nodes that could exist: the next node of each group as the allocator would see it."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster_dra import AllocatedState, Catalog, ClaimSpec, InvalidObject, Node
from muster_plan.extended import class_of, extended_claim, is_extended
from muster_plan.labels import HOSTNAME
from muster_plan.node_groups import DaemonPod, NodeGroup, NodeTemplate
from muster_plan.pods import PODS
from muster_plan.promised import Promise, promise_of
from muster_plan.snapshot import Snapshot
from muster_plan.usage import Occupant
from muster_types import NANO, NodeGroupName, NodeName, ObjectKey

_REMEMBERED = 4096
_PREFIX = "muster.dev/new/"  # no name of an existing node holds a slash


@dataclass(frozen=True, slots=True)
class Potential:
    """The next node of a group. `free` is what its daemon pods leave; `daemons` are the claims they bring.

    `fault` says why the template's devices cannot be used; the node then counts as one without devices.
    """

    group: NodeGroup
    node: Node
    free: Mapping[str, int]
    daemons: tuple[ClaimSpec, ...]
    occupants: tuple[Occupant, ...]
    promise: Promise
    fault: str


@dataclass(frozen=True, slots=True)
class Potentials:
    """All groups' next nodes. The catalogue holds their slices beside the cluster's."""

    by_group: Mapping[NodeGroupName, Potential]
    catalog: Catalog
    allocated: AllocatedState


def potentials_of(snapshot: Snapshot) -> Potentials:
    groups = snapshot.tables.groups
    found = {groups[key].name: _potential(groups[key], snapshot) for key in sorted(groups)}
    # The cluster's own catalogue goes on: what it knows of shapes and claims serves the promised nodes too.
    catalog = snapshot.catalog.with_slices([each for name in found for each in found[name].promise.slices])
    return Potentials(found, catalog, snapshot.allocated)


def _potential(group: NodeGroup, snapshot: Snapshot) -> Potential:
    name = NodeName(f"{_PREFIX}{group.name}")
    template = group.template
    labels = {**template.labels, HOSTNAME: name}
    if group.domain_label:
        labels[group.domain_label] = f"{name}/unit"
    fault = ""
    try:
        promise = _promise(name, template, snapshot)
    except InvalidObject as problem:
        promise, fault = Promise(name, (), frozenset()), str(problem)
    free: dict[str, int] = dict(template.allocatable)
    daemons: list[ClaimSpec] = []
    for pod in template.daemon_pods:
        served = _served_by_devices(pod, group, snapshot)
        for resource, amount in {**pod.spec.requests, PODS: NANO}.items():
            if resource not in served:
                free[resource] = free.get(resource, 0) - amount
        daemons.extend(_daemon_claims(pod, snapshot))
        if served:
            daemons.append(extended_claim(pod.spec.containers, served))
    occupants = tuple(
        Occupant(pod.spec.namespace, pod.spec.labels, pod.spec.anti_affinity, pod.spec.host_ports, terminating=False)
        for pod in template.daemon_pods
    )
    return Potential(group, Node(name, labels), free, tuple(daemons), occupants, promise, fault)


def _promise(name: NodeName, template: NodeTemplate, snapshot: Snapshot) -> Promise:
    known = snapshot.promises.get(id(template))
    if known is not None and known[0] is template and known[1].node == name:
        return known[1]
    found = promise_of(name, template)
    if len(snapshot.promises) >= _REMEMBERED:
        snapshot.promises.clear()
    snapshot.promises[id(template)] = (template, found)
    return found


def _served_by_devices(pod: DaemonPod, group: NodeGroup, snapshot: Snapshot) -> Mapping[str, str]:
    """The daemon's extended resources that the node does not advertise, with their device class."""
    classes = snapshot.tables.classes
    found: dict[str, str] = {}
    for resource in pod.spec.requests:
        if is_extended(resource) and not group.template.allocatable.get(resource, 0) > 0:
            name = class_of(resource, [classes[key] for key in sorted(classes)])
            if name is not None:
                found[resource] = name
    return found


def _daemon_claims(pod: DaemonPod, snapshot: Snapshot) -> list[ClaimSpec]:
    """Claims that take devices: admin access looks on without taking. A template that is missing takes none."""
    found: list[ClaimSpec] = []
    for entry in pod.spec.claims:
        if not entry.template:
            continue
        key = ObjectKey("ResourceClaimTemplate", pod.spec.namespace, entry.template)
        template = snapshot.tables.claim_templates.get(key)
        if template is not None and not _only_looks(template.spec):
            found.append(template.spec)
    return found


def _only_looks(spec: ClaimSpec) -> bool:
    return all(each.exactly is not None and each.exactly.admin_access for each in spec.requests)
