"""Statuses of ProvisioningRequests as a projection of recorded events: idempotent, and rebuilt by a restart."""

import asyncio
from collections import deque
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog
from tenacity import AsyncRetrying, retry_if_exception_type, wait_exponential

from muster_eventstore import TransientError
from muster_gang_coordinator.domain.events import GangRequested
from muster_gang_coordinator.domain.requests import GangSpec
from muster_gang_coordinator.domain.states import Compensating
from muster_gang_coordinator.domain.status import RequestStatus, plan_writes, renewed
from muster_gang_coordinator.handlers.cluster_view import ClusterView
from muster_gang_coordinator.handlers.projections import GangEntry, GangsView, Step
from muster_gang_coordinator.ports import Requests, RequestStatuses
from muster_types import ClusterId, GangId, ObjectKey

log = structlog.get_logger("muster.status")
_LONGEST_PAUSE = 30.0


@dataclass(frozen=True, slots=True)
class _Job:
    key: ObjectKey
    uid: str
    status: RequestStatus
    publish: GangSpec | None


class StatusWriter:
    """One queue for each gang, so that its statuses reach the object in the order of its events.

    Until `start`, statuses are only remembered: what a restart replays is written once, as it stands at the end.
    """

    def __init__(self, gangs: GangsView, clusters: ClusterView, statuses: RequestStatuses, requests: Requests) -> None:
        self._gangs = gangs
        self._clusters = clusters
        self._statuses = statuses
        self._requests = requests
        self._queues: dict[tuple[ClusterId, GangId], deque[_Job]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._started = False

    def saw(self, step: Step) -> None:
        """An event of a gang."""
        if not self._started:
            return
        entry = step.entry
        publish = isinstance(step.event, GangRequested) and self._unshown(entry)
        self._enqueue(entry, publish=publish)

    def start(self, clusters: tuple[str, ...]) -> None:
        """Begin to write, first what may have been missed: requests that the cluster shows with another status, and
        open ones that it has never shown."""
        self._started = True
        for cluster in map(ClusterId, clusters):
            shown = {r.uid: r.status for r in self._clusters.cluster(cluster).requests.values()}
            for entry in self._gangs.all(cluster):
                uid = entry.gang.saga.spec.uid
                if uid in shown and shown[uid] != entry.status:
                    self._enqueue(entry, publish=False)
                elif not entry.over and self._unshown(entry):
                    self._enqueue(entry, publish=True)

    def renew(self, clusters: tuple[str, ...], now: datetime, after: timedelta) -> int:
        """Renew the time of requests that have waited for as long as `after`, as the cluster shows them; how many."""
        count = 0
        for cluster in map(ClusterId, clusters):
            shown = {r.uid: r.status for r in self._clusters.cluster(cluster).requests.values() if not r.leaving}
            for entry in self._gangs.open(cluster):
                seen = shown.get(entry.gang.saga.spec.uid)
                fresh = None if seen is None else renewed(seen, entry.status, now, after)
                if fresh is not None:
                    self._enqueue(replace(entry, status=fresh), publish=False)
                    count += 1
        return count

    async def run(self) -> None:
        """Until cancelled; then the writes at work are given up, and a restart makes them again."""
        try:
            await asyncio.Event().wait()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def wait_idle(self) -> None:
        """Until everything seen so far is written."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def _unshown(self, entry: GangEntry) -> bool:
        """A request made over gRPC that no reader of the cluster has seen: it may be put there. One that was seen and
        is gone was deleted by somebody, and stays so."""
        saga = entry.gang.saga
        known = self._clusters.cluster(entry.cluster).known_uids
        return (
            saga.request_id != saga.spec.uid and saga.spec.uid not in known and not isinstance(entry.gang, Compensating)
        )

    def _enqueue(self, entry: GangEntry, *, publish: bool) -> None:
        spec = entry.gang.saga.spec
        key = (entry.cluster, entry.gang_id)
        job = _Job(spec.key, spec.uid, entry.status, spec if publish else None)
        queue = self._queues.get(key)
        if queue is not None:
            queue.append(job)
            return
        self._queues[key] = deque([job])
        task = asyncio.create_task(self._drain(key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _drain(self, key: tuple[ClusterId, GangId]) -> None:
        queue = self._queues[key]
        try:
            while queue:
                await self._write(key[0], queue[0])
                queue.popleft()
        finally:
            del self._queues[key]

    async def _write(self, cluster: ClusterId, job: _Job) -> None:
        retrying = AsyncRetrying(
            retry=retry_if_exception_type((TransientError, OSError)),
            wait=wait_exponential(multiplier=0.1, max=_LONGEST_PAUSE),
            reraise=True,
        )
        async for attempt in retrying:
            with attempt:
                if job.publish is not None:
                    await self._requests.publish(cluster, job.publish)
                current = await self._statuses.read(cluster, job.key, job.uid)
                if current is None:
                    return
                for status in plan_writes(current, job.status):
                    if not await self._statuses.write(cluster, job.key, job.uid, status):
                        return
