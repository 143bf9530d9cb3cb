"""Node groups of Karpenter NodeClaims, one for each node, as a driver (rules N-6.1 to N-6.10 of the capacity notes).

An order is taken with its first claim, which says how many there will be: from then on the target size counts all of
them, and whoever runs next creates those that are missing. Names are made from order and ordinal, so that nothing is
created twice.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta

import structlog

from muster_kubeapi import Changes, KubeClient, Refused, Trouble, follow
from muster_kubeapi import NotServed as NotServedError
from muster_kubeapi import Pace as WatchPace
from muster_provisioner.adapters.karpenter.claim_store import ClaimStore, NameTaken
from muster_provisioner.adapters.karpenter.claims import NODE_CLAIMS, NODE_GROUP, new_claim, sibling
from muster_provisioner.adapters.karpenter.group_settings import KarpenterGroup, read_karpenter_group
from muster_provisioner.adapters.karpenter.node_class import NodeClasses
from muster_provisioner.adapters.karpenter.reasons import Reasons
from muster_provisioner.adapters.karpenter.sight import first_of, missing, overdue, target_of, to_instance
from muster_provisioner.adapters.kube_calls import as_driver_errors, at, permanent, text
from muster_provisioner.domain.group import Instance
from muster_provisioner.domain.messages import InstanceId
from muster_provisioner.domain.steps import Traits
from muster_provisioner.ports import DeclaredGroup, DriverError, GroupBounds, OrderTags
from muster_servicekit.clock import Clock
from muster_types import NodeGroupName

log = structlog.get_logger("muster.karpenter")

_AT_ONCE = 8  # claims that are created side by side
_ABSENT_PAUSE = 60.0  # seconds until the API server is asked again whether it has NodeClaims


class KarpenterDriver:
    """`NodeGroupDriver` for all groups of one cluster whose driver is `karpenter`. `run` must be running."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._store = ClaimStore(client)
        self._classes = NodeClasses(client)
        self._reasons = Reasons(client, self._classes)
        self._groups: dict[NodeGroupName, KarpenterGroup] = {}
        self._withdrawn: set[NodeGroupName] = set()
        self._writing: defaultdict[NodeGroupName, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._changed: dict[NodeGroupName, asyncio.Event] = {}
        self._unkept: set[NodeGroupName] = set()
        self._wake = asyncio.Event()

    def declare(self, declared: DeclaredGroup) -> str | None:
        """Serve a group from now on; a sentence that says why not."""
        group = read_karpenter_group(declared.manifest)
        if isinstance(group, str):
            return group
        self._groups[declared.name] = group
        self._withdrawn.discard(declared.name)
        self._look_after([declared.name])
        return None

    def withdraw(self, group: NodeGroupName) -> None:
        """Take no more orders for a group; its claims can still be given back."""
        self._withdrawn.add(group)

    def traits(self, group: NodeGroupName) -> Traits:
        """Claims carry their order as labels."""
        driver = self._known(group).spec.driver
        settle, limit = timedelta(seconds=driver.settle_seconds), timedelta(seconds=driver.order_limit_seconds)
        return Traits(tags_orders=True, settle=settle, order_limit=max(limit, 2 * settle))

    async def groups(self) -> tuple[GroupBounds, ...]:
        """The groups declared to it, by name; Karpenter itself knows none."""
        known = sorted(set(self._groups) - self._withdrawn)
        specs = [(name, self._groups[name].spec) for name in known]
        return tuple(GroupBounds(name, spec.min_size, spec.max_size) for name, spec in specs)

    async def target_size(self, group: NodeGroupName) -> int:
        """Claims that are not on their way out, and those of an order that are still to be created."""
        self._known(group)
        with as_driver_errors(group):
            return target_of(await self._store.of(group))

    async def instances(self, group: NodeGroupName) -> tuple[Instance, ...]:
        """All claims of the group, by name."""
        driver = self._known(group).spec.driver
        now, within = self._clock.now(), timedelta(seconds=driver.initialize_seconds)
        found: list[Instance] = []
        with as_driver_errors(group):
            for claim in await self._store.of(group):
                failure = (
                    await self._reasons.of(claim, driver.node_class_ref)
                    if claim.failed
                    else overdue(claim, within, now)
                )
                found.append(to_instance(claim, failure))
        return tuple(found)

    async def increase(self, group: NodeGroupName, delta: int, tags: OrderTags) -> None:
        """Create the claims of an order. Repeated with the same tags it creates those that are missing, unless all of
        them were created before."""
        settings = self._known(group)
        if group in self._withdrawn:
            raise permanent(f"node group {group} was withdrawn")
        if delta < 1:
            raise permanent(f"{group}: {delta} nodes cannot be added")
        async with self._writing[group]:
            with as_driver_errors(group):
                claims = await self._store.of(group)
                own = [claim for claim in claims if claim.order == tags.order]
                if own and tags.order not in first_of(own):
                    return
                wanted = target_of(claims, without=tags.order) + delta
                if wanted > settings.spec.max_size:
                    raise permanent(f"{group}: a size of {wanted} exceeds its maximum of {settings.spec.max_size}")
                problem = await self._classes.problem(settings.spec.driver.node_class_ref)
                if problem is not None:
                    raise permanent(f"{group}: {problem}; claims would be deleted at once")
                first = new_claim(group, settings, tags, tags.first_ordinal, delta if delta > 1 else 0)
                try:
                    await self._store.create(first, tags.order)
                    await self._complete(group, settings, tags)
                except (Refused, NameTaken) as error:
                    await self._take_back(group, tags)
                    if isinstance(error, Refused):
                        raise
                    raise permanent(f"{group}: {error}") from error

    async def delete(self, group: NodeGroupName, instances: Sequence[InstanceId]) -> None:
        """Delete claims, and with them their machines; no further claim of their orders is created."""
        self._known(group)
        async with self._writing[group]:
            with as_driver_errors(group):
                claims = await self._store.of(group)
                wanted = frozenset(instances)
                leaving = [claim for claim in claims if claim.name in wanted and (claim.ours or not claim.deleting)]
                touched = {claim.order for claim in leaving}
                for order, first in sorted(first_of(claims).items()):
                    if order in touched:
                        await self._store.note_creating(first, 0)
                await asyncio.gather(*map(self._store.give_up, leaving))

    async def decrease_target(self, group: NodeGroupName, by: int) -> None:
        """Create fewer of the claims that are still to be created."""
        self._known(group)
        async with self._writing[group]:
            with as_driver_errors(group):
                claims = await self._store.of(group)
                creating = sorted(first_of(claims).items())
                rest = {order: missing(first, claims) for order, first in creating}
                if by < 1 or by > sum(rest.values()):
                    reason = f"the target size cannot be lowered by {by}, only {sum(rest.values())} are still to come"
                    raise permanent(f"{group}: {reason}")
                for order, first in reversed(creating):
                    taken = min(by, rest[order])
                    by -= taken
                    if taken:
                        left = first.creating - taken if taken < rest[order] else 0
                        await self._store.note_creating(first, left)

    async def wait_change(self, group: NodeGroupName) -> None:
        """Return when a claim of the group changed."""
        await self._changed.setdefault(group, asyncio.Event()).wait()

    async def run(self) -> None:
        """Watch the claims, and look after those that need it; until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watch())
            tasks.create_task(self._keep())

    async def keep(self, group: NodeGroupName) -> None:
        """Create the claims that an earlier process did not come to create, and let go of those whose machines are
        gone. Raises DriverError."""
        settings = self._groups[group]
        async with self._writing[group]:
            with as_driver_errors(group):
                claims = await self._store.of(group)
                for order, first in sorted(first_of(claims).items()):
                    if first.ours:
                        log.info("an order is completed", group=group, order=order)
                        tags = OrderTags(order, first.gang, first.ordinal)
                        try:
                            await self._complete(group, settings, tags)
                        except (Refused, NameTaken) as error:
                            log.warning("an order stays short", group=group, order=order, error=str(error))
                            await self._store.note_creating(first, 0)
                for claim in claims:
                    if claim.deleting and claim.ours and claim.registered and not claim.held_by_karpenter:
                        await self._store.release(claim)

    async def _complete(self, group: NodeGroupName, settings: KarpenterGroup, tags: OrderTags) -> None:
        """Create the missing claims of an order after its first one, and say that all were created."""
        claims = [claim for claim in await self._store.of(group) if claim.order == tags.order]
        first = first_of(claims).get(tags.order)
        if first is None:
            return
        there = {claim.ordinal for claim in claims}
        ordinals = [each for each in range(first.ordinal, first.ordinal + first.creating) if each not in there]
        turn = asyncio.Semaphore(_AT_ONCE)

        async def make(ordinal: int) -> None:
            async with turn:
                await self._store.create(sibling(first, group, settings, ordinal), tags.order)

        results = await asyncio.gather(*map(make, ordinals), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        await self._store.note_creating(first, 0)

    async def _take_back(self, group: NodeGroupName, tags: OrderTags) -> None:
        """All or nothing: what was created of a refused order goes again."""
        claims = [claim for claim in await self._store.of(group) if claim.order == tags.order]
        for first in first_of(claims).values():
            await self._store.note_creating(first, 0)
        await asyncio.gather(*map(self._store.give_up, claims))

    async def _watch(self) -> None:
        while True:
            try:
                async for told in follow(
                    self._client, NODE_CLAIMS, pace=WatchPace(), trouble=_log_trouble, label_selector=NODE_GROUP
                ):
                    if isinstance(told, Changes):
                        objects = [change.obj for change in told.changes]
                        self._tell({_group_of(obj) for obj in objects})
                    else:
                        self._tell(set(self._groups))
            except NotServedError:
                log.warning("the API server has no NodeClaims (karpenter.sh/v1)", retry_seconds=_ABSENT_PAUSE)
            await self._clock.sleep(_ABSENT_PAUSE)

    async def _keep(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            unkept, self._unkept = self._unkept, set()
            for group in sorted(unkept & self._groups.keys()):
                try:
                    await self.keep(group)
                except DriverError as error:
                    log.warning("claims are looked after later", group=group, error=error.message)
                    self._unkept.add(group)
            if self._unkept:
                await self._clock.sleep(1)
                self._wake.set()

    def _tell(self, groups: set[NodeGroupName]) -> None:
        for group in sorted(groups):
            event = self._changed.pop(group, None)
            if event is not None:
                event.set()
        self._look_after(sorted(groups))

    def _look_after(self, groups: Sequence[NodeGroupName]) -> None:
        self._unkept.update(groups)
        self._wake.set()

    def _known(self, group: NodeGroupName) -> KarpenterGroup:
        known = self._groups.get(group)
        if known is None:
            raise permanent(f"no group of NodeClaims is declared as {group}")
        return known


def _group_of(obj: object) -> NodeGroupName:
    labels = at(obj, "metadata", "labels") if isinstance(obj, dict) else {}
    return NodeGroupName(text(labels.get(NODE_GROUP)))


def _log_trouble(trouble: Trouble) -> None:
    log.warning("watch of NodeClaims", error=str(trouble.error), pause=trouble.pause)
