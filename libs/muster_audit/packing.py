"""New nodes of one group for pods of several classes: what one class leaves of a node serves the next."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from muster_audit.growth import with_daemons
from muster_audit.survey import Wanted, eligibility
from muster_dra import AllocatedState, Allocation, ResourceClaim, allocate
from muster_plan.eligibility import Site
from muster_plan.potential import Potential, Potentials

_OPEN = 16
"""Nodes with room that are tried for one pod."""


@dataclass(frozen=True, slots=True)
class Share:
    """Pods of one class that a group would serve, on so many nodes of their own."""

    pod: Wanted
    pods: int
    nodes: int


@dataclass(slots=True)
class _NewNode:
    allocated: AllocatedState
    used: dict[str, int] = field(default_factory=dict[str, int])


def nodes_together(shares: Iterable[Share], potential: Potential, potentials: Potentials) -> int:
    """Nodes for all of them, in whole steps: at most what they need one by one, at most what the group can add."""
    known = sorted(shares, key=lambda each: -each.nodes / each.pods)
    fresh = with_daemons(potential, potentials)
    nodes: list[_NewNode] = []
    for share in known:
        for _ in range(share.pods):
            if any(_take(share.pod, node, potential, potentials) for node in nodes[-_OPEN:]):
                continue
            node = _NewNode(fresh)
            if not _take(share.pod, node, potential, potentials):
                return sum(each.nodes for each in known)
            nodes.append(node)
    step = potential.group.step
    return min(-(-len(nodes) // step) * step, sum(each.nodes for each in known))


def _take(pod: Wanted, node: _NewNode, potential: Potential, potentials: Potentials) -> bool:
    site = Site(potential.node, None, potential.group.template.taints, unschedulable=False, ready=True)
    by_claim = eligibility(pod, site, potential.group.template.allocatable)[1]
    used = dict(node.used)
    for resource, amount in pod.kind.requests.items():
        if resource not in by_claim:
            used[resource] = used.get(resource, 0) + amount
            if used[resource] > potential.free.get(resource, 0):
                return False
    claims: list[ResourceClaim] = list(pod.claims_on(by_claim))
    outcome = allocate(potential.node, claims, potentials.catalog, node.allocated)
    if not isinstance(outcome, Allocation):
        return False
    taken = [result for each in outcome.claims for result in each.results]
    node.allocated = node.allocated.plus(taken, "planned") if taken else node.allocated
    node.used = used
    return True
