"""The nodes of a cluster by their provider ids: how a driver learns which node an instance has become."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol, cast

import structlog

from muster_kube import ClusterDirectory
from muster_kubeapi import Changes, Json, KubeClient, Pace, Resource, Trouble, follow
from muster_provisioner.ports import DriverError, DriverErrorKind
from muster_types import NodeName

log = structlog.get_logger("muster.cluster_nodes")

_FIRST_LIST = 30.0  # seconds
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)


class ClusterNodes(Protocol):
    """Registered nodes."""

    async def names(self, provider_ids: Collection[str]) -> Mapping[str, NodeName]:
        """Names of the nodes with these provider ids; those that did not register are left out. Raises DriverError."""
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


class ApiNodes:
    """`ClusterNodes` of an API server, followed from the first question on; only names and provider ids are kept."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._by_node: dict[NodeName, str] = {}
        self._listing: dict[NodeName, str] = {}
        self._following: asyncio.Task[None] | None = None
        self._known = asyncio.Event()

    async def names(self, provider_ids: Collection[str]) -> Mapping[str, NodeName]:
        """Names of the nodes with these provider ids; waits for the first list of all nodes. Raises DriverError."""
        if not provider_ids:
            return {}
        if self._following is None or self._following.done():
            self._following = asyncio.create_task(self._follow(), name="nodes")
        try:
            async with asyncio.timeout(_FIRST_LIST):
                await self._known.wait()
        except TimeoutError as error:
            reason = f"the nodes of the cluster are not listed after {_FIRST_LIST:g} s"
            raise DriverError(DriverErrorKind.TRANSIENT, reason) from error
        wanted, found = set(provider_ids), dict[str, NodeName]()
        for node, provider_id in self._by_node.items():
            if provider_id in wanted and node <= found.get(provider_id, node):
                found[provider_id] = node
        return found

    async def close(self) -> None:
        """Follow no more."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
            self._following = None

    async def _follow(self) -> None:
        async for told in follow(self._client, NODES, pace=Pace(), trouble=_log_trouble):
            if isinstance(told, Changes):
                for change in told.changes:
                    self._note(self._by_node, change.obj, gone=change.gone)
                continue
            if told.first:
                self._listing = {}
            for obj in told.items:
                self._note(self._listing, obj, gone=False)
            if told.version:
                self._by_node, self._listing = self._listing, {}
                self._known.set()

    def _note(self, nodes: dict[NodeName, str], obj: Json, *, gone: bool) -> None:
        spec, metadata = cast("Json", obj.get("spec") or {}), cast("Json", obj.get("metadata") or {})
        name, provider_id = NodeName(str(metadata.get("name", ""))), str(spec.get("providerID") or "")
        if gone or not provider_id:
            nodes.pop(name, None)
        else:
            nodes[name] = provider_id


def _log_trouble(trouble: Trouble) -> None:
    log.warning("watch of nodes", error=str(trouble.error), pause=trouble.pause)
