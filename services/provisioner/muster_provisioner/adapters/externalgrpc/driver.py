"""Node groups behind the Cluster Autoscaler's cloud provider protocol, as a driver (group-capacity §5.3).

The protocol carries no tags, so which instance belongs to which order is decided by the ids that were not there before;
it has no request id, so an increase is sent once and looked for afterwards (rule N-5.2, kept by the group runner).
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta

import structlog

from clusterautoscaler.cloudprovider.v1.externalgrpc import externalgrpc_pb2 as pb
from muster_provisioner.adapters.cluster_nodes import ClusterNodes
from muster_provisioner.adapters.externalgrpc.endpoint import Endpoint
from muster_provisioner.adapters.externalgrpc.group_settings import ExternalGroup, read_external_group
from muster_provisioner.adapters.externalgrpc.provider import Provider
from muster_provisioner.adapters.externalgrpc.reading import JsonObject, template_hash, to_instance, to_template
from muster_provisioner.domain.group import Instance, InstanceState
from muster_provisioner.domain.messages import InstanceId
from muster_provisioner.domain.steps import Traits
from muster_provisioner.handlers.waiting import never
from muster_provisioner.ports import DeclaredGroup, DriverError, DriverErrorKind, GroupBounds, OrderTags
from muster_types import NodeGroupName

log = structlog.get_logger("muster.externalgrpc")

_ORDER_LIMIT = timedelta(minutes=15)


class _Group:
    """A declared group: its provider, its id there, what the provider said of it."""

    def __init__(self, name: NodeGroupName, settings: ExternalGroup, provider: Provider) -> None:
        self.name = name
        self.settings = settings
        self.provider = provider
        self.id = settings.id or name
        self.options: pb.NodeGroupAutoscalingOptions | None = None
        self.knows_options = False
        self.writing = asyncio.Lock()


class ExternalGrpcDriver:
    """`NodeGroupDriver` for all groups of one cluster whose driver is `externalgrpc`.

    `endpoints` are the configured providers by name; without any, groups may name an address of their own, and with
    exactly one a group need not name it.
    """

    def __init__(self, endpoints: Mapping[str, Endpoint], nodes: ClusterNodes) -> None:
        self._endpoints = endpoints
        self._nodes = nodes
        self._providers: dict[Endpoint, Provider] = {}
        self._groups: dict[NodeGroupName, _Group] = {}
        self._withdrawn: set[NodeGroupName] = set()

    def declare(self, declared: DeclaredGroup) -> str | None:
        """Serve a group from now on; a sentence that says why not."""
        settings = read_external_group(declared.manifest)
        if isinstance(settings, str):
            return settings
        endpoint = self._endpoint(settings)
        if isinstance(endpoint, str):
            return endpoint
        provider = self._providers.setdefault(endpoint, Provider(endpoint))
        self._groups[declared.name] = _Group(declared.name, settings, provider)
        self._withdrawn.discard(declared.name)
        return None

    def withdraw(self, group: NodeGroupName) -> None:
        """Take no more orders for a group; its instances can still be given back."""
        self._withdrawn.add(group)

    async def close(self) -> None:
        """Close the connections to all providers."""
        for provider in self._providers.values():
            await provider.close()

    def traits(self, group: NodeGroupName) -> Traits:
        """No tags; the provider's own limit for a new node if it told one."""
        known = self._known(group)
        limit = _ORDER_LIMIT
        if known.settings.order_limit_seconds is not None:
            limit = timedelta(seconds=known.settings.order_limit_seconds)
        elif known.options is not None and known.options.max_node_provision_duration.ToTimedelta() > timedelta(0):
            limit = known.options.max_node_provision_duration.ToTimedelta()
        settle = timedelta(seconds=known.settings.settle_seconds)
        return Traits(tags_orders=False, settle=settle, order_limit=max(limit, 2 * settle))

    async def groups(self) -> tuple[GroupBounds, ...]:
        """The declared groups that their providers have, by name, with the providers' bounds."""
        found: list[GroupBounds] = []
        for provider in self._providers.values():
            listed = await _listed(provider)
            for name in sorted(set(self._groups) - self._withdrawn):
                group = self._groups[name]
                if group.provider is provider and (bounds := listed.get(group.id)) is not None:
                    found.append(GroupBounds(name, bounds.min_size, bounds.max_size))
        return tuple(sorted(found, key=lambda bounds: bounds.group))

    async def target_size(self, group: NodeGroupName) -> int:
        """Size that was asked for, as the provider says."""
        known = self._known(group)
        return await known.provider.target_size(known.id)

    async def instances(self, group: NodeGroupName) -> tuple[Instance, ...]:
        """All instances, with the names of those that are nodes of the cluster; by id."""
        known = self._known(group)
        await known.provider.refresh()
        await self._learn_options(known)
        return await self._instances(known)

    async def increase(self, group: NodeGroupName, delta: int, tags: OrderTags) -> None:
        """Raise the target size, once there is room for all of it; the protocol has no place for the tags."""
        known = self._known(group)
        if group in self._withdrawn:
            raise DriverError(DriverErrorKind.PERMANENT, f"node group {group} was withdrawn")
        if delta < 1:
            raise DriverError(DriverErrorKind.PERMANENT, f"{group}: {delta} nodes cannot be added")
        async with known.writing:
            await self._check_room(known, delta)
            await known.provider.increase_size(known.id, delta)

    async def delete(self, group: NodeGroupName, instances: Sequence[InstanceId]) -> None:
        """Delete instances by id; those that the provider does not have, or deletes already, are not named to it."""
        known = self._known(group)
        async with known.writing:
            there = {each.id: each for each in await self._instances(known)}
            leaving = [
                pb.ExternalGrpcNode(provider_id=each.id, name=each.node)
                for id in sorted(set(instances))
                if (each := there.get(id)) is not None and each.state is not InstanceState.DELETING
            ]
            if leaving:
                await known.provider.delete_nodes(known.id, leaving)

    async def decrease_target(self, group: NodeGroupName, by: int) -> None:
        """Take back size that no instance stands for."""
        known = self._known(group)
        async with known.writing:
            there = await self._instances(known)
            existing = sum(each.state is not InstanceState.DELETING for each in there)
            unfilled = await known.provider.target_size(known.id) - existing
            if by < 1 or by > unfilled:
                reason = f"the target size cannot be lowered by {by}, only {max(unfilled, 0)} are still to come"
                raise DriverError(DriverErrorKind.PERMANENT, f"{group}: {reason}")
            await known.provider.decrease_target_size(known.id, by)

    async def wait_change(self, group: NodeGroupName) -> None:
        """Never: the protocol has no way to tell."""
        self._known(group)
        await never()

    async def template(self, group: NodeGroupName) -> JsonObject | None:
        """`spec.template` of a NodeGroup as the provider describes a new node; None when it does not, or in bytes that
        are no Node. Never with devices: the protocol carries none, so a side catalogue must declare them."""
        known = self._known(group)
        data = await known.provider.template_node(known.id)
        if data is None:
            return None
        log.info("template", group=group, hash=template_hash(data))
        return to_template(data)

    def _endpoint(self, settings: ExternalGroup) -> Endpoint | str:
        if settings.address:
            if settings.provider:
                return "fields spec.driver.provider and spec.driver.address exclude each other; remove one"
            return Endpoint(address=settings.address)
        if settings.provider:
            found = self._endpoints.get(settings.provider)
            known = ", ".join(sorted(filter(None, self._endpoints))) or "none"
            return found or (
                f"field spec.driver.provider: there is no provider {settings.provider!r} in "
                f"MUSTER_EXTERNALGRPC_CONFIG (known: {known})"
            )
        if len(self._endpoints) == 1:
            return next(iter(self._endpoints.values()))
        count = "none" if not self._endpoints else "several"
        return f"field spec.driver.provider: name a provider; MUSTER_EXTERNALGRPC_CONFIG has {count}"

    async def _instances(self, known: _Group) -> tuple[Instance, ...]:
        listed = await known.provider.nodes(known.id)
        names = await self._nodes.names({each.id for each in listed})
        found = {each.id: to_instance(each, names.get(each.id)) for each in listed if each.id}
        return tuple(found[id] for id in sorted(found))

    async def _check_room(self, known: _Group, delta: int) -> None:
        """`maxSize` is only advice to a direct client: the whole order has room, or nothing is sent."""
        await self._learn_options(known)
        bounds = (await _listed(known.provider)).get(known.id)
        if bounds is None:
            reason = f"{known.name}: provider {known.provider.address} has no node group {known.id!r}"
            raise DriverError(DriverErrorKind.PERMANENT, reason)
        wanted = await known.provider.target_size(known.id) + delta
        if wanted > bounds.max_size:
            reason = f"{known.name}: a size of {wanted} exceeds its maximum of {bounds.max_size}"
            raise DriverError(DriverErrorKind.PERMANENT, reason)
        if known.options is not None and known.options.zero_or_max_node_scaling and wanted != bounds.max_size:
            least = bounds.max_size - wanted + delta
            reason = f"{known.name}: it grows to its maximum of {bounds.max_size} or not at all: order {least}"
            raise DriverError(DriverErrorKind.PERMANENT, reason)

    async def _learn_options(self, known: _Group) -> None:
        """Once for each declaration, as the Cluster Autoscaler keeps a template for the life of its group."""
        if not known.knows_options:
            known.options = await known.provider.options(known.id)
            known.knows_options = True

    def _known(self, group: NodeGroupName) -> _Group:
        known = self._groups.get(group)
        if known is None:
            raise DriverError(DriverErrorKind.PERMANENT, f"no provider serves a node group {group}")
        return known


async def _listed(provider: Provider) -> Mapping[str, pb.NodeGroup]:
    await provider.refresh()
    return {group.id: group for group in await provider.node_groups()}
