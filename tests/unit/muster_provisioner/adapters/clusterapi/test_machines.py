from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster_kubeapi import Json
from muster_provisioner.adapters.clusterapi.machines import (
    BY_US,
    Machine,
    Marks,
    Sized,
    failure_of,
    read_machine,
    to_lower,
)
from muster_provisioner.domain.group import InstanceState
from muster_provisioner.domain.messages import InstanceId, ShortfallClass
from muster_types import NodeName

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
MARKS = Marks("cluster.x-k8s.io")
ICE = "InsufficientInstanceCapacity: no p5.48xlarge in zone a"


def a_machine(metadata: Json | None = None, **status: object) -> Json:
    created = {"name": "m1", "namespace": "fleet", "creationTimestamp": "2026-01-01T11:00:00Z"}
    return {"metadata": {**created, **(metadata or {})}, "status": status}


def not_ready(message: str, since: str = "2026-01-01T11:00:00Z", **more: str) -> list[Json]:
    return [{"type": "InfrastructureReady", "status": "False", "message": message, "lastTransitionTime": since, **more}]


def test_a_machine_runs_once_it_has_a_node_and_keeps_its_name_as_id() -> None:
    starting = read_machine(a_machine(phase="Provisioning"), MARKS, NOON, MINUTE).instance
    running = read_machine(a_machine(phase="Running", nodeRef={"name": "n1"}), MARKS, NOON, MINUTE).instance
    assert (starting.id, starting.state, starting.node) == ("m1", InstanceState.CREATING, "")
    assert (running.id, running.state, running.node) == ("m1", InstanceState.RUNNING, "n1")
    leaving = a_machine({"deletionTimestamp": "2026-01-01T11:30:00Z"}, nodeRef={"name": "n1"})
    assert read_machine(leaving, MARKS, NOON, MINUTE).instance.state is InstanceState.DELETING


def test_a_mark_of_somebody_else_is_not_ours() -> None:
    ours = a_machine({"annotations": {"cluster.x-k8s.io/delete-machine": BY_US}})
    theirs = a_machine({"annotations": {"cluster.x-k8s.io/delete-machine": "yes"}})
    assert read_machine(ours, MARKS, NOON, MINUTE).marked
    assert not read_machine(theirs, MARKS, NOON, MINUTE).marked


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ({"conditions": not_ready(ICE)}, ShortfallClass.STOCKOUT),
        ({"conditions": not_ready("VcpuLimitExceeded: you have requested more")}, ShortfallClass.QUOTA),
        ({"conditions": not_ready("waiting for infrastructure")}, None),
        ({"conditions": not_ready(ICE, "2026-01-01T11:59:30Z")}, None),
        ({"conditions": not_ready("no image", severity="Error")}, ShortfallClass.OTHER),
        ({"conditions": not_ready("no image", severity="Warning")}, None),
        ({"phase": "Failed", "conditions": not_ready("the image does not exist")}, ShortfallClass.OTHER),
        ({"phase": "Failed"}, ShortfallClass.OTHER),
        ({"failureReason": "CreateError", "failureMessage": "quota of 8 exceeded"}, ShortfallClass.QUOTA),
        ({"deprecated": {"v1beta1": {"failureMessage": ICE}}}, ShortfallClass.STOCKOUT),
        ({"nodeRef": {"name": "n1"}, "conditions": not_ready(ICE)}, None),
        ({}, None),
    ],
)
def test_a_failure_is_what_stands_or_is_final(status: dict[str, object], kind: ShortfallClass | None) -> None:
    found = failure_of(a_machine(**status), NOON, MINUTE)
    assert (None if found is None else found.kind) is kind
    if found is not None:
        assert found.message.startswith("m1: ")


def machines(staying: int, marked: int, deleting: int) -> list[Machine]:
    def make(name: str, *, deleting: bool, marked: bool) -> Machine:
        return Machine(InstanceId(name), NodeName(""), deleting, marked, None)

    return [
        *(make(f"s{index}", deleting=False, marked=index < marked) for index in range(staying)),
        *(make(f"d{index}", deleting=True, marked=True) for index in range(deleting)),
    ]


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_lowering_is_done_once_however_often_it_is_asked(staying: int, marked: int, deleting: int) -> None:
    marked = min(marked, staying)
    present = machines(staying, marked, deleting)
    by = to_lower(present, staying)
    assert by == marked
    assert to_lower(present, staying - by) == 0


@given(st.integers(1, 9), st.data())
def test_each_machine_that_leaves_leaves_nothing_to_lower_for_it(marked: int, data: st.DataObject) -> None:
    """The controller deletes marked machines one by one; at any moment a repeat lowers nothing."""
    staying = data.draw(st.integers(marked, 12))
    gone = data.draw(st.integers(0, marked))
    assert to_lower(machines(staying - gone, marked - gone, gone), staying - marked) == 0


def test_nothing_is_lowered_while_machines_are_still_made() -> None:
    assert to_lower(machines(3, 1, 0), 4) is None


def test_bounds_are_the_tighter_ones() -> None:
    annotations = {MARKS.min_size: "1", MARKS.max_size: "5"}
    sized = Sized({"metadata": {"annotations": annotations}}, MARKS, 2, "7")
    assert sized.bounds(0, 9) == (1, 5)
    assert sized.bounds(2, 4) == (2, 4)
    assert Sized({}, MARKS, 2, "7").bounds(0, 9) == (0, 9)


def test_machines_are_found_by_the_objects_own_selector_or_by_its_name() -> None:
    own = {"metadata": {"name": "md"}, "spec": {"selector": {"matchLabels": {"b": "2", "a": "1"}}}}
    assert Sized(own, MARKS, 0, "").selector("MachineDeployment") == "a=1,b=2"
    assert Sized({"metadata": {"name": "mp"}}, MARKS, 0, "").selector("MachinePool") == "cluster.x-k8s.io/pool-name=mp"
