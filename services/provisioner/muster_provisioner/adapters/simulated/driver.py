"""The simulated cloud as a driver: calls from the provisioner, and a loop that lets its machines live.

All that it knows lies in its state file, so it survives a crash of its process. It writes Node, ResourceSlice and
daemon Pod objects as machines boot, and removes them with their machine. Another front can serve the same object: it
speaks of groups and instances only.
"""

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

import structlog

from muster_kube.keys import object_key
from muster_provisioner.adapters.simulated.cloud import Cloud, Refused, is_gone, moments, next_phase
from muster_provisioner.adapters.simulated.group_settings import SimulatedGroup
from muster_provisioner.adapters.simulated.nodes import daemon_pods, node_object
from muster_provisioner.adapters.simulated.slices import JsonObject, slice_objects
from muster_provisioner.adapters.simulated.state import CloudState, DamagedState, Group, Machine, Phase
from muster_provisioner.adapters.simulated.state_file import StateFile
from muster_provisioner.domain.group import Failure, Instance, InstanceState
from muster_provisioner.domain.messages import InstanceId, ShortfallClass
from muster_provisioner.domain.steps import Traits
from muster_provisioner.handlers.waiting import wait_first
from muster_provisioner.ports import ClusterObjects, DriverError, DriverErrorKind, GroupBounds, OrderTags
from muster_servicekit.clock import Clock
from muster_types import NodeGroupName

log = structlog.get_logger("muster.simulated_cloud")

_STEP = 0.02  # seconds; what is due within is done at once
_LONGEST_SLEEP = 5.0  # seconds; another process may have changed the state file
_STATES = {
    Phase.CREATING: InstanceState.CREATING,
    Phase.FAILED: InstanceState.CREATING,
    Phase.DELETING: InstanceState.DELETING,
}


@dataclass(frozen=True, slots=True)
class _Progress:
    """What a machine was and became; None: it is gone."""

    group: NodeGroupName
    before: Machine
    after: Machine | None


