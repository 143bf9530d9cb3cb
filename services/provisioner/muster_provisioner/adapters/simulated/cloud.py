"""How the simulated cloud behaves: calls and the passing of time as functions from state to state, without I/O.

A machine is created when its order takes effect, launched after the scripted delay, registered halfway through its
boot, Ready after it, and its devices are published some time later. What fails is decided when the order takes effect.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha1

from muster_provisioner.adapters.simulated.chance import draw
from muster_provisioner.adapters.simulated.group_settings import ScriptEntry, SimulatedGroup
from muster_provisioner.adapters.simulated.state import Group, Machine, Pending, Phase
from muster_provisioner.domain.messages import InstanceId, ShortfallClass
from muster_provisioner.ports import DriverErrorKind, OrderTags
from muster_types import NodeName, OrderId

_LONGEST_PREFIX = 45  # with hash and ordinal a node name stays a valid label value of 63 characters


@dataclass(frozen=True, slots=True)
class Refused:
    """The call failed. `group` is the state all the same: a lost answer is a failure with an effect."""

    group: Group
    kind: DriverErrorKind
    message: str


@dataclass(frozen=True, slots=True)
class Cloud:
    """The behaviour of one cluster's cloud; the seed decides everything that is left to chance."""

    cluster: str
    seed: int

    def found(self, settings: SimulatedGroup) -> Group:
        """A group that the cloud hears of for the first time: it has its current size in nodes that exist already."""
        ids = [
            InstanceId(f"simulated://{self.cluster}/{settings.name}/existing-{index}")
            for index in range(settings.spec.current_size)
        ]
        machines = {id: Machine(id, NodeName(""), Phase.EXISTING) for id in ids}
        return Group(settings.name, settings.spec.current_size, machines)

    def increase(
        self, group: Group, settings: SimulatedGroup, delta: int, tags: OrderTags, now: float
    ) -> Group | Refused:
        """An increase call as the provider takes it."""
        known = tags.order in group.calls
        orders = group.orders if known else (*group.orders, tags.order)
        call = group.calls.get(tags.order, 0) + 1
        group = replace(group, orders=orders, calls={**group.calls, tags.order: call})
        script = settings.spec.driver.for_order(orders.index(tags.order) + 1)
        refusal = self._refusal(group, settings, script, delta)
        if refusal is not None:
            return refusal
        if script.lose_call and call == 1:
            return Refused(group, DriverErrorKind.TRANSIENT, f"{group.name}: deadline exceeded, the call was lost")
        if script.apply_after_seconds and call == 1:
            apply_at = now + script.apply_after_seconds
            pending = Pending(tags.order, tags.gang, tags.first_ordinal, delta, apply_at)
            late = replace(group, pending=(*group.pending, pending))
            return Refused(late, DriverErrorKind.TRANSIENT, f"{group.name}: deadline exceeded, the call is under way")
        group = self._apply(group, settings, delta, tags, now)
        if script.lose_answer and call == 1:
            return Refused(group, DriverErrorKind.TRANSIENT, f"{group.name}: deadline exceeded, the answer was lost")
        return group

    def delete(self, group: Group, settings: SimulatedGroup | None, ids: Sequence[InstanceId], now: float) -> Group:
        """Begin to delete machines; each lowers the target size once."""
        seconds = 0.0 if settings is None else settings.spec.driver.delete_seconds
        for id in sorted(ids):
            machine = group.machines.get(id)
            if machine is not None and machine.phase is not Phase.DELETING:
                leaving = replace(machine, phase=Phase.DELETING, gone_at=now + seconds)
                group = replace(group.with_machine(leaving), target=max(group.target - 1, 0))
        return group

    def decrease(self, group: Group, by: int) -> Group | Refused:
        """Take back size that no machine stands for."""
        unfilled = group.target - group.existing
        if by < 1 or by > unfilled:
            message = f"{group.name}: the target size cannot be lowered by {by}, only {unfilled} are still to come"
            return Refused(group, DriverErrorKind.PERMANENT, message)
        return replace(group, target=group.target - by)

    def apply_pending(self, group: Group, settings: SimulatedGroup, now: float) -> Group:
        """Increases that were heard before and take effect by now."""
        for pending in group.pending:
            if pending.apply_at <= now:
                group = replace(group, pending=tuple(each for each in group.pending if each is not pending))
                tags = OrderTags(pending.order, pending.gang, pending.first_ordinal)
                group = self._apply(group, settings, pending.delta, tags, pending.apply_at)
        return group

    def _refusal(self, group: Group, settings: SimulatedGroup, script: ScriptEntry, delta: int) -> Refused | None:
        spec = settings.spec
        wanted = group.target + delta
        if delta < 1 or delta % spec.atomic_unit:
            reason = f"{delta} nodes cannot be added, they come in units of {spec.atomic_unit}"
            return Refused(group, DriverErrorKind.PERMANENT, f"{group.name}: {reason}")
        if wanted > spec.max_size:
            reason = f"a size of {wanted} exceeds its maximum of {spec.max_size}"
            return Refused(group, DriverErrorKind.PERMANENT, f"{group.name}: {reason}")
        if script.quota == 0:
            reason = "the quota for nodes of this kind is used up"
            return Refused(group, DriverErrorKind.QUOTA, f"{group.name}: {reason}")
        return None

    def _apply(self, group: Group, settings: SimulatedGroup, delta: int, tags: OrderTags, now: float) -> Group:
        applied = group.applied.get(tags.order, 0) + 1
        group = replace(group, target=group.target + delta, applied={**group.applied, tags.order: applied})
        nth = group.orders.index(tags.order) + 1
        script = settings.spec.driver.for_order(nth)
        stock = settings.spec.driver.capacity
        held = sum(each.phase not in (Phase.EXISTING, Phase.FAILED) for each in group.machines.values())
        for index in range(delta):
            ordinal = tags.first_ordinal + index
            node = self._node_name(group, tags.order, ordinal)
            id = InstanceId(f"simulated://{self.cluster}/{group.name}/{node}")
            unit = index // settings.spec.atomic_unit
            machine = Machine(id, node, Phase.CREATING, tags.order, tags.gang, nth, ordinal, unit, now)
            failure = _failure(script, index, None if stock is None else stock - held)
            if failure is None:
                held += 1
            group = group.with_machine(self._with_life(machine, settings, script, failure))
        return group

    def _with_life(
        self,
        machine: Machine,
        settings: SimulatedGroup,
        script: ScriptEntry,
        failure: tuple[ShortfallClass, str] | None,
    ) -> Machine:
        behaviour = settings.spec.driver
        launch_at = machine.born_at + script.delay_seconds + self._jitter(settings, machine, "launch")
        if failure is not None:
            return replace(machine, launch_at=launch_at, failure=failure[0], message=f"{settings.name}: {failure[1]}")
        boot = behaviour.boot_seconds + self._jitter(settings, machine, "boot")
        ready_at = None if script.never_ready else launch_at + boot
        late = behaviour.slices_after_seconds + script.late_slices_seconds + self._jitter(settings, machine, "slices")
        slices_at = None if ready_at is None else ready_at + late
        return replace(
            machine, launch_at=launch_at, register_at=launch_at + boot / 2, ready_at=ready_at, slices_at=slices_at
        )

    def _jitter(self, settings: SimulatedGroup, machine: Machine, what: str) -> float:
        return settings.spec.driver.jitter_seconds * draw(self.seed, machine.id, what)

    def _node_name(self, group: Group, order: OrderId, ordinal: int) -> NodeName:
        prefix = group.name[:_LONGEST_PREFIX].rstrip("-.")
        name = f"{prefix}-{sha1(order.encode(), usedforsecurity=False).hexdigest()[:5]}-{ordinal}"
        taken = {each.node for each in group.machines.values()}
        while name in taken:  # a repeated call makes machines of its own
            name += "x"
        return NodeName(name)


