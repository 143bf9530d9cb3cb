"""The node of one pod, as kube-scheduler would find it: one pod at a time, first fit, without looking back.

Order of the nodes: those held for the pod's gang, then those that its offer names, then all others, each by name.
Looked at: readiness, cordon, taints, node selector and required node affinity, required anti-affinity and host ports,
resources, devices (the real allocator). Not looked at: topology spread, pod affinity, scores, preemption.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from muster_dra import Allocation, ClaimAllocation, ClaimSpec, Fatal, ResourceClaim, allocate
from muster_plan.extended import class_of, extended_claim, is_extended
from muster_plan.nodes import ClusterNode, Taint
from muster_plan.pods import PODS, PodSpec
from muster_plan.snapshot import Snapshot
from muster_plan.usage import Usage
from muster_types import NANO, NodeName, ObjectKey

RESERVATION = "muster.dev/gang"
EXTENDED_CLAIM = "extended-resources"
_CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


@dataclass(frozen=True, slots=True)
class PendingPod:
    """A pod without a node. `claims` are the claims of its entries in order; `offered` are nodes named by the offer."""

    key: ObjectKey
    spec: PodSpec
    claims: tuple[ResourceClaim, ...]
    gang: str
    offered: Set[NodeName]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Where the pod goes. `allocations` has the claims that are allocated with it, by name; `extended` the claim that
    its extended resources make, None when it needs none."""

    node: NodeName
    allocations: Mapping[str, ClaimAllocation]
    extended: ClaimSpec | None


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """No node takes the pod; one sentence, as the scheduler words it."""

    message: str


def choose_node(pod: PendingPod, snapshot: Snapshot) -> Chosen | Unschedulable:
    """The first node that takes the pod with all its claims."""
    reasons: dict[str, int] = {}
    for node in _in_order(pod, snapshot.tables.nodes.values()):
        answer = _try(pod, node, snapshot)
        if isinstance(answer, Chosen):
            return answer
        if isinstance(answer, Fatal):
            return Unschedulable(f"running Filter plugin DynamicResources: {answer.kind.value}: {answer.message}")
        reasons[answer] = reasons.get(answer, 0) + 1
    total = sum(reasons.values())
    counted = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    return Unschedulable(f"0/{total} nodes are available: {counted}." if counted else "0/0 nodes are available.")


def _in_order(pod: PendingPod, nodes: Iterable[ClusterNode]) -> Sequence[ClusterNode]:
    def rank(node: ClusterNode) -> tuple[bool, bool, NodeName]:
        held = any(taint.key == RESERVATION and taint.value == pod.gang for taint in node.taints)
        return not held, node.name not in pod.offered, node.name

    return sorted(nodes, key=rank)


def _try(pod: PendingPod, node: ClusterNode, snapshot: Snapshot) -> Chosen | Fatal | str:
    """The choice of this node, or in a few words why not."""
    usage = snapshot.usage(node.name)
    refusal = _refusal(pod, node, usage, snapshot)
    if refusal is not None:
        return refusal
    wanted = {name: amount for name, amount in pod.spec.requests.items() if name != PODS}
    devices = {
        name: found
        for name in wanted
        if not node.allocatable.get(name)
        and is_extended(name)
        and (found := class_of(name, snapshot.tables.classes.values())) is not None
    }
    for name, amount in sorted({**wanted, PODS: NANO}.items()):
        if name not in devices and usage.requests.get(name, 0) + amount > node.allocatable.get(name, 0):
            return f"Insufficient {name}"
    open_claims = [claim for claim in pod.claims if claim.allocation is None]
    extended = extended_claim(pod.spec.containers, devices) if devices else None
    if extended is not None:
        open_claims.append(ResourceClaim(f"{pod.key.name}-{EXTENDED_CLAIM}", pod.key.namespace, extended))
    if not open_claims:
        return Chosen(node.name, {}, None)
    outcome = allocate(node.node, open_claims, snapshot.catalog, snapshot.held)
    if isinstance(outcome, Allocation):
        names = [claim.name for claim in open_claims]
        return Chosen(node.name, dict(zip(names, outcome.claims, strict=True)), extended)
    if isinstance(outcome, Fatal):
        return outcome
    return "cannot allocate all claims"


def _refusal(pod: PendingPod, node: ClusterNode, usage: Usage, snapshot: Snapshot) -> str | None:
    if not node.ready:
        return "node(s) were not ready"
    taints = (*node.taints, *((_CORDON,) if node.unschedulable else ()))
    for taint in taints:
        if taint.blocks and not any(each.tolerates(taint) for each in pod.spec.tolerations):
            return f"node(s) had untolerated taint {{{taint}}}"
    if not pod.spec.accepts_labels(node.labels, node.name):
        return "node(s) didn't match Pod's node affinity/selector"
    for claim in pod.claims:
        selector = None if claim.allocation is None else claim.allocation.node_selector
        if selector is not None and selector.matches(node.node) is not True:
            return "node(s) have no access to the allocated devices"
    for occupant in usage.occupants:
        if any(ours.collides(theirs) for ours in pod.spec.host_ports for theirs in occupant.host_ports):
            return "node(s) didn't have free ports for the requested pod ports"
    return _anti_affinity(pod, node, snapshot)


def _anti_affinity(pod: PendingPod, node: ClusterNode, snapshot: Snapshot) -> str | None:
    """Required anti-affinity against running pods, in both directions."""
    for name in sorted(snapshot.pods_by_node):
        other = snapshot.node(name)
        if other is None:
            continue
        for occupant in snapshot.usage(name).occupants:
            terms = [
                *(
                    t
                    for t in pod.spec.anti_affinity
                    if t.selects(occupant.labels, occupant.namespace, pod.key.namespace)
                ),
                *(
                    t
                    for t in occupant.anti_affinity
                    if t.selects(pod.spec.labels, pod.key.namespace, occupant.namespace)
                ),
            ]
            for term in terms:
                value = node.labels.get(term.topology_key)
                if value is not None and value == other.labels.get(term.topology_key):
                    return "node(s) didn't match pod anti-affinity rules"
    return None
