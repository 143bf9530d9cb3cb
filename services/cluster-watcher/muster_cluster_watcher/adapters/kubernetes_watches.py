"""The tasks that follow a live cluster: one that looks at what is served, one for each kind."""

import asyncio
import time
from collections.abc import Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

import structlog
from prometheus_client import Counter

from muster_cluster_watcher.adapters.directory import DirectorySource
from muster_cluster_watcher.adapters.kubernetes_facts import key_of, read_object
from muster_cluster_watcher.adapters.kubernetes_image import ClusterImage
from muster_cluster_watcher.domain.facts import Known
from muster_kube import KINDS
from muster_kubeapi import (
    AccessInvalid,
    Backoff,
    Changes,
    Found,
    KubeClient,
    KubeError,
    Lacking,
    NotServed,
    Pace,
    Page,
    Refused,
    Resource,
    Served,
    Trouble,
    Unreachable,
    Unsure,
    Wanted,
    collector_paused,
    discover,
    follow,
)
from muster_types import ClusterId

log = structlog.get_logger("muster.watcher")
_TROUBLES = Counter("muster_watcher_troubles_total", "Failed calls of the API server", ("cluster", "kind"))
_LISTS = Counter("muster_watcher_lists_total", "Whole lists read from the API server", ("cluster", "kind"))
DECLARED = "NodeGroup"


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """`rediscover`: seconds between two looks at what is served. `save`: seconds between two saved cursors, at least.
    `skipped`: kinds that are not read, and about which nothing is told. `doubt`: seconds for which a kind with objects
    must be missing until they are gone, for a server that starts may not yet know what it serves."""

    fact_bytes: int
    pace: Pace = field(default_factory=Pace)
    rediscover: float = 300.0
    save: float = 5.0
    doubt: float = 5.0
    skipped: frozenset[str] = frozenset()


