"""The simulated cloud served over a socket, on a clock that stands until it is advanced."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from clusterautoscaler.cloudprovider.v1.externalgrpc import externalgrpc_pb2_grpc as rpc
from muster_kube import ClusterDirectory, overlay_path
from muster_provisioner.adapters.served_cloud.catalogue import DirectoryCatalogue
from muster_provisioner.adapters.served_cloud.objects import SharedOverlay
from muster_provisioner.adapters.simulated.driver import SimulatedCloud
from muster_provisioner.adapters.simulated.state_file import StateFile
from muster_provisioner.entrypoints.simcloud import NAME, SimcloudServicer
from muster_servicekit.clock import FakeClock
from muster_servicekit.grpc import Service, Tls, start_server

CLUSTER = "local"


@dataclass(frozen=True, slots=True)
class ServedCloud:
    """A cloud that listens; `directory` is the cluster that its machines register in."""

    address: str
    cloud: SimulatedCloud
    clock: FakeClock
    directory: ClusterDirectory

    async def pass_time(self, seconds: float) -> None:
        """Let everything happen that is due within so long."""
        end = self.clock.now().timestamp() + seconds
        while (now := self.clock.now().timestamp()) < end:
            moment = await self.cloud.tick()
            await self.clock.advance(min(end - now, max((moment or end) - now, 0.01)))
        await self.cloud.tick()


def a_sold_group(name: str = "h100-r7", **changes: object) -> dict[str, object]:
    """A NodeGroup of at most 6 nodes, 2 of which exist, whose second order runs out of stock after one node."""
    behaviour = {"deleteSeconds": 1, "jitterSeconds": 1, "script": [{"order": 2, "stockoutAfter": 1}]}
    spec: dict[str, object] = {
        "minSize": 1,
        "maxSize": 6,
        "currentSize": 2,
        "driver": {"type": "simulated", **behaviour},
        "template": {
            "metadata": {"labels": {"topology.kubernetes.io/rack": "r7"}},
            "spec": {"taints": [{"key": "accelerator", "value": "h100", "effect": "NoSchedule"}]},
            "status": {"allocatable": {"cpu": "192", "memory": "2Ti", "pods": "110"}},
        },
    }
    return {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "NodeGroup",
        "metadata": {"name": name},
        "spec": {**spec, **changes},
    }


def write_cluster(path: Path, objects: Sequence[Mapping[str, object]]) -> None:
    """A dump of a cluster."""
    path.mkdir(exist_ok=True)
    (path / "cluster.yaml").write_text(yaml.safe_dump_all(objects))


@asynccontextmanager
async def serving(
    tmp_path: Path, *objects: Mapping[str, object], tls: Tls | None = None
) -> AsyncGenerator[ServedCloud]:
    """Serve a cluster's node groups until the end of the block."""
    load, state = tmp_path / "dump", tmp_path / "simcloud"
    write_cluster(load, objects)
    clock = FakeClock()
    overlay = overlay_path(state)
    cloud = SimulatedCloud(CLUSTER, 7, StateFile(state / "cloud" / "local.json"), SharedOverlay(overlay), clock)
    directory = ClusterDirectory((load,), overlay)
    catalogue = DirectoryCatalogue(directory, cloud, CLUSTER)
    await catalogue.refresh()
    servicer = SimcloudServicer(cloud, catalogue, CLUSTER)
    served = Service(NAME, lambda server: rpc.add_CloudProviderServicer_to_server(servicer, server))
    server = await start_server("localhost:0", [served], tls=tls)
    try:
        yield ServedCloud(server.address, cloud, clock, directory)
    finally:
        await server.stop(0)
