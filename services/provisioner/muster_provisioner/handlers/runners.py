"""The group runners of this process: one for each node group that has orders, begun when the first one comes."""

import asyncio
from collections.abc import Mapping

from muster_eventstore import Cause, PermanentError
from muster_provisioner.domain.messages import CancelOrder, OrderTerms
from muster_provisioner.handlers.group_runner import GroupRunner
from muster_provisioner.handlers.order_desk import GroupKey, OrderDesk
from muster_provisioner.handlers.pace import Pace
from muster_provisioner.ports import Drivers
from muster_servicekit.clock import Clock
from muster_types import ClusterId, NodeGroupName


class UnknownCluster(PermanentError):
    """A command for a cluster that this process does not serve."""

    def __init__(self, cluster: ClusterId) -> None:
        super().__init__("UNKNOWN_CLUSTER", f"cluster {cluster!r} is not served here; name it in MUSTER_CLUSTERS")


class Runners:
    """Hands commands to the runner of their node group. `run` must be running for anything to move on."""

    def __init__(self, desk: OrderDesk, drivers: Mapping[ClusterId, Drivers], clock: Clock, pace: Pace) -> None:
        self._desk = desk
        self._drivers = drivers
        self._clock = clock
        self._pace = pace
        self._runners: dict[GroupKey, GroupRunner] = {}
        self._begin: asyncio.Queue[GroupRunner] = asyncio.Queue()

    async def place(self, cluster: ClusterId, terms: OrderTerms, cause: Cause) -> None:
        """Record the intent of an order. Raises DomainError, TransientError, UnknownCluster."""
        await self._of(GroupKey(cluster, terms.group)).place(terms, cause)

    async def cancel(self, cluster: ClusterId, command: CancelOrder, cause: Cause) -> None:
        """Record that nodes are to be given back. Raises TransientError, UnknownCluster."""
        await self._of(GroupKey(cluster, command.group)).cancel(command, cause)

    def wake(self, cluster: ClusterId, group: NodeGroupName) -> None:
        """Something about a group changed."""
        runner = self._runners.get(GroupKey(cluster, group))
        if runner is not None:
            runner.wake()

    async def run(self) -> None:
        """Bring all orders to their end, those of before this process too; until cancelled, or a runner fails."""
        for key in self._desk.groups:
            if key.cluster in self._drivers:
                self._of(key)
        async with asyncio.TaskGroup() as tasks:
            while True:
                runner = await self._begin.get()
                tasks.create_task(runner.run())

    def _of(self, key: GroupKey) -> GroupRunner:
        runner = self._runners.get(key)
        if runner is None:
            drivers = self._drivers.get(key.cluster)
            if drivers is None:
                raise UnknownCluster(key.cluster)
            runner = self._runners[key] = GroupRunner(key, self._desk, drivers, self._clock, self._pace)
            self._begin.put_nowait(runner)
        return runner
