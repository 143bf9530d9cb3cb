"""All drivers of one cluster, opened as the settings say."""

import asyncio

from muster_eventstore import PermanentError
from muster_kube import ClusterDirectory
from muster_provisioner.adapters.cluster_nodes import DirectoryNodes
from muster_provisioner.adapters.cluster_overlay import ClusterOverlay
from muster_provisioner.adapters.drivers import CLUSTERAPI, EXTERNALGRPC, KARPENTER, DriversByType
from muster_provisioner.adapters.externalgrpc.driver import ExternalGrpcDriver
from muster_provisioner.adapters.externalgrpc.endpoint import BadEndpoint, Endpoint, read_endpoint
from muster_provisioner.adapters.simulated.driver import SimulatedCloud
from muster_provisioner.adapters.simulated.state_file import StateFile
from muster_provisioner.settings import Settings
from muster_servicekit.clock import Clock
from muster_servicekit.runtime import Runtime
from muster_types import ClusterId

_NO_API_SERVER = "its driver {type!r} works through an API server; set MUSTER_CLUSTER_SOURCE=kubernetes"


async def open_drivers(runtime: Runtime, settings: Settings, cluster: ClusterId, clock: Clock) -> DriversByType:
    """The drivers, with what they run and close registered on `runtime`. Raises PermanentError for a provider's config
    that is not usable."""
    cloud = simulated_cloud(settings, cluster, clock)
    runtime.supervise(f"cloud-{cluster}", cloud.run)
    nodes = DirectoryNodes(ClusterDirectory((), settings.overlay(cluster)))
    external = ExternalGrpcDriver(await _endpoints(settings), nodes)
    runtime.stack.push_async_callback(external.close)
    absent = {type: _NO_API_SERVER.format(type=type) for type in (CLUSTERAPI, KARPENTER)}
    return DriversByType(cloud, {EXTERNALGRPC: external}, absent)


def simulated_cloud(settings: Settings, cluster: ClusterId, clock: Clock) -> SimulatedCloud:
    """The simulated cloud of a cluster on its files; any process may open it."""
    file, overlay = StateFile(settings.cloud_file(cluster)), ClusterOverlay(settings.overlay(cluster))
    return SimulatedCloud(cluster, settings.seed, file, overlay, clock)


async def _endpoints(settings: Settings) -> dict[str, Endpoint]:
    def read() -> dict[str, Endpoint]:
        return {name: read_endpoint(file) for name, file in sorted(settings.externalgrpc_config.items())}

    try:
        return await asyncio.to_thread(read)
    except BadEndpoint as error:
        raise PermanentError("BAD_ENDPOINT", f"MUSTER_EXTERNALGRPC_CONFIG: {error}") from error
