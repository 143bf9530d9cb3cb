"""What the simulated cloud remembers, as values and as JSON; times are Unix seconds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import cast

import orjson

from muster_provisioner.domain.messages import InstanceId, ShortfallClass
from muster_types import GangId, NodeGroupName, NodeName, ObjectKey, OrderId

SCHEMA = 1


class Phase(Enum):
    """How far a machine has come. EXISTING: it was there before the cloud was asked for the first time."""

    EXISTING = "existing"
    CREATING = "creating"
    FAILED = "failed"
    LAUNCHED = "launched"
    REGISTERED = "registered"
    READY = "ready"
    COMPLETE = "complete"
    DELETING = "deleting"


@dataclass(frozen=True, slots=True)
class Machine:
    """One instance. Every time of its life is drawn at birth; None: it never comes to that."""

    id: InstanceId
    node: NodeName
    phase: Phase
    order: OrderId | None = None
    gang: GangId | None = None
    nth: int = 0
    ordinal: int = 0
    unit: int = 0
    born_at: float = 0
    launch_at: float | None = None
    register_at: float | None = None
    ready_at: float | None = None
    slices_at: float | None = None
    gone_at: float | None = None
    failure: ShortfallClass | None = None
    message: str = ""
    objects: tuple[ObjectKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Pending:
    """An increase that was heard and takes effect later."""

    order: OrderId
    gang: GangId
    first_ordinal: int
    delta: int
    apply_at: float


@dataclass(frozen=True, slots=True)
class Group:
    """One node group. `orders` are the orders ever heard of, in order of their first call; `calls` counts the increase
    calls of each, `applied` those that took effect."""

    name: NodeGroupName
    target: int
    machines: Mapping[InstanceId, Machine] = field(default_factory=dict[InstanceId, Machine])
    pending: tuple[Pending, ...] = ()
    orders: tuple[OrderId, ...] = ()
    calls: Mapping[OrderId, int] = field(default_factory=dict[OrderId, int])
    applied: Mapping[OrderId, int] = field(default_factory=dict[OrderId, int])

    def with_machine(self, machine: Machine) -> "Group":
        """The group with a machine added or replaced."""
        return replace(self, machines={**self.machines, machine.id: machine})

    def without_machine(self, machine: InstanceId) -> "Group":
        """The group without a machine."""
        return replace(self, machines={id: each for id, each in self.machines.items() if id != machine})

    @property
    def existing(self) -> int:
        """Machines that count into the target size."""
        return sum(each.phase is not Phase.DELETING for each in self.machines.values())


@dataclass(frozen=True, slots=True)
class CloudState:
    """All groups of one cluster that the cloud has heard of."""

    groups: Mapping[NodeGroupName, Group] = field(default_factory=dict[NodeGroupName, Group])

    def with_group(self, group: Group) -> "CloudState":
        """The state with a group added or replaced."""
        return CloudState({**self.groups, group.name: group})


class DamagedState(Exception):
    """The file is no state of the simulated cloud; the message says what is wrong with it."""


def dump_group(group: Group) -> bytes:
    """One group as JSON on one line."""
    return orjson.dumps(group, option=orjson.OPT_SORT_KEYS)


def join_groups(groups: Iterable[bytes]) -> bytes:
    """The state out of its dumped groups, one on a line."""
    return b'{"schema": %d, "groups": [\n' % SCHEMA + b",\n".join(groups) + b"\n]}\n"


def dump_state(state: CloudState) -> bytes:
    """The state as JSON; equal states give equal bytes."""
    return join_groups(dump_group(group) for _, group in sorted(state.groups.items()))


def load_state(data: bytes) -> CloudState:
    """The inverse of `dump_state`. Raises DamagedState."""
    try:
        body = orjson.loads(data)
        if body["schema"] != SCHEMA:
            raise DamagedState(f"it has schema {body['schema']!r}, this version reads {SCHEMA}")
        groups = [_group(each) for each in body["groups"]]
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise DamagedState(f"it is damaged: {error}") from error
    return CloudState({group.name: group for group in groups})


def _group(body: Mapping[str, object]) -> Group:
    machines = [_machine(each) for each in cast("dict[str, dict[str, object]]", body["machines"]).values()]
    pending = cast("list[dict[str, object]]", body["pending"])
    return Group(
        NodeGroupName(str(body["name"])),
        _whole(body["target"]),
        {machine.id: machine for machine in machines},
        tuple(
            Pending(
                OrderId(str(each["order"])),
                GangId(str(each["gang"])),
                _whole(each["first_ordinal"]),
                _whole(each["delta"]),
                float(str(each["apply_at"])),
            )
            for each in pending
        ),
        tuple(OrderId(str(each)) for each in cast("list[object]", body["orders"])),
        {OrderId(order): _whole(count) for order, count in cast("dict[str, object]", body["calls"]).items()},
        {OrderId(order): _whole(count) for order, count in cast("dict[str, object]", body["applied"]).items()},
    )


def _machine(body: dict[str, object]) -> Machine:
    keys = cast("list[dict[str, str]]", body["objects"])
    failure = body["failure"]
    times = {name: body[name] for name in ("launch_at", "register_at", "ready_at", "slices_at", "gone_at")}
    return Machine(
        id=InstanceId(str(body["id"])),
        node=NodeName(str(body["node"])),
        phase=Phase(body["phase"]),
        order=None if body["order"] is None else OrderId(str(body["order"])),
        gang=None if body["gang"] is None else GangId(str(body["gang"])),
        nth=_whole(body["nth"]),
        ordinal=_whole(body["ordinal"]),
        unit=_whole(body["unit"]),
        born_at=float(str(body["born_at"])),
        failure=None if failure is None else ShortfallClass(failure),
        message=str(body["message"]),
        objects=tuple(ObjectKey(key["kind"], key["namespace"], key["name"]) for key in keys),
        **{name: None if time is None else float(str(time)) for name, time in times.items()},
    )


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"want an integer, got {value!r}")
    return value
