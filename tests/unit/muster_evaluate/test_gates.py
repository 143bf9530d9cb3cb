"""Gates of the control plane: set, by default, absent, or out of sight."""

import pytest

from muster_evaluate import GateRow, State, find_components, gate_rows
from support.cluster_objects import Json
from unit.muster_evaluate.clusters import a_programme, a_scheduler


def gate(name: str, *objects: Json) -> GateRow:
    return next(each for each in gate_rows(find_components(objects, ())) if each.name == name)


@pytest.mark.parametrize(
    ("name", "version", "state"),
    [
        ("DynamicResourceAllocation", "v1.33.0", State.OFF),
        ("DynamicResourceAllocation", "v1.34.0", State.ON),
        ("DRAPartitionableDevices", "v1.35.0", State.OFF),
        ("DRAPartitionableDevices", "v1.36.0", State.ON),
        ("DRADeviceTaintRules", "v1.36.0", State.OFF),
        ("DRADeviceTaintRules", "v1.37.0", State.ON),
        ("DRAFractionalCapacityRange", "v1.36.0", State.ABSENT),
        ("DRAWorkloadResourceClaims", "v1.37.0", State.OFF),
        ("GenericWorkload", "v1.37.0", State.OFF),
        ("GenericWorkload", "v1.34.0", State.ABSENT),
    ],
)
def test_a_release_decides_where_nothing_is_set(name: str, version: str, state: State) -> None:
    assert gate(name, a_scheduler(version)).state is state


def test_a_setting_counts_and_names_its_field_unless_the_gate_is_locked() -> None:
    found = gate("GenericWorkload", a_scheduler("v1.37.0", "GenericWorkload=true"))
    assert (found.state, found.read_from) == (
        State.ON,
        "Pod/kube-system/kube-scheduler-cp-1 spec.containers[0].args --feature-gates",
    )
    assert gate("DRAConsumableCapacity", a_scheduler("v1.37.0", "DRAConsumableCapacity=false")).state is State.OFF
    assert gate("DRAAdminAccess", a_scheduler("v1.36.0", "DRAAdminAccess=false")).state is State.ON


def test_without_a_scheduler_or_its_version_nobody_knows() -> None:
    assert gate("DRAPartitionableDevices").state is State.UNKNOWN
    nameless = a_programme("kube-scheduler", "kube-scheduler@sha256:00", kind="Pod")
    assert gate("DRAPartitionableDevices", nameless).state is State.UNKNOWN
    assert gate("GenericWorkload", nameless).state is State.OFF
