"""Wiring of the cluster watcher: the only place that chooses adapters."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nats.aio.client import Client

from muster_cluster_watcher.adapters.directory import DirectorySource
from muster_cluster_watcher.adapters.kubernetes import KubernetesSource
from muster_cluster_watcher.adapters.kubernetes_cursor import Cursors
from muster_cluster_watcher.adapters.kubernetes_watches import LiveOptions
from muster_cluster_watcher.adapters.reports import WatchReports
from muster_cluster_watcher.adapters.stream import StoredObservations
from muster_cluster_watcher.handlers.watch import ClusterWatch
from muster_cluster_watcher.ports import ClusterSource
from muster_cluster_watcher.settings import Settings, SourceKind
from muster_eventstore import EventStore, FileSnapshots, JetStreamStore, SnapshotStore, connect
from muster_kube import ClusterDirectory
from muster_kube.directory import overlay_path
from muster_kubeapi import KubeClient, Pace
from muster_servicekit.address_file import AddressFile
from muster_servicekit.clock import Clock, SystemClock
from muster_servicekit.grpc import Listen, settings_tls, start_server
from muster_servicekit.health import Health
from muster_servicekit.leadership import ALONE, Leadership, take_leases
from muster_servicekit.runtime import Runtime
from muster_types import ClusterId

SERVICE = "cluster-watcher"


@dataclass(frozen=True, slots=True)
class Built:
    """A service that is wired; it works while its runtime runs. `reports` tells when every cluster is on the stream."""

    grpc_address: str
    health: Health
    reports: WatchReports


async def build(
    runtime: Runtime, settings: Settings, *, nats: Client | None = None, clock: Clock | None = None
) -> Built:
    """Connect (unless a connection is given), listen for health checks, and register a watch for each cluster.

    Health says SERVING once the first list of every cluster is on the stream.
    """
    leadership, clock = ALONE, clock or SystemClock()
    if nats is None:
        nats = await connect(settings.nats, SERVICE)
        runtime.stack.push_async_callback(nats.close)
        leadership = await take_leases(runtime, settings, JetStreamStore(nats), clock, SERVICE)
    store = JetStreamStore(nats)
    cursors = Cursors(_snapshots(runtime, settings), store)
    sources = {cluster: _source(runtime, settings, cluster, cursors) for cluster in map(ClusterId, settings.clusters)}
    return await assemble(runtime, settings, store, clock, sources=sources, leadership=leadership)


async def assemble(
    runtime: Runtime,
    settings: Settings,
    store: EventStore,
    clock: Clock,
    *,
    sources: Mapping[ClusterId, ClusterSource],
    listen: Listen = start_server,
    leadership: Leadership = ALONE,
) -> Built:
    """The service on any store, clock and clusters."""
    stream = StoredObservations(store, clock, leadership)
    reports = WatchReports(tuple(sources))
    server = await listen(settings.grpc_listen, [], tls=settings_tls(settings))
    address = AddressFile(settings.state_dir, SERVICE)

    async def serve_when_synced() -> None:
        await reports.wait_synced()
        await server.health.serving()
        await asyncio.get_running_loop().create_future()  # the task is cancelled at a stop

    for cluster, source in sources.items():
        runtime.supervise(f"watch {cluster}", ClusterWatch(cluster, source, stream, reports).run)
    runtime.supervise("readiness", serve_when_synced)
    runtime.on_ready(lambda: address.write(server.address))
    runtime.on_stop(lambda: server.stop(settings.stop_grace))
    runtime.on_stop(address.remove)
    return Built(server.address, server.health, reports)


def _source(runtime: Runtime, settings: Settings, cluster: ClusterId, cursors: Cursors) -> ClusterSource:
    match settings.cluster_source:
        case SourceKind.DIRECTORY:
            return _directory(settings, cluster, overlay_path(settings.state_dir, cluster))
        case SourceKind.KUBERNETES:
            client = KubeClient(settings.access_of(cluster), agent=f"muster-{SERVICE}")
            runtime.stack.push_async_callback(client.aclose)
            options = LiveOptions(
                fact_bytes=settings.fact_bytes,
                pace=Pace(page=settings.kube_page),
                rediscover=settings.kube_rediscover,
                skipped=frozenset(settings.kube_skip),
            )
            declared = _directory(settings, cluster, None) if settings.dirs_of(cluster) else None
            return KubernetesSource(cluster, client, cursors, options, declared)


def _directory(settings: Settings, cluster: ClusterId, overlay: Path | None) -> DirectorySource:
    directory = ClusterDirectory(settings.dirs_of(cluster), overlay, limits=settings.limits)
    return DirectorySource(directory, poll_seconds=settings.poll_seconds, fact_bytes=settings.fact_bytes)


def _snapshots(runtime: Runtime, settings: Settings) -> SnapshotStore:
    if settings.redis_url is None:
        return FileSnapshots(settings.state_dir / "snapshots")
    from redis.asyncio import Redis

    from muster_eventstore.redis_snapshots import RedisSnapshots

    redis = Redis.from_url(settings.redis_url)
    runtime.stack.push_async_callback(redis.aclose)
    return RedisSnapshots(redis)