class SimulatedCloud:
    """The cloud of one cluster; `NodeGroupDriver` for all groups declared to it. `run` must be running."""

    def __init__(self, cluster: str, seed: int, file: StateFile, objects: ClusterObjects, clock: Clock) -> None:
        self._cloud = Cloud(cluster, seed)
        self._file = file
        self._objects = objects
        self._clock = clock
        self._settings: dict[NodeGroupName, SimulatedGroup] = {}
        self._withdrawn: set[NodeGroupName] = set()
        self._changed: dict[NodeGroupName, asyncio.Event] = {}
        self._wake = asyncio.Event()
        self._ticking = asyncio.Lock()

    def declare(self, settings: SimulatedGroup) -> None:
        """Serve a group, or go on serving it with other settings; what its machines drew at birth stays."""
        self._settings[settings.name] = settings
        self._withdrawn.discard(settings.name)
        self._wake.set()

    def withdraw(self, group: NodeGroupName) -> None:
        """Take no more orders for a group; its machines live on."""
        self._withdrawn.add(group)

    def traits(self, group: NodeGroupName) -> Traits:
        """Every instance carries its order; times as the group's settings say."""
        behaviour = self._known(group).spec.driver
        return Traits(
            True, timedelta(seconds=behaviour.settle_seconds), timedelta(seconds=behaviour.order_limit_seconds)
        )

    async def groups(self) -> tuple[GroupBounds, ...]:
        """The groups declared to it, by name."""
        known = sorted(set(self._settings) - self._withdrawn)
        specs = [(name, self._settings[name].spec) for name in known]
        return tuple(GroupBounds(name, spec.min_size, spec.max_size) for name, spec in specs)

    async def target_size(self, group: NodeGroupName) -> int:
        """Size that was asked for."""
        return (await self._look(group)).target

    async def instances(self, group: NodeGroupName) -> tuple[Instance, ...]:
        """All machines of the group, by id."""
        return tuple(_instance(each) for _, each in sorted((await self._look(group)).machines.items()))

    async def increase(self, group: NodeGroupName, delta: int, tags: OrderTags) -> None:
        """Raise the target size; the machines exist from then on."""
        settings = self._known(group)
        if group in self._withdrawn:
            raise DriverError(DriverErrorKind.PERMANENT, f"node group {group} was withdrawn")
        now = self._now()

        def act(of: Group) -> tuple[Group, Refused | None]:
            answer = self._cloud.increase(of, settings, delta, tags, now)
            return (answer.group, answer) if isinstance(answer, Refused) else (answer, None)

        await self._write(group, act)

    async def delete(self, group: NodeGroupName, instances: Sequence[InstanceId]) -> None:
        """Delete machines and their objects."""
        settings = self._known(group)
        with _as_driver_errors():
            await self.tick()  # objects that a crash left unrecorded are recorded, so that they go with their machine
        now = self._now()
        await self._write(group, lambda of: (self._cloud.delete(of, settings, instances, now), None))

    async def decrease_target(self, group: NodeGroupName, by: int) -> None:
        """Take back size that no machine stands for."""

        def act(of: Group) -> tuple[Group, Refused | None]:
            answer = self._cloud.decrease(of, by)
            return (answer.group, answer) if isinstance(answer, Refused) else (answer, None)

        await self._write(group, act)

    async def wait_change(self, group: NodeGroupName) -> None:
        """Return when something happened in the group."""
        await self._changed.setdefault(group, asyncio.Event()).wait()

    async def calls(self, group: NodeGroupName) -> tuple[int, int]:
        """How many increase calls the cloud heard of the group, and how many of them took effect."""
        found = await self._look(group)
        return sum(found.calls.values()), sum(found.applied.values())

    async def run(self) -> None:
        """Let machines live, until cancelled."""
        while True:
            self._wake.clear()
            try:
                moment = await self.tick()
            except (DamagedState, OSError) as error:
                log.error("the simulated cloud stands still", error=str(error))
                moment = None
            pause = _LONGEST_SLEEP if moment is None else min(max(moment - self._now(), _STEP), _LONGEST_SLEEP)
            await wait_first(self._wake.wait(), self._clock.sleep(pause))

    async def tick(self) -> float | None:
        """Let everything happen that is due; when something happens next, None if nothing is in sight.

        Objects are written first and the machines' progress is recorded after: what a crash leaves unrecorded is
        written once more. Calls of the provisioner are not held up meanwhile.
        """
        async with self._ticking:
            now = self._now()
            await asyncio.to_thread(self._file.change, lambda state: (self._apply_pending(state, now), None))
            progress = await asyncio.to_thread(self._progress, now)
            changed, moment = await asyncio.to_thread(self._file.change, lambda state: self._settle(state, progress))
        self._tell(changed)
        return moment

    def _apply_pending(self, state: CloudState, now: float) -> CloudState:
        for name in self._groups_of(state):
            group = state.groups[name]
            if group.pending:
                state = state.with_group(self._cloud.apply_pending(group, self._settings[name], now))
        return state

    def _progress(self, now: float) -> "list[_Progress]":
        """What becomes of machines by now; their objects are written or removed."""
        state = self._file.read()
        found: list[_Progress] = []
        for name in self._groups_of(state):
            for machine in state.groups[name].machines.values():
                if is_gone(machine, now):
                    for key in reversed(machine.objects):
                        self._objects.delete(key)
                    found.append(_Progress(name, machine, None))
                elif (lived := self._live(self._settings[name], machine, now)) != machine:
                    found.append(_Progress(name, machine, lived))
        return found

    def _live(self, settings: SimulatedGroup, machine: Machine, now: float) -> Machine:
        while (phase := next_phase(machine, now)) is not None:
            machine = replace(machine, phase=phase)
            objects = self._objects_of(settings, machine)
            for obj in objects:
                self._objects.put(obj)
            keys = dict.fromkeys((*machine.objects, *map(object_key, objects)))
            machine = replace(machine, objects=tuple(keys))
        return machine

    def _settle(
        self, state: CloudState, progress: "Sequence[_Progress]"
    ) -> tuple[CloudState, tuple[list[NodeGroupName], float | None]]:
        """Record what became of machines; one that is deleted meanwhile keeps the objects that were written for it."""
        for step in progress:
            group = state.groups[step.group]
            now = group.machines.get(step.before.id)
            if now is None:
                continue
            phase = "gone" if step.after is None else step.after.phase.value
            log.info("machine moved on", group=step.group, node=now.node, phase=phase)
            if step.after is None:
                state = state.with_group(group.without_machine(now.id))
            elif now == step.before:
                state = state.with_group(group.with_machine(step.after))
            else:
                state = state.with_group(group.with_machine(replace(now, objects=step.after.objects)))
        names = self._groups_of(state)
        upcoming = [at for name in names for at in moments(state.groups[name])]
        return state, (sorted({step.group for step in progress}), min(upcoming, default=None))

    def _groups_of(self, state: CloudState) -> list[NodeGroupName]:
        return sorted(set(state.groups) & set(self._settings))

    def _objects_of(self, settings: SimulatedGroup, machine: Machine) -> tuple[JsonObject, ...]:
        match machine.phase:
            case Phase.REGISTERED:
                return (node_object(settings, machine, ready=False),)
            case Phase.READY:
                return (node_object(settings, machine, ready=True), *daemon_pods(settings, machine))
            case Phase.COMPLETE:
                shape = settings.spec.driver.for_order(machine.nth).wrong_shape
                return slice_objects(settings, machine.node, shape, self._cloud.seed)
            case _:
                return ()

    async def _look(self, group: NodeGroupName) -> Group:
        settings = self._known(group)
        with _as_driver_errors():
            state = await asyncio.to_thread(self._file.read)
        return state.groups.get(group) or self._cloud.found(settings)

    async def _write(self, group: NodeGroupName, act: Callable[[Group], tuple[Group, Refused | None]]) -> None:
        settings = self._known(group)

        def change(state: CloudState) -> tuple[CloudState, Refused | None]:
            after, refused = act(state.groups.get(group) or self._cloud.found(settings))
            return state.with_group(after), refused

        with _as_driver_errors():
            refused = await asyncio.to_thread(self._file.change, change)
        self._wake.set()
        self._tell([group])
        if refused is not None:
            raise DriverError(refused.kind, refused.message)

    def _known(self, group: NodeGroupName) -> SimulatedGroup:
        settings = self._settings.get(group)
        if settings is None:
            raise DriverError(DriverErrorKind.PERMANENT, f"the simulated cloud has no node group {group}")
        return settings

    def _tell(self, groups: Sequence[NodeGroupName]) -> None:
        for group in groups:
            event = self._changed.pop(group, None)
            if event is not None:
                event.set()

    def _now(self) -> float:
        return self._clock.now().timestamp()


@contextmanager
def _as_driver_errors() -> Generator[None]:
    try:
        yield
    except DamagedState as error:
        raise DriverError(DriverErrorKind.PERMANENT, str(error)) from error
    except OSError as error:
        raise DriverError(DriverErrorKind.TRANSIENT, f"the simulated cloud's state: {error}") from error


def _instance(machine: Machine) -> Instance:
    failure = None
    if machine.phase is Phase.FAILED:
        failure = Failure(machine.failure or ShortfallClass.OTHER, machine.message)
    state = _STATES.get(machine.phase, InstanceState.RUNNING)
    ordinal = machine.ordinal if machine.order is not None else None
    return Instance(machine.id, machine.node, state, machine.order, ordinal, failure)
