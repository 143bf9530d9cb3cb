"""The simulated cloud of one cluster as it is served: its files, its catalogue, and where its machines register."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from muster_eventstore import PermanentError, TransientError
from muster_kube import ClusterDirectory, overlay_path
from muster_kubeapi import Access, Json, KubeClient, KubeError, Resource, list_pages
from muster_provisioner.adapters.served_cloud.catalogue import DirectoryCatalogue
from muster_provisioner.adapters.served_cloud.objects import ApiObjects, SharedOverlay
from muster_provisioner.adapters.simulated.driver import SimulatedCloud
from muster_provisioner.adapters.simulated.state_file import StateFile
from muster_provisioner.ports import DriverError
from muster_servicekit.clock import Clock
from muster_servicekit.runtime import Runtime
from muster_types import ClusterId

_NODES = Resource("", "v1", "nodes", "Node", namespaced=False)


@dataclass(frozen=True, slots=True)
class CloudOptions:
    """`load`: dumps with the node groups; `state`: what the cloud remembers, and the overlay in which its machines
    register; with `access` they register in that API server instead."""

    load: Sequence[Path]
    state: Path
    cluster: ClusterId
    seed: int = 1
    access: Access | None = None


async def open_cloud(
    runtime: Runtime, options: CloudOptions, clock: Clock
) -> tuple[SimulatedCloud, DirectoryCatalogue]:
    """The cloud with its groups declared. Raises PermanentError for files that are not usable, TransientError."""
    overlay = overlay_path(options.state, options.cluster)
    file = StateFile(options.state / "cloud" / f"{options.cluster}.json")
    directory = ClusterDirectory(tuple(options.load), overlay)
    if options.access is None:
        cloud = SimulatedCloud(options.cluster, options.seed, file, SharedOverlay(overlay), clock)
        catalogue = DirectoryCatalogue(directory, cloud, options.cluster)
    else:
        client = await runtime.stack.enter_async_context(KubeClient(options.access, agent="muster-simcloud"))

        async def nodes() -> Sequence[Json]:
            pages = [page async for page in list_pages(client, _NODES)]
            return [{**item, "kind": "Node"} for page in pages for item in page.items]

        cloud = SimulatedCloud(options.cluster, options.seed, file, ApiObjects(client), clock)
        catalogue = DirectoryCatalogue(directory, cloud, options.cluster, nodes)
    try:
        await catalogue.refresh()
        groups = await cloud.groups()
    except DriverError as error:
        raise PermanentError("DAMAGED_STATE", error.message) from error
    except KubeError as error:
        raise TransientError(str(error)) from error
    if not groups:
        where = ", ".join(map(str, options.load))
        raise PermanentError("NOTHING_TO_SELL", f"{where}: no sound NodeGroup with driver simulated or externalgrpc")
    return cloud, catalogue
