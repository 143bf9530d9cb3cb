"""A cluster in memory: the fake of the ports RequestStatuses, Requests and NodeHolds."""

from dataclasses import dataclass, field

from muster_eventstore import TransientError
from muster_gang_coordinator.domain.requests import GangSpec
from muster_gang_coordinator.domain.status import EMPTY, RequestStatus
from muster_types import ClusterId, NodeName, ObjectKey


@dataclass
class MemoryCluster:
    """`written` are all statuses in order; the next `failures` calls fail as an absent API server would."""

    requests: dict[ObjectKey, str] = field(default_factory=dict)
    statuses: dict[ObjectKey, RequestStatus] = field(default_factory=dict)
    taints: dict[NodeName, set[str]] = field(default_factory=dict)
    written: list[RequestStatus] = field(default_factory=list)
    published: list[GangSpec] = field(default_factory=list)
    failures: int = 0

    async def read(self, cluster: ClusterId, key: ObjectKey, uid: str) -> RequestStatus | None:
        self._answer()
        return self.statuses.get(key, EMPTY) if self.requests.get(key) == uid else None

    async def write(self, cluster: ClusterId, key: ObjectKey, uid: str, status: RequestStatus) -> bool:
        self._answer()
        if self.requests.get(key) != uid:
            return False
        self.statuses[key] = status
        self.written.append(status)
        return True

    async def publish(self, cluster: ClusterId, spec: GangSpec) -> None:
        self._answer()
        self.published.append(spec)
        self.requests.setdefault(spec.key, spec.uid)

    async def lift(self, cluster: ClusterId, taint: str, nodes: tuple[NodeName, ...]) -> None:
        self._answer()
        for node in nodes:
            self.taints.get(node, set()).discard(taint)

    def _answer(self) -> None:
        if self.failures:
            self.failures -= 1
            raise TransientError("the API server is away")
