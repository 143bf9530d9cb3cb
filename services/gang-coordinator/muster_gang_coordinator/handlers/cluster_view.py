"""What the clusters show, as far as it concerns gangs; and what of it has changed since it was last dealt with."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from muster_eventstore import Cause
from muster_gang_coordinator.domain.groups import group_of_request
from muster_gang_coordinator.domain.observed import (
    GangNodeSeen,
    ObjectGone,
    ObjectPassed,
    PartSeen,
    PodSeen,
    RequestSeen,
    Seen,
)
from muster_types import ClusterId, GangId, NodeName, ObjectKey, OrderId


@dataclass(slots=True)
class OneCluster:
    """The newest facts of a cluster by object; `known_uids` are those of all requests that were ever shown."""

    requests: dict[ObjectKey, RequestSeen] = field(default_factory=dict)
    parts: dict[ObjectKey, PartSeen] = field(default_factory=dict)
    pods: dict[ObjectKey, PodSeen] = field(default_factory=dict)
    nodes: dict[ObjectKey, GangNodeSeen] = field(default_factory=dict)
    known_uids: set[str] = field(default_factory=set)
    changed: dict[ObjectKey, Cause] = field(default_factory=dict)


class ClusterView:
    """A fold of the stream `observed`."""

    def __init__(self) -> None:
        self._clusters: dict[ClusterId, OneCluster] = {}
        self.news = asyncio.Event()

    def cluster(self, cluster: ClusterId) -> OneCluster:
        """One cluster; empty when nothing was seen of it."""
        return self._clusters.setdefault(cluster, OneCluster())

    def apply(self, cluster: ClusterId, facts: Iterable[Seen], cause: Cause) -> bool:
        """Take facts in. True when room may have become free: a pod or a claim is gone or moved."""
        one, freed = self.cluster(cluster), False
        for fact in facts:
            freed |= _forget(one, fact)
            match fact:
                case RequestSeen():
                    one.requests[fact.key] = fact
                    one.known_uids.add(fact.uid)
                case PartSeen():
                    one.parts[fact.key] = fact
                case PodSeen():
                    if fact.request or fact.group or fact.look:
                        one.pods[fact.key] = fact
                case GangNodeSeen():
                    one.nodes[fact.key] = fact
                case ObjectGone():
                    if fact.key.kind == "ProvisioningRequest":
                        one.known_uids.add(fact.uid)
                case ObjectPassed():
                    pass
            one.changed[fact.key] = cause
        self.news.set()
        return freed

    def take_changes(self, cluster: ClusterId) -> dict[ObjectKey, Cause]:
        """What changed since the last call, sorted by object."""
        one = self.cluster(cluster)
        changed, one.changed = one.changed, {}
        return dict(sorted(changed.items()))

    def put_back(self, cluster: ClusterId, changes: dict[ObjectKey, Cause]) -> None:
        """Changes that could not be dealt with; newer ones of the same object win."""
        one = self.cluster(cluster)
        one.changed = {**changes, **one.changed}
        self.news.set()

    def part(self, cluster: ClusterId, key: ObjectKey) -> bytes | None:
        """JSON of an object that a request names."""
        found = self.cluster(cluster).parts.get(key)
        return None if found is None else found.json

    def bound_pods(self, cluster: ClusterId, request: ObjectKey, uid: str) -> list[PodSeen]:
        """Pods that consume a request, or are of the group that it stands for, and have a node."""
        group = group_of_request(request, uid)
        if group is not None:
            return [pod for pod in self.pods_of_group(cluster, group) if pod.node]
        pods = self.cluster(cluster).pods.values()
        bound = (p for p in pods if p.request == request.name and p.node and p.key.namespace == request.namespace)
        return sorted(bound, key=lambda pod: pod.key)

    def pods_of_group(self, cluster: ClusterId, group: ObjectKey) -> list[PodSeen]:
        """Pods of a PodGroup that name no request, by name."""
        pods = self.cluster(cluster).pods.values()
        members = (p for p in pods if p.group == group.name and not p.request and p.key.namespace == group.namespace)
        return sorted(members, key=lambda pod: pod.key)

    def ready_nodes(self, cluster: ClusterId, gang_id: GangId) -> frozenset[tuple[OrderId, NodeName]]:
        """Nodes of a gang's orders that the cluster shows as Ready."""
        nodes = self.cluster(cluster).nodes.values()
        return frozenset((n.order_id, NodeName(n.key.name)) for n in nodes if n.gang_id == gang_id and n.ready)


def _forget(one: OneCluster, fact: Seen) -> bool:
    """Drop what was known of the object; True when its going may free room."""
    one.requests.pop(fact.key, None)
    one.parts.pop(fact.key, None)
    one.nodes.pop(fact.key, None)
    one.pods.pop(fact.key, None)
    gone = isinstance(fact, ObjectGone | ObjectPassed)
    return gone and fact.key.kind in {"Pod", "ResourceClaim"}
