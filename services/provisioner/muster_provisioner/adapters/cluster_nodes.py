"""The nodes of a cluster by their provider ids: how a driver learns which node an instance has become."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol, cast

from muster_kube import ClusterDirectory
from muster_types import NodeName

Json = Mapping[str, object]


class ClusterNodes(Protocol):
    """Registered nodes."""

    async def names(self, provider_ids: Collection[str]) -> Mapping[str, NodeName]:
        """Names of the nodes with these provider ids; those that did not register are left out."""
        ...


class DirectoryNodes:
    """`ClusterNodes` of a cluster that is a list of directories."""

    def __init__(self, directory: ClusterDirectory) -> None:
        self._directory = directory

    async def names(self, provider_ids: Collection[str]) -> Mapping[str, NodeName]:
        """Names of the nodes with these provider ids."""
        if not provider_ids:
            return {}
        listing = await asyncio.to_thread(self._directory.list)
        return names_of((held.obj for held in listing.objects.values()), provider_ids)


def names_of(objects: Iterable[Json], provider_ids: Collection[str]) -> dict[str, NodeName]:
    """The nodes among Kubernetes objects, by provider id; the first by name where two nodes claim the same one."""
    wanted = set(provider_ids)
    found: dict[str, NodeName] = {}
    for obj in objects:
        if obj.get("kind") != "Node":
            continue
        spec, metadata = cast("Json", obj.get("spec") or {}), cast("Json", obj.get("metadata") or {})
        provider_id, name = str(spec.get("providerID", "")), NodeName(str(metadata.get("name", "")))
        if provider_id in wanted and name and name <= found.get(provider_id, name):
            found[provider_id] = name
    return found
