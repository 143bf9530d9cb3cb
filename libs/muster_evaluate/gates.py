"""Feature gates of the control plane that decide about DRA and gangs: defaults by release, and what is set here.

Source: dra-semantics §6.1, group-capacity §3.2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from muster_evaluate.components import Component, Part, Version


class State(StrEnum):
    ON = "on"
    OFF = "off"
    ABSENT = "absent"  # the release does not have it
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class GateRow:
    """`read_from` is empty for a default."""

    name: str
    state: State
    why: str
    read_from: str


@dataclass(frozen=True, slots=True)
class _Life:
    """First minor release (of 1.x) that has the gate, that has it on (0: none), that has it locked on (0: none)."""

    since: int
    on: int
    locked: int = 0


GATES: Mapping[str, _Life] = {
    "DynamicResourceAllocation": _Life(26, 34, 35),
    "DRAAdminAccess": _Life(32, 34, 36),
    "DRAPrioritizedList": _Life(33, 34, 37),
    "DRAPartitionableDevices": _Life(33, 36),
    "DRADeviceTaints": _Life(33, 36),
    "DRADeviceTaintRules": _Life(35, 37),
    "DRADeviceBindingConditions": _Life(34, 36),
    "DRAResourceClaimDeviceStatus": _Life(32, 33, 37),
    "DRAConsumableCapacity": _Life(34, 36),
    "DRAFractionalCapacityRange": _Life(37, 37),
    "DRAListTypeAttributes": _Life(36, 0),
    "DRAExtendedResource": _Life(34, 36, 37),
    "DRASchedulerFilterTimeout": _Life(34, 34),
    "DRAWorkloadResourceClaims": _Life(36, 0),
    "DRANodeAllocatableResources": _Life(36, 0),
    "DRAResourcePoolStatus": _Life(36, 0),
    "DRADeviceCompatibilityGroups": _Life(37, 0),
    "DRADerivedAttributes": _Life(37, 0),
    "DRAOptionalNodeOperations": _Life(37, 0),
    "GenericWorkload": _Life(35, 0),
    "TopologyAwareWorkloadScheduling": _Life(36, 0),
    "CompositePodGroup": _Life(37, 0),
    "PodGroupPreemptionPolicy": _Life(37, 0),
    "WorkloadWithJob": _Life(36, 0),
    "OpportunisticBatching": _Life(35, 35),
    "NominatedNodeNameForExpectation": _Life(35, 35),
}


def gate_row(name: str, scheduler: Component | None) -> GateRow:
    """What a gate is in this scheduler. One out of sight may have any. AllAlpha and AllBeta are not read."""
    life = GATES[name]
    if scheduler is None:
        return GateRow(name, State.UNKNOWN, "no kube-scheduler in the input: a managed control plane hides it", "")
    set_ = scheduler.gates.get(name)
    version = scheduler.version
    if version is not None and version < Version(1, life.since):
        return GateRow(
            name, State.ABSENT, f"comes with 1.{life.since}, this is {version}", str(scheduler.version_where)
        )
    if version is not None and life.locked and version >= Version(1, life.locked):
        return GateRow(name, State.ON, f"locked on since 1.{life.locked}", str(scheduler.version_where))
    if set_ is not None:
        return GateRow(name, State.ON if set_.on else State.OFF, f"set to {set_.value}", str(set_.where))
    if not life.on and version is not None:
        return GateRow(name, State.OFF, f"off by default in {version}", "")
    if version is None:
        state = State.UNKNOWN if life.on else State.OFF
        return GateRow(name, state, "not set, and the version is unknown" if life.on else "off by default", "")
    state = State.ON if version >= Version(1, life.on) else State.OFF
    return GateRow(name, state, f"{state} by default in {version}", "")


def gate_rows(components: Sequence[Component]) -> tuple[GateRow, ...]:
    """Of the oldest scheduler in sight: pods may meet it."""
    scheduler = next((each for each in components if each.part is Part.SCHEDULER), None)
    return tuple(gate_row(name, scheduler) for name in GATES)
