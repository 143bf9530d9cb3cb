"""What the served cloud sells: the node groups of a cluster's directories, and the nodes that they have already."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import cast

import structlog

from muster_kube import ClusterDirectory, Rejected
from muster_provisioner.adapters.simulated.driver import SimulatedCloud
from muster_provisioner.adapters.simulated.group_settings import SimulatedGroup, read_group
from muster_provisioner.adapters.simulated.nodes import NODE_GROUP
from muster_provisioner.domain.messages import InstanceId
from muster_provisioner.domain.offer import Offer, Taint
from muster_types import NodeGroupName

log = structlog.get_logger("muster.simcloud")

Json = Mapping[str, object]
_SIMULATED = "simulated"


class DirectoryCatalogue:
    """NodeGroups and Nodes of directories, read anew at each refresh.

    Groups with driver `simulated` are sold as they stand. Those with driver `externalgrpc` are sold under the id that
    their clients know, and behave as `spec.driver.simulated` says, so that one dump serves both sides. Without
    `live_nodes` the nodes are those of the directories too.
    """

    def __init__(
        self,
        directory: ClusterDirectory,
        cloud: SimulatedCloud,
        cluster: str,
        live_nodes: Callable[[], Awaitable[Sequence[Json]]] | None = None,
    ) -> None:
        self._directory = directory
        self._cloud = cloud
        self._cluster = cluster
        self._manifests: dict[NodeGroupName, Json] = {}
        self._offers: dict[NodeGroupName, Offer] = {}
        self._outer: dict[InstanceId, str] = {}
        self._inner: dict[str, InstanceId] = {}
        self._live_nodes = live_nodes
        self._refreshing = asyncio.Lock()
        self._told: tuple[Rejected, ...] = ()

    async def refresh(self) -> None:
        """Declare new and changed groups to the cloud, withdraw those that are gone, recognise nodes."""
        async with self._refreshing:
            await self._refresh()

    async def _refresh(self) -> None:
        listing = await asyncio.to_thread(self._directory.list)
        for rejected in listing.rejected:
            if rejected not in self._told:
                log.warning("an object of the dump is not read", reason=rejected.sentence())
        self._told = listing.rejected
        objects = [listing.objects[key].obj for key in sorted(listing.objects)]
        served = {NodeGroupName(_name(each)): each for obj in objects if (each := simulated_manifest(obj)) is not None}
        for name in sorted(self._manifests.keys() - served.keys()):
            log.info("node group is gone", group=name)
            self._cloud.withdraw(name)
            del self._manifests[name]
            self._offers.pop(name, None)
        for name, manifest in sorted(served.items()):
            if self._manifests.get(name) != manifest:
                self._declare(name, manifest)
                self._manifests[name] = manifest
        live = None if self._live_nodes is None else await self._live_nodes()
        nodes = [obj for obj in objects if obj.get("kind") == "Node"] if live is None else live
        for name in sorted(self._offers):
            await self._recognise(name, nodes)

    def offer(self, group: NodeGroupName) -> Offer | None:
        """What a group sells; None for one that is not there, or whose object is not sound."""
        return self._offers.get(group)

    def provider_id(self, instance: InstanceId) -> str:
        """What the cluster's node calls an instance; the cloud's own id unless the node was there before the cloud."""
        return self._outer.get(instance, instance)

    def instance(self, provider_id: str) -> InstanceId:
        """The inverse of `provider_id`."""
        return self._inner.get(provider_id, InstanceId(provider_id))

    def _declare(self, name: NodeGroupName, manifest: Json) -> None:
        settings = read_group(manifest)
        if isinstance(settings, str):
            log.warning("node group is not sold", group=name, reason=settings)
            self._cloud.withdraw(name)
            self._offers.pop(name, None)
            return
        self._cloud.declare(settings)
        self._offers[name] = to_offer(manifest, settings)

    async def _recognise(self, group: NodeGroupName, nodes: Iterable[Json]) -> None:
        """Give instances that the cloud began with the provider ids of the cluster's nodes: both in order, each for as
        long as this process runs."""
        prefix = f"simulated://{self._cluster}/{group}/existing-"
        old = [each.id for each in await self._cloud.instances(group) if each.id.startswith(prefix)]
        free = sorted((id for id in old if id not in self._outer), key=lambda id: int(id.removeprefix(prefix)))
        selector = _selector(self._manifests[group])
        found = {str(_at(node, "spec").get("providerID") or ""): _name(node) for node in nodes if _is(node, selector)}
        unknown = sorted((id for id in found if id and id not in self._inner), key=lambda id: found[id])
        for instance, provider_id in zip(free, unknown, strict=False):
            self._outer[instance] = provider_id
            self._inner[provider_id] = instance


def simulated_manifest(obj: Json) -> Json | None:
    """A NodeGroup as the simulated cloud reads it; None for objects that it does not sell."""
    if obj.get("kind") != "NodeGroup":
        return None
    spec = _at(obj, "spec")
    driver = _at(spec, "driver")
    match driver.get("type", _SIMULATED):
        case "simulated":
            return obj
        case "externalgrpc":
            behaviour = {**_at(driver, _SIMULATED), "type": _SIMULATED}
            metadata = {**_at(obj, "metadata"), "name": driver.get("id") or _name(obj)}
            return {**obj, "metadata": metadata, "spec": {**spec, "driver": behaviour}}
        case _:
            return None


def to_offer(manifest: Json, settings: SimulatedGroup) -> Offer:
    """What a group sells, out of its NodeGroup object."""
    spec, template = _at(manifest, "spec"), settings.spec.template
    price = spec.get("pricePerNode")
    allocatable = {name: str(amount) for name, amount in template.status.allocatable.items()}
    return Offer(
        labels={**template.metadata.labels, NODE_GROUP: settings.name},
        annotations=dict(template.metadata.annotations),
        taints=tuple(
            Taint(str(each.get("key", "")), str(each.get("value") or ""), str(each.get("effect", "")))
            for each in template.spec.taints
        ),
        capacity={name: str(amount) for name, amount in template.status.capacity.items()} or allocatable,
        allocatable=allocatable,
        price=float(price) if isinstance(price, int | float) else None,
        zero_or_max=spec.get("zeroOrMax") is True,
        order_limit_seconds=settings.spec.driver.order_limit_seconds,
    )


def _selector(manifest: Json) -> Json:
    """Labels of the nodes that a group has already: its selector's, else its template's (architecture §8)."""
    spec = _at(manifest, "spec")
    return _at(_at(spec, "selector"), "matchLabels") or _at(_at(_at(spec, "template"), "metadata"), "labels")


def _is(node: Json, labels: Json) -> bool:
    has = _at(_at(node, "metadata"), "labels")
    return bool(labels) and NODE_GROUP not in has and all(has.get(key) == value for key, value in labels.items())


def _name(obj: Json) -> str:
    return str(_at(obj, "metadata").get("name", ""))


def _at(obj: Json, field: str) -> Json:
    value = obj.get(field)
    return cast("Json", value) if isinstance(value, Mapping) else {}
