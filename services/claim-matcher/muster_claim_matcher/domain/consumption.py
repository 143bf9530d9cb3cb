"""How far a gang's pods have taken what was booked for them.

A booking may go only when the cluster itself shows what it promised: a device must not look free in between. The
scheduler may have chosen other devices than the plan, so what counts is that every bound pod's claims are allocated.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from muster_claim_matcher.domain.labels import CONSUME
from muster_claim_matcher.domain.plans import Member
from muster_dra import ResourceClaim
from muster_plan import ExistingNode, Pod
from muster_types import NodeName, ObjectKey


@dataclass(frozen=True, slots=True, order=True)
class Unshown:
    """A bound pod of the gang whose claims do not all show an allocation yet."""

    namespace: str
    pod: str
    wanted: int
    shown: int

    def sentence(self) -> str:
        return f"pod {self.namespace}/{self.pod}: {self.shown} of {self.wanted} claims show an allocation"


def consumed_request(annotations: Mapping[str, str]) -> str:
    """The request whose capacity a pod uses; empty for none."""
    return next((annotations[key] for key in CONSUME if annotations.get(key)), "")


class AllocatedClaims:
    """The claims that carry an allocation, by the pod that uses them: by name, by the pod's status, or because they are
    reserved for it."""

    def __init__(self, claims: Mapping[ObjectKey, ResourceClaim]) -> None:
        self._claims = claims
        self._reserved: dict[tuple[str, str], list[ResourceClaim]] | None = None

    def of(self, pod: Pod) -> tuple[ResourceClaim, ...]:
        """Those of one pod, by name."""
        found: dict[str, ResourceClaim] = {}
        for entry in pod.spec.claims:
            name = entry.claim or pod.claim_names.get(entry.name, "")
            claim = self._claims.get(ObjectKey("ResourceClaim", pod.namespace, name)) if name else None
            if claim is not None and claim.allocation is not None:
                found[claim.name] = claim
        if len(found) < len(pod.spec.claims):
            found.update((claim.name, claim) for claim in self._reserved_for(pod))
        return tuple(found[name] for name in sorted(found))

    def _reserved_for(self, pod: Pod) -> list[ResourceClaim]:
        if self._reserved is None:
            self._reserved = {}
            for claim in self._claims.values():
                for consumer in claim.reserved_for if claim.allocation is not None else ():
                    if consumer.resource == "pods":
                        self._reserved.setdefault((claim.namespace, consumer.name), []).append(claim)
        return self._reserved.get((pod.namespace, pod.name), [])


def unshown_claims(pods: Iterable[Pod], claims: AllocatedClaims) -> tuple[Unshown, ...]:
    """What still has to be observed before the booking of these pods may go; empty: nothing.

    Pods that are not bound hold nothing, and pods that are gone or finished need nothing any more: their binding was
    observed before anybody said that the gang is consumed.
    """
    found: list[Unshown] = []
    for pod in pods:
        if not pod.node or pod.finished:
            continue
        wanted, shown = len(pod.spec.claims), len(claims.of(pod))
        if shown < wanted:
            found.append(Unshown(pod.namespace, pod.name, wanted, shown))
    return tuple(sorted(found))


def unbound_members(members: Iterable[Member], pods: Iterable[Pod]) -> frozenset[tuple[str, int]]:
    """The members whose room is not taken by a bound pod yet, as (pod set, index).

    Which member a pod is, it does not say: a pod stands for one member on its node with the same requests. A pod that
    matches none leaves all of them booked: what is counted twice for a moment is safe, what is counted not at all is
    not.
    """
    waiting: dict[NodeName, list[Member]] = {}
    left: set[tuple[str, int]] = set()
    for member in members:
        left.add((member.pod_set, member.index))
        if isinstance(member.target, ExistingNode):
            waiting.setdefault(member.target.name, []).append(member)
    for pod in sorted(pods, key=lambda each: (each.namespace, each.name)):
        here = waiting.get(pod.node, [])
        requests = tuple(sorted(pod.spec.requests.items()))
        match = next((member for member in here if member.resources == requests), None)
        if match is not None:
            here.remove(match)
            left.discard((match.pod_set, match.index))
    return frozenset(left)
