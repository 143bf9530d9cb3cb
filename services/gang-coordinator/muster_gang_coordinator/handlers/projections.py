"""Every gang with its status and times: the read side of the stream `gangs`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from muster_gang_coordinator.domain.events import Event
from muster_gang_coordinator.domain.evolve import evolve
from muster_gang_coordinator.domain.orders import Order
from muster_gang_coordinator.domain.plans import Placement, Plan, existing_nodes
from muster_gang_coordinator.domain.requests import Sibling
from muster_gang_coordinator.domain.states import (
    Compensating,
    Consumed,
    Ended,
    Known,
    New,
    Ready,
    Received,
    Waiting,
)
from muster_gang_coordinator.domain.status import EMPTY, RequestStatus, evolve_status
from muster_gang_coordinator.ports import Templates
from muster_types import ClusterId, GangId, NodeName, ObjectKey


@dataclass(frozen=True, slots=True)
class GangEntry:
    """A gang as recorded; `change_time` is that of its last batch."""

    cluster: ClusterId
    gang_id: GangId
    gang: Known
    status: RequestStatus
    change_time: datetime

    @property
    def over(self) -> bool:
        """In an end state."""
        return isinstance(self.gang, Consumed | Ended)


@dataclass(frozen=True, slots=True)
class Step:
    """An event and the gang after it."""

    event: Event
    entry: GangEntry


class GangsView:
    """A fold of the stream; `apply` takes each batch once, in order."""

    def __init__(self) -> None:
        self._entries: dict[tuple[ClusterId, GangId], GangEntry] = {}
        self._by_uid: dict[tuple[ClusterId, str], GangId] = {}
        self._by_request: dict[tuple[ClusterId, str], GangId] = {}
        self._by_key: dict[tuple[ClusterId, ObjectKey], GangId] = {}
        self._open: set[tuple[ClusterId, GangId]] = set()
        self._open_in: dict[tuple[ClusterId, str], set[GangId]] = {}
        self._touched: dict[tuple[ClusterId, GangId], _Touched] = {}
        self._by_node: dict[tuple[ClusterId, NodeName], set[GangId]] = {}
        self._by_pool: dict[tuple[ClusterId, str, str], set[GangId]] = {}
        self._by_pod: dict[tuple[ClusterId, str], set[GangId]] = {}

    def apply(self, cluster: ClusterId, gang_id: GangId, events: Iterable[Event], time: datetime) -> list[Step]:
        """Take one batch in; what it did, event by event."""
        steps: list[Step] = []
        entry = self._entries.get((cluster, gang_id))
        for event in events:
            after = evolve(New() if entry is None else entry.gang, event)
            if isinstance(after, New):  # no event leads there
                continue
            status = evolve_status(EMPTY if entry is None else entry.status, event, after)
            entry = GangEntry(cluster, gang_id, after, status, time)
            steps.append(Step(event, entry))
        if entry is not None:
            self._keep(replace(entry, change_time=time))
        return steps

    def get(self, cluster: ClusterId, gang_id: GangId) -> GangEntry | None:
        """One gang."""
        return self._entries.get((cluster, gang_id))

    def by_uid(self, cluster: ClusterId, uid: str) -> GangEntry | None:
        """The gang that serves, or served, the request of that uid."""
        gang_id = self._by_uid.get((cluster, uid))
        return None if gang_id is None else self.get(cluster, gang_id)

    def by_request(self, cluster: ClusterId, request_id: str) -> GangEntry | None:
        """The gang that was made for a request_id."""
        gang_id = self._by_request.get((cluster, request_id))
        return None if gang_id is None else self.get(cluster, gang_id)

    def all(self, cluster: ClusterId) -> list[GangEntry]:
        """Every gang of a cluster, by id."""
        return [self._entries[key] for key in sorted(k for k in self._entries if k[0] == cluster)]

    def open(self, cluster: ClusterId) -> Iterator[GangEntry]:
        """The gangs that are in no end state, by id."""
        for key in sorted(k for k in self._open if k[0] == cluster):
            yield self._entries[key]

    def serving(self, cluster: ClusterId, key: ObjectKey) -> list[GangEntry]:
        """Open gangs of a ProvisioningRequest by name: more than one only while an older of that name goes."""
        return [e for e in self.open(cluster) if e.gang.saga.spec.key == key]

    def last_of(self, cluster: ClusterId, key: ObjectKey) -> GangEntry | None:
        """The newest gang of a request by name, also one that is over."""
        gang_id = self._by_key.get((cluster, key))
        return None if gang_id is None else self.get(cluster, gang_id)

    def waiting(self, cluster: ClusterId) -> list[Waiting]:
        """The gangs that wait for a change."""
        return [e.gang for e in self.open(cluster) if isinstance(e.gang, Waiting)]

    def incomplete(self, cluster: ClusterId, namespace: str) -> list[GangEntry]:
        """Gangs of a namespace that wait for objects which their request names."""
        received = (e for e in self.open(cluster) if isinstance(e.gang, Received))
        return [e for e in received if e.gang.saga.spec.namespace == namespace]

    def alike(self, cluster: ClusterId, namespace: str, templates: Templates, look: str) -> list[GangEntry]:
        """Open gangs of a namespace with pods that look so."""
        near = self._open_in.get((cluster, namespace), ())
        entries = [self._entries[cluster, gang_id] for gang_id in sorted(near)]
        return [entry for entry in entries if look and look in templates.looks(entry.gang.saga.spec)]

    def on_node(self, cluster: ClusterId, node: NodeName) -> list[GangId]:
        """Open gangs with a member or an order on a node, by id."""
        return sorted(self._by_node.get((cluster, node), ()))

    def on_pool(self, cluster: ClusterId, driver: str, pool: str) -> list[GangId]:
        """Offered gangs with a device of a pool, by id."""
        return sorted(self._by_pool.get((cluster, driver, pool), ()))

    def with_member(self, cluster: ClusterId, pod: str) -> list[GangId]:
        """Open gangs that count a pod (`namespace/name`) as bound, by id."""
        return sorted(self._by_pod.get((cluster, pod), ()))

    def siblings(self, cluster: ClusterId, workload_key: str) -> tuple[Sibling, ...]:
        """Open gangs of the same workload."""
        if not workload_key:
            return ()
        return tuple(
            Sibling(e.gang_id, spec.uid, spec.content_hash, isinstance(e.gang, Compensating))
            for e in self.open(cluster)
            if (spec := e.gang.saga.spec).workload_key == workload_key
        )

    def _keep(self, entry: GangEntry) -> None:
        key = (entry.cluster, entry.gang_id)
        self._entries[key] = entry
        saga = entry.gang.saga
        if self._by_uid.get((entry.cluster, saga.spec.uid)) is None:
            self._by_key[entry.cluster, saga.spec.key] = entry.gang_id
        self._by_uid[entry.cluster, saga.spec.uid] = entry.gang_id
        self._by_request.setdefault((entry.cluster, saga.request_id), entry.gang_id)
        near = self._open_in.setdefault((entry.cluster, saga.spec.namespace), set())
        if entry.over:
            self._open.discard(key)
            near.discard(entry.gang_id)
        else:
            self._open.add(key)
            near.add(entry.gang_id)
        self._index(entry)

    def _index(self, entry: GangEntry) -> None:
        """Keep the gang findable by what it touches; nothing is done while that stays the same."""
        key = (entry.cluster, entry.gang_id)
        before = self._touched.get(key, _NOTHING)
        after = _NOTHING if entry.over else _touched(entry.gang, before)
        if after is before:
            return
        self._touched[key] = after
        if entry.over:
            del self._touched[key]
        for node in before.nodes ^ after.nodes:
            _move(self._by_node, (entry.cluster, node), entry.gang_id, node in after.nodes)
        for pod in before.pods ^ after.pods:
            _move(self._by_pod, (entry.cluster, pod), entry.gang_id, pod in after.pods)
        for driver, pool in before.pools ^ after.pools:
            _move(self._by_pool, (entry.cluster, driver, pool), entry.gang_id, (driver, pool) in after.pools)


@dataclass(frozen=True, slots=True)
class _Touched:
    """Nodes and pools of a gang, and the parts of it that they follow from."""

    orders: tuple[Order, ...] = ()
    plan: Plan | None = None
    placements: tuple[Placement, ...] = ()
    bound: tuple[tuple[str, NodeName], ...] = ()
    nodes: frozenset[NodeName] = frozenset()
    pools: frozenset[tuple[str, str]] = frozenset()
    pods: frozenset[str] = frozenset()


_NOTHING = _Touched()
K = TypeVar("K")


def _touched(gang: Known, before: _Touched) -> _Touched:
    saga, placements = gang.saga, gang.placements if isinstance(gang, Ready) else ()
    same = saga.orders is before.orders and saga.plan is before.plan and saga.bound is before.bound
    if same and placements is before.placements:
        return before
    ordered = frozenset(node for order in saga.orders for node in order.known)
    planned = frozenset[NodeName]() if saga.plan is None else saga.plan.existing_nodes
    results = (r.device for p in placements for claim in p.claims for r in claim.results)
    return _Touched(
        saga.orders,
        saga.plan,
        placements,
        saga.bound,
        ordered | planned | existing_nodes(placements),
        frozenset((device.driver, device.pool) for device in results),
        frozenset(pod for pod, _ in saga.bound),
    )


def _move(index: dict[K, set[GangId]], key: K, gang_id: GangId, there: object) -> None:
    gangs = index.setdefault(key, set())
    if there:
        gangs.add(gang_id)
    else:
        gangs.discard(gang_id)
    if not gangs:
        del index[key]