class Watches:
    """Keep `image` level with a cluster. With `declared`, node groups come from these files, not from the server."""

    def __init__(
        self,
        cluster: ClusterId,
        client: KubeClient,
        options: LiveOptions,
        image: ClusterImage,
        declared: DirectorySource | None,
    ) -> None:
        self._cluster = cluster
        self._client = client
        self._options = options
        self._image = image
        self._declared = declared
        self._log = log.bind(cluster=cluster)
        self._since: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._followed: dict[str, tuple[Resource, asyncio.Task[None]]] = {}
        self._lacking: set[str] = set()
        self._missed: dict[str, float] = {}
        self._failure: BaseException | None = None
        self._look = asyncio.Event()

    def start(self, since: Mapping[str, str]) -> None:
        """Begin; `since` has the versions, by path, up to which the cluster was told before."""
        self._since = dict(since)
        self._spawn(self._keep_discovering())
        if self._declared is not None:
            self._spawn(self._follow_files(self._declared))

    def check(self) -> None:
        """Raises what a task failed with: a bug, for what the surroundings do is tried again."""
        if self._failure is not None:
            raise self._failure

    async def stop(self) -> None:
        """End all tasks."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def paths_of(self, versions: Mapping[str, str]) -> dict[str, str]:
        """Versions by path of the resource, of kinds that are followed."""
        return {resource.path: versions[kind] for kind, (resource, _) in self._followed.items() if versions.get(kind)}

    async def _keep_discovering(self) -> None:
        backoff = Backoff(self._options.pace.first_pause, self._options.pace.longest_pause)
        while True:
            self._look.clear()
            pause = self._options.rediscover
            try:
                found = await discover(self._client, self._wanted())
            except (Unreachable, Refused, AccessInvalid) as error:
                pause = backoff.next()
                self._report("discovery", error, pause)
            else:
                for kind, answer in found.items():
                    await self._take_up(kind, answer)
                if self._missed or any(isinstance(each, Unsure) for each in found.values()):
                    pause = backoff.next()
                else:
                    backoff.reset()
            try:
                async with asyncio.timeout(pause):
                    await self._look.wait()
            except TimeoutError:
                continue
            # A kind went away, or came between two answers: not at once, for the two may disagree for a while.
            await self._options.pace.sleep(backoff.next())

    def _wanted(self) -> list[Wanted]:
        skipped = self._options.skipped | ({DECLARED} if self._declared is not None else frozenset[str]())
        return [
            Wanted(kind.name, kind.group, kind.versions, kind.plural)
            for kind in KINDS.values()
            if kind.name not in skipped
        ]

    async def _take_up(self, kind: str, found: Found) -> None:
        held = self._followed.get(kind)
        match found:
            case Served(resource):
                self._lacking.discard(kind)
                self._missed.pop(kind, None)
                if held is not None and held[0] == resource:
                    return
                await self._drop(kind)
                since = self._since.pop(resource.path, "")
                if since:
                    self._image.go_on(kind, since)
                self._log.info("kind is followed", kind=kind, resource=str(resource), since=since or "a list")
                self._followed[kind] = (resource, self._spawn(self._follow(resource, since)))
            case Lacking():
                if self._in_doubt(kind):
                    return
                await self._drop(kind)
                if kind not in self._lacking:
                    self._lacking.add(kind)
                    self._log.info("kind is skipped", kind=kind, reason=found.reason)
                    self._image.lack(kind)
            case Unsure(reason=reason):
                if held is None:
                    self._log.warning("it is not known whether the cluster has a kind", kind=kind, reason=reason)

    def _in_doubt(self, kind: str) -> bool:
        """Whether a kind that the server does not name may yet come back with its objects."""
        now = time.monotonic()
        if self._image.has(kind) and now - self._missed.setdefault(kind, now) < self._options.doubt:
            return True
        self._missed.pop(kind, None)
        return False

    async def _drop(self, kind: str) -> None:
        held = self._followed.pop(kind, None)
        if held is not None:
            held[1].cancel()
            await asyncio.gather(held[1], return_exceptions=True)

    async def _follow(self, resource: Resource, since: str) -> None:
        kind, options = resource.kind, self._options
        try:
            async with aclosing(
                follow(self._client, resource, since=since, pace=options.pace, trouble=self._trouble)
            ) as told:
                async for each in told:
                    match each:
                        case Page(items, first, version):
                            with collector_paused():
                                found = [read_object(resource, obj, fact_bytes=options.fact_bytes) for obj in items]
                            self._image.page(kind, found, first=first, version=version)
                            if version:
                                _LISTS.labels(self._cluster, kind).inc()
                        case Changes(changes, version):
                            news = [
                                key_of(resource, change.obj)
                                if change.gone
                                else read_object(resource, change.obj, fact_bytes=options.fact_bytes)
                                for change in changes
                            ]
                            self._image.change(kind, news, version)
        except NotServed as error:
            self._report(kind, error, 0.0)
            del self._followed[kind]
            self._look.set()

    async def _follow_files(self, declared: DirectorySource) -> None:
        async with aclosing(declared.watch(Known())) as lists:
            async for shown in lists:
                facts = [fact for key, fact in shown.listed.facts.items() if key.kind == DECLARED]
                self._image.whole_list(DECLARED, facts, shown.listed.issues)

    def _trouble(self, trouble: Trouble) -> None:
        self._report(trouble.resource.kind, trouble.error, trouble.pause)

    def _report(self, kind: str, error: KubeError, pause: float) -> None:
        _TROUBLES.labels(self._cluster, kind).inc()
        what = "forbidden: allow this service to list and watch it, or name it in MUSTER_KUBE_SKIP"
        reason = f"{what}: {error}" if isinstance(error, Refused) and error.status == 403 else str(error)
        self._log.warning("cluster cannot be read", kind=kind, reason=reason, retry_seconds=round(pause, 1))

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._failure = self._failure or error
            self._image.wake()
