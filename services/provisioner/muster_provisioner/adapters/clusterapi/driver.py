"""Node groups of Cluster API objects as a driver (group-capacity §6.1).

Sizes are written as absolute replicas over the version that was read, so that a call that arrives twice, or late,
changes nothing the second time. Which machine goes is said by an annotation on it, before the replicas are lowered.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta

import structlog

from muster_kubeapi import Changes, KubeClient, KubeError, NotServed, Trouble, follow
from muster_kubeapi import Pace as WatchPace
from muster_provisioner.adapters.cluster_nodes import ClusterNodes
from muster_provisioner.adapters.clusterapi.group_settings import ClusterApiGroup, read_clusterapi_group
from muster_provisioner.adapters.clusterapi.machines import Machine, Sized, to_lower
from muster_provisioner.adapters.clusterapi.sized_store import Key, SizedStore
from muster_provisioner.adapters.clusterapi.template import JsonObject, to_template
from muster_provisioner.adapters.kube_calls import as_driver_errors, permanent
from muster_provisioner.domain.group import Instance, InstanceState
from muster_provisioner.domain.messages import InstanceId
from muster_provisioner.domain.steps import Traits
from muster_provisioner.ports import DeclaredGroup, DriverError, DriverErrorKind, GroupBounds, OrderTags
from muster_servicekit.clock import Clock
from muster_types import NodeGroupName, NodeName

log = structlog.get_logger("muster.clusterapi")

_ATTEMPTS = 10  # the controller writes the status of the same object, and every write makes a new version
_ABSENT_PAUSE = 60.0


class ClusterApiDriver:
    """`NodeGroupDriver` for all groups of one cluster whose driver is `clusterapi`. `client` is the management cluster,
    `nodes` are those of the workload cluster. `run` must be running for changes to be told."""

    def __init__(self, client: KubeClient, nodes: ClusterNodes, clock: Clock) -> None:
        self._client = client
        self._nodes = nodes
        self._clock = clock
        self._store = SizedStore(client)
        self._groups: dict[NodeGroupName, ClusterApiGroup] = {}
        self._withdrawn: set[NodeGroupName] = set()
        self._writing: defaultdict[NodeGroupName, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._changed: dict[NodeGroupName, asyncio.Event] = {}
        self._declared = asyncio.Event()

    def declare(self, declared: DeclaredGroup) -> str | None:
        """Serve a group from now on; a sentence that says why not."""
        group = read_clusterapi_group(declared.manifest)
        if isinstance(group, str):
            return group
        self._groups[declared.name] = group
        self._withdrawn.discard(declared.name)
        self._declared.set()
        return None

    def withdraw(self, group: NodeGroupName) -> None:
        """Take no more orders for a group; its machines can still be given back."""
        self._withdrawn.add(group)

    def traits(self, group: NodeGroupName) -> Traits:
        """Machines come from the controller, which knows nothing of orders."""
        driver = self._known(group).spec.driver
        settle, limit = timedelta(seconds=driver.settle_seconds), timedelta(seconds=driver.order_limit_seconds)
        return Traits(tags_orders=False, settle=settle, order_limit=max(limit, 2 * settle))

    async def groups(self) -> tuple[GroupBounds, ...]:
        """The declared groups by name; bounds are the tighter of NodeGroup and annotations."""
        found: list[GroupBounds] = []
        for name in sorted(set(self._groups) - self._withdrawn):
            spec = self._groups[name].spec
            with as_driver_errors(name):
                sized = await self._store.sized(self._key(name))
            found.append(GroupBounds(name, *sized.bounds(spec.min_size, spec.max_size)))
        return tuple(found)

    async def target_size(self, group: NodeGroupName) -> int:
        """Replicas that were asked for."""
        key = self._key(group)
        with as_driver_errors(group):
            return (await self._store.sized(key)).replicas

    async def instances(self, group: NodeGroupName) -> tuple[Instance, ...]:
        """All machines by name; of a MachinePool without Machines its instances by provider id."""
        key = self._key(group)
        with as_driver_errors(group):
            sized = await self._store.sized(key)
            machines = await self._store.machines(key, sized, self._clock.now())
        if machines or key.settings.kind != "MachinePool":
            return tuple(machine.instance for machine in machines)
        names = await self._nodes.names(sized.provider_ids)
        return tuple(
            Instance(InstanceId(id), names.get(id, NodeName("")), InstanceState.RUNNING) for id in sized.provider_ids
        )

    async def increase(self, group: NodeGroupName, delta: int, tags: OrderTags) -> None:
        """Write replicas that are larger by `delta`; the tags have no place here. Not while machines are about to be
        deleted: with more replicas their controller would keep them, and make none instead."""
        key, spec = self._key(group), self._known(group).spec
        if group in self._withdrawn:
            raise permanent(f"node group {group} was withdrawn")
        if delta < 1:
            raise permanent(f"{group}: {delta} nodes cannot be added")
        async with self._writing[group]:
            with as_driver_errors(group):
                for _ in range(_ATTEMPTS):
                    sized = await self._store.sized(key)
                    pause = await self._store.pause(key, sized)
                    if pause is not None:
                        raise permanent(f"{group}: {pause}")
                    wanted, (_, most) = sized.replicas + delta, sized.bounds(spec.min_size, spec.max_size)
                    if wanted > most:
                        raise permanent(f"{group}: a size of {wanted} exceeds its maximum of {most}")
                    machines = await self._store.machines(key, sized, self._clock.now())
                    surplus = _existing(key, sized, machines) - sized.replicas
                    if surplus > 0:
                        reason = f"{group}: {surplus} machines are about to be deleted, so nothing was written"
                        raise DriverError(DriverErrorKind.TRANSIENT, reason)
                    if await self._store.resize(key, sized, wanted):
                        self._tell([group])
                        return
        # Every attempt was refused as outdated, so nothing was written; but a caller can only look and try again.
        raise DriverError(DriverErrorKind.TRANSIENT, f"{group}: other writers of {key} were faster {_ATTEMPTS} times")

    async def delete(self, group: NodeGroupName, instances: Sequence[InstanceId]) -> None:
        """Mark machines, then lower the replicas by as many; a repeat finds them on their way out."""
        key, wanted = self._key(group), frozenset(instances)
        async with self._writing[group]:
            with as_driver_errors(group):
                for attempt in range(_ATTEMPTS):
                    sized = await self._store.sized(key)
                    machines = await self._store.machines(key, sized, self._clock.now())
                    if not machines and key.settings.kind == "MachinePool":
                        if await self._empty_pool(key, sized, wanted):
                            return
                        continue
                    leaving = [each for each in machines if each.name in wanted and not each.deleting]
                    unmarked = [each for each in leaving if not each.marked]
                    if not leaving:
                        return
                    if unmarked:
                        await self._mark(group, key, sized, unmarked)
                        continue
                    by = to_lower(machines, sized.replicas)
                    if by is None:
                        reason = f"{group}: machines are still being made, so others would go instead"
                        raise DriverError(DriverErrorKind.TRANSIENT, reason)
                    if by == 0 or await self._store.resize(key, sized, sized.replicas - by):
                        self._tell([group])
                        return
                    log.info("replicas changed meanwhile", group=group, attempt=attempt)
        raise DriverError(DriverErrorKind.TRANSIENT, f"{group}: other writers of {key} were faster {_ATTEMPTS} times")

    async def decrease_target(self, group: NodeGroupName, by: int) -> None:
        """Lower the replicas, never below the machines that exist."""
        key = self._key(group)
        async with self._writing[group]:
            with as_driver_errors(group):
                for _ in range(_ATTEMPTS):
                    sized = await self._store.sized(key)
                    machines = await self._store.machines(key, sized, self._clock.now())
                    unfilled = sized.replicas - _existing(key, sized, machines)
                    if by < 1 or by > unfilled:
                        reason = f"the replicas cannot be lowered by {by}, only {max(unfilled, 0)} are still to come"
                        raise permanent(f"{group}: {reason}")
                    if await self._store.resize(key, sized, sized.replicas - by):
                        self._tell([group])
                        return
        raise DriverError(DriverErrorKind.TRANSIENT, f"{group}: other writers of {key} were faster {_ATTEMPTS} times")

    async def wait_change(self, group: NodeGroupName) -> None:
        """Return when a machine of the cluster changed."""
        await self._changed.setdefault(group, asyncio.Event()).wait()

    async def template(self, group: NodeGroupName) -> JsonObject | None:
        """`spec.template` of a NodeGroup out of scale-from-zero annotations; None when they do not say enough."""
        key = self._key(group)
        with as_driver_errors(group):
            sized = await self._store.sized(key)
            infrastructure = await self._store.infrastructure(key, sized)
        return to_template(sized.body, infrastructure, key.settings.default_arch)

    async def run(self) -> None:
        """Watch machines, until cancelled; what changed is told to all groups of their API group."""
        await self._declared.wait()
        async with asyncio.TaskGroup() as tasks:
            watched: set[str] = set()
            while True:
                self._declared.clear()
                for api in sorted({group.spec.driver.group for group in self._groups.values()} - watched):
                    watched.add(api)
                    tasks.create_task(self._watch(api))
                await self._declared.wait()

    async def _watch(self, api: str) -> None:
        while True:
            try:
                resource = await self._store.resource(api, "Machine")
                async for told in follow(self._client, resource, pace=WatchPace(), trouble=_log_trouble):
                    if not isinstance(told, Changes) or told.changes:
                        self._tell([name for name, group in self._groups.items() if group.spec.driver.group == api])
            except NotServed as error:
                log.warning("machines are not watched", reason=str(error), retry_seconds=_ABSENT_PAUSE)
            except KubeError as error:
                log.warning("machines are not watched", reason=str(error), retry_seconds=_ABSENT_PAUSE)
            await self._clock.sleep(_ABSENT_PAUSE)

    async def _mark(self, group: NodeGroupName, key: Key, sized: Sized, machines: Sequence[Machine]) -> None:
        pause = await self._store.pause(key, sized)
        if pause is not None:
            raise permanent(f"{group}: {pause}")
        await asyncio.gather(*(self._store.mark(key, machine) for machine in machines))

    async def _empty_pool(self, key: Key, sized: Sized, wanted: frozenset[InstanceId]) -> bool:
        """A pool without Machines can only be emptied: which of its nodes goes otherwise is not ours to choose (T44).
        Whether it is done; False: another writer was faster."""
        there = frozenset(map(InstanceId, sized.provider_ids))
        leaving = wanted & there
        if not leaving:
            return True
        if leaving != there:
            raise permanent(
                f"{key} has no Machines: {len(leaving)} of its {len(there)} nodes cannot be chosen for deletion; "
                "delete them at the provider, or give back the whole pool"
            )
        # Repeated while they are on their way out, the replicas are 0 or only what was asked for since.
        return sized.replicas < len(there) or await self._store.resize(key, sized, sized.replicas - len(there))

    def _tell(self, groups: Sequence[NodeGroupName]) -> None:
        for group in groups:
            event = self._changed.pop(group, None)
            if event is not None:
                event.set()

    def _key(self, group: NodeGroupName) -> Key:
        return Key.of(self._known(group).spec.driver, group)

    def _known(self, group: NodeGroupName) -> ClusterApiGroup:
        known = self._groups.get(group)
        if known is None:
            raise permanent(f"no Cluster API object is declared as node group {group}")
        return known


def _existing(key: Key, sized: Sized, machines: Sequence[Machine]) -> int:
    if not machines and key.settings.kind == "MachinePool":
        return len(sized.provider_ids)
    return sum(not machine.deleting for machine in machines)


def _log_trouble(trouble: Trouble) -> None:
    log.warning("watch of machines", error=str(trouble.error), pause=trouble.pause)
