"""Where the coordinator writes, opened as the settings say: directories, or the API servers of live clusters."""

from dataclasses import dataclass

from muster_gang_coordinator.adapters.cluster_directory import DirectoryCluster
from muster_gang_coordinator.adapters.kubernetes import KubernetesCluster
from muster_gang_coordinator.adapters.kubernetes_calls import ClusterApi
from muster_gang_coordinator.adapters.kubernetes_events import NO_EVENTS, KubernetesEvents
from muster_gang_coordinator.adapters.kubernetes_groups import KubernetesGroupPods
from muster_gang_coordinator.adapters.kubernetes_holds import HoldKeeper
from muster_gang_coordinator.adapters.kubernetes_kueue import KueueConfigs
from muster_gang_coordinator.ports import ClusterWrites, GroupPods, Notices
from muster_gang_coordinator.settings import Settings, SourceKind
from muster_kube.directory import ClusterDirectory, overlay_path
from muster_kubeapi import KubeClient
from muster_servicekit.clock import Clock
from muster_servicekit.runtime import Runtime
from muster_types import ClusterId


@dataclass(frozen=True, slots=True)
class Opened:
    """All of it; without a live cluster nothing is held, and pods of groups do not wait for anything."""

    writes: ClusterWrites
    holds: HoldKeeper | None = None
    notices: Notices = NO_EVENTS
    pods: GroupPods | None = None


def open_clusters(runtime: Runtime, settings: Settings, clock: Clock, agent: str) -> Opened:
    """What is closed at the end, and what runs by itself, is registered on `runtime`."""
    if settings.cluster_source is not SourceKind.KUBERNETES:
        return Opened(DirectoryCluster(_directories(settings)))
    if not settings.live_writes:
        return Opened(KubernetesCluster({}))
    apis: dict[ClusterId, ClusterApi] = {}
    for cluster in map(ClusterId, settings.clusters):
        client = KubeClient(settings.access_of(cluster), agent=agent)
        runtime.stack.push_async_callback(client.aclose)
        apis[cluster] = ClusterApi(cluster, client)
    runtime.supervise("kueue", KueueConfigs(apis, settings.provisioning_classes, clock).run)
    return Opened(
        KubernetesCluster(apis),
        HoldKeeper(apis, frozenset(settings.holds)),
        KubernetesEvents(apis, clock.now) if settings.events else NO_EVENTS,
        KubernetesGroupPods(apis) if settings.pod_groups else None,
    )


def _directories(settings: Settings) -> dict[ClusterId, ClusterDirectory]:
    if not settings.cluster_writes:
        return {}
    return {
        cluster: ClusterDirectory(settings.dirs_of(cluster), overlay_path(settings.state_dir, cluster))
        for cluster in map(ClusterId, settings.clusters)
    }