def next_phase(machine: Machine, now: float) -> Phase | None:
    """The phase that a machine enters by `now`, one at a time; None when it stays or its deletion is due."""
    match machine.phase:
        case Phase.CREATING if _due(machine.launch_at, now):
            return Phase.LAUNCHED if machine.failure is None else Phase.FAILED
        case Phase.LAUNCHED if _due(machine.register_at, now):
            return Phase.REGISTERED
        case Phase.REGISTERED if _due(machine.ready_at, now):
            return Phase.READY
        case Phase.READY if _due(machine.slices_at, now):
            return Phase.COMPLETE
        case _:
            return None


def is_gone(machine: Machine, now: float) -> bool:
    """Whether a machine's deletion is complete by `now`."""
    return machine.phase is Phase.DELETING and _due(machine.gone_at, now)


def moments(group: Group) -> Iterator[float]:
    """The times at which something in the group happens next."""
    yield from (each.apply_at for each in group.pending)
    for machine in group.machines.values():
        at = {
            Phase.CREATING: machine.launch_at,
            Phase.LAUNCHED: machine.register_at,
            Phase.REGISTERED: machine.ready_at,
            Phase.READY: machine.slices_at,
            Phase.DELETING: machine.gone_at,
        }.get(machine.phase)
        if at is not None:
            yield at


def _failure(script: ScriptEntry, index: int, stock: int | None) -> tuple[ShortfallClass, str] | None:
    if script.quota is not None and index >= script.quota:
        return ShortfallClass.QUOTA, f"the quota for nodes of this kind ends at {script.quota} of this order"
    if script.stockout_after is not None and index >= script.stockout_after:
        return ShortfallClass.STOCKOUT, f"out of stock after {script.stockout_after} nodes of this order"
    if stock is not None and stock < 1:
        return ShortfallClass.STOCKOUT, "out of stock"
    return None


def _due(at: float | None, now: float) -> bool:
    return at is not None and at <= now
