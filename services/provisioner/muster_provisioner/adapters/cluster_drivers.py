"""All drivers of one cluster, opened as the settings say."""

import asyncio
from dataclasses import dataclass

from muster_eventstore import PermanentError
from muster_kube import ClusterDirectory
from muster_kubeapi import KubeClient
from muster_provisioner.adapters.cluster_nodes import ApiNodes, DirectoryNodes
from muster_provisioner.adapters.cluster_overlay import ClusterOverlay
from muster_provisioner.adapters.clusterapi.driver import ClusterApiDriver
from muster_provisioner.adapters.drivers import CLUSTERAPI, EXTERNALGRPC, KARPENTER, DriversByType
from muster_provisioner.adapters.externalgrpc.driver import ExternalGrpcDriver
from muster_provisioner.adapters.externalgrpc.endpoint import BadEndpoint, Endpoint, read_endpoint
from muster_provisioner.adapters.karpenter.driver import KarpenterDriver
from muster_provisioner.adapters.node_marker import ApiMarker, DirectoryMarker
from muster_provisioner.adapters.served_cloud.objects import ApiObjects
from muster_provisioner.adapters.simulated.driver import SimulatedCloud
from muster_provisioner.adapters.simulated.state_file import StateFile
from muster_provisioner.ports import ClusterObjects, NodeMarker
from muster_provisioner.settings import Settings, SourceKind
from muster_servicekit.clock import Clock
from muster_servicekit.runtime import Runtime
from muster_types import ClusterId

_NO_API_SERVER = "its driver {type!r} works through an API server; set MUSTER_CLUSTER_SOURCE=kubernetes"


@dataclass(frozen=True, slots=True)
class Opened:
    """The drivers of a cluster, and what marks the nodes that they could not tag."""

    drivers: DriversByType
    marker: NodeMarker


async def open_drivers(runtime: Runtime, settings: Settings, cluster: ClusterId, clock: Clock) -> Opened:
    """The drivers, with what they run and close registered on `runtime`. Raises PermanentError for a provider's config
    that is not usable."""
    endpoints = await _endpoints(settings)
    if settings.cluster_source is SourceKind.KUBERNETES:
        return await _on_api_server(runtime, settings, cluster, clock, endpoints)
    overlay = settings.overlay(cluster)
    cloud = _simulated(settings, cluster, ClusterOverlay(overlay), clock)
    directory = ClusterDirectory((), overlay)
    external = ExternalGrpcDriver(endpoints, DirectoryNodes(directory))
    runtime.stack.push_async_callback(external.close)
    runtime.supervise(f"cloud-{cluster}", cloud.run)
    absent = {type: _NO_API_SERVER.format(type=type) for type in (CLUSTERAPI, KARPENTER)}
    return Opened(DriversByType(cloud, {EXTERNALGRPC: external}, absent), DirectoryMarker(directory))


async def _on_api_server(
    runtime: Runtime, settings: Settings, cluster: ClusterId, clock: Clock, endpoints: dict[str, Endpoint]
) -> Opened:
    client = await runtime.stack.enter_async_context(
        KubeClient(settings.access_of(cluster), agent="muster-provisioner")
    )
    nodes = ApiNodes(client)
    runtime.stack.push_async_callback(nodes.close)
    cloud = _simulated(settings, cluster, ApiObjects(client), clock)
    external = ExternalGrpcDriver(endpoints, nodes)
    runtime.stack.push_async_callback(external.close)
    clusterapi = ClusterApiDriver(client, nodes, clock)
    karpenter = KarpenterDriver(client, clock)
    runtime.supervise(f"cloud-{cluster}", cloud.run)
    runtime.supervise(f"machines-{cluster}", clusterapi.run)
    runtime.supervise(f"node-claims-{cluster}", karpenter.run)
    others = {EXTERNALGRPC: external, CLUSTERAPI: clusterapi, KARPENTER: karpenter}
    return Opened(DriversByType(cloud, others), ApiMarker(client))


def _simulated(settings: Settings, cluster: ClusterId, objects: ClusterObjects, clock: Clock) -> SimulatedCloud:
    return SimulatedCloud(cluster, settings.seed, StateFile(settings.cloud_file(cluster)), objects, clock)


async def _endpoints(settings: Settings) -> dict[str, Endpoint]:
    def read() -> dict[str, Endpoint]:
        return {name: read_endpoint(file) for name, file in sorted(settings.externalgrpc_config.items())}

    try:
        return await asyncio.to_thread(read)
    except BadEndpoint as error:
        raise PermanentError("BAD_ENDPOINT", f"MUSTER_EXTERNALGRPC_CONFIG: {error}") from error
