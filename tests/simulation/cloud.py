"""The provider of nodes: the simulated cloud on a state in memory, and the driver through which a process calls it.

The cloud lives in a lane of its own: a crash of the provisioner neither stops its machines nor takes its locks along.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from muster_provisioner.adapters.drivers import DriversByType
from muster_provisioner.adapters.simulated.driver import SimulatedCloud
from muster_provisioner.adapters.simulated.state import CloudState
from muster_provisioner.adapters.simulated.state_file import StateFile
from muster_provisioner.domain.group import Instance
from muster_provisioner.domain.messages import InstanceId
from muster_provisioner.domain.steps import Traits
from muster_provisioner.ports import (
    DeclaredGroup,
    DriverError,
    DriverErrorKind,
    GroupBounds,
    NodeGroupDriver,
    OrderTags,
    Unserved,
)
from muster_types import NodeGroupName, ObjectKey
from simulation.cluster import MemoryCluster
from simulation.faults import Faults, Kind
from simulation.lanes import Lane
from simulation.loop import SimLoop

T = TypeVar("T")


class MemoryState(StateFile):
    """The cloud's state without a file."""

    def __init__(self) -> None:
        self._state = CloudState()

    def read(self) -> CloudState:
        return self._state

    def change(self, act: Callable[[CloudState], tuple[CloudState, T]]) -> T:
        self._state, result = act(self._state)
        return result


class CloudObjects:
    """`ClusterObjects` of the cloud's machines."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster

    def put(self, obj: Mapping[str, object]) -> None:
        self._cluster.put(obj)

    def delete(self, key: ObjectKey) -> None:
        self._cluster.delete(key)


class RemoteDriver:
    """`NodeGroupDriver`: the cloud over a line that loses calls and answers. `told` hears of every write."""

    def __init__(
        self,
        cloud: SimulatedCloud,
        lane: Lane,
        faults: Faults,
        strike: Callable[[str], Awaitable[None]],
        told: Callable[[str], None],
    ) -> None:
        self._cloud = cloud
        self._lane = lane
        self._faults = faults
        self._strike = strike
        self._told = told

    def traits(self, group: NodeGroupName) -> Traits:
        return self._cloud.traits(group)

    async def groups(self) -> tuple[GroupBounds, ...]:
        return await self._call("read groups", self._cloud.groups)

    async def target_size(self, group: NodeGroupName) -> int:
        return await self._call(f"read target {group}", lambda: self._cloud.target_size(group))

    async def instances(self, group: NodeGroupName) -> tuple[Instance, ...]:
        return await self._call(f"read instances {group}", lambda: self._cloud.instances(group))

    async def increase(self, group: NodeGroupName, delta: int, tags: OrderTags) -> None:
        await self._call(f"increase {group}", lambda: self._cloud.increase(group, delta, tags))

    async def delete(self, group: NodeGroupName, instances: Sequence[InstanceId]) -> None:
        await self._call(f"delete {group}", lambda: self._cloud.delete(group, instances))

    async def decrease_target(self, group: NodeGroupName, by: int) -> None:
        await self._call(f"decrease {group}", lambda: self._cloud.decrease_target(group, by))

    async def wait_change(self, group: NodeGroupName) -> None:
        await self._cloud.wait_change(group)

    async def _call(self, what: str, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        await self._strike(f"before driver {what}")
        place = self._faults.place(f"driver:{what}")
        if self._faults.strikes(Kind.UNREACHABLE, place):
            raise DriverError(DriverErrorKind.TRANSIENT, f"{what}: the call was lost")
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimLoop)
        if not what.startswith("read"):
            self._told(what)
        answer = await asyncio.shield(loop.spawn(self._lane, call()))
        await self._strike(f"after driver {what}")
        if self._faults.strikes(Kind.NO_ANSWER, place):
            raise DriverError(DriverErrorKind.TRANSIENT, f"{what}: the answer was lost")
        return answer


class RemoteDrivers:
    """`Drivers` that put the line in front of each."""

    def __init__(self, inner: DriversByType, remote: RemoteDriver) -> None:
        self._inner = inner
        self._remote = remote

    @property
    def groups(self) -> tuple[NodeGroupName, ...]:
        return self._inner.groups

    def declare(self, declared: DeclaredGroup) -> None:
        self._inner.declare(declared)

    def withdraw(self, group: NodeGroupName) -> None:
        self._inner.withdraw(group)

    def of(self, group: NodeGroupName) -> NodeGroupDriver | Unserved | None:
        found = self._inner.of(group)
        return found if found is None or isinstance(found, Unserved) else self._remote

    def type_of(self, group: NodeGroupName) -> str:
        return self._inner.type_of(group)

    def keeper_of(self, group: NodeGroupName) -> NodeGroupDriver | None:
        return None if self._inner.keeper_of(group) is None else self._remote
