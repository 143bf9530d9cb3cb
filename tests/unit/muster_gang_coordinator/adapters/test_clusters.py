"""The contract of the cluster's ports, for the directory and for the fake."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from muster_gang_coordinator.adapters.cluster_directory import DirectoryCluster
from muster_gang_coordinator.domain.status import EMPTY, Condition, RequestStatus
from muster_kube.directory import ClusterDirectory
from muster_types import ClusterId, NodeName, ObjectKey
from unit.muster_gang_coordinator.builders import a_spec
from unit.muster_gang_coordinator.memory_cluster import MemoryCluster

LOCAL = ClusterId("local")
KEY = ObjectKey("ProvisioningRequest", "ml", "train")
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
TAINT = "muster.dev/gang=g:NoSchedule"
PLANNING = RequestStatus(
    (
        Condition("Accepted", True, "Accepted", "Muster owns this request", NOON),
        Condition("Provisioned", False, "Planning", "plans", NOON),
    )
)
READY = RequestStatus(
    (*PLANNING.conditions[:1], Condition("Provisioned", True, "CapacityIsProvisioned", "held", NOON)),
    (("muster.dev/gang", "g"),),
)
REQUEST = {
    "apiVersion": "autoscaling.x-k8s.io/v1",
    "kind": "ProvisioningRequest",
    "metadata": {"name": "train", "namespace": "ml"},
    "spec": {"provisioningClassName": "atomic.muster.dev", "podSets": []},
}
SPEC = a_spec(request_json=orjson.dumps(REQUEST))


@dataclass
class Subject:
    """An adapter, and what is in the cluster behind it."""

    adapter: DirectoryCluster | MemoryCluster
    put_request: Callable[[str], None]
    put_node: Callable[[str, set[str]], None]
    taints_of: Callable[[str], set[str]]


@pytest.fixture(params=["directory", "memory"])
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Subject:
    return on_directory(tmp_path) if request.param == "directory" else in_memory()


def in_memory() -> Subject:
    cluster = MemoryCluster()
    return Subject(
        cluster,
        lambda uid: cluster.requests.__setitem__(KEY, uid),
        lambda node, taints: cluster.taints.__setitem__(NodeName(node), taints),
        lambda node: cluster.taints[NodeName(node)],
    )


def on_directory(path: Path) -> Subject:
    directory = ClusterDirectory((), path / "cluster")

    def put_request(uid: str) -> None:
        directory.put({**REQUEST, "metadata": {"name": "train", "namespace": "ml", "uid": uid}})

    def put_node(node: str, taints: set[str]) -> None:
        listed = [
            {
                "key": t.partition("=")[0],
                "value": t.partition("=")[2].rpartition(":")[0],
                "effect": t.rpartition(":")[2],
            }
            for t in sorted(taints)
        ]
        directory.put({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}, "spec": {"taints": listed}})

    def taints_of(node: str) -> set[str]:
        found = directory.get(ObjectKey("Node", "", node))
        assert found is not None
        spec = found["spec"]
        assert isinstance(spec, dict)
        return {f"{t['key']}={t['value']}:{t['effect']}" for t in spec["taints"]}

    return Subject(DirectoryCluster({LOCAL: directory}), put_request, put_node, taints_of)


async def test_a_status_that_is_written_is_read_again(subject: Subject) -> None:
    subject.put_request("uid-1")
    assert await subject.adapter.read(LOCAL, KEY, "uid-1") == EMPTY
    for status in (PLANNING, replace(PLANNING, details=READY.details), READY):
        assert await subject.adapter.write(LOCAL, KEY, "uid-1", status)
        assert await subject.adapter.read(LOCAL, KEY, "uid-1") == status


async def test_an_absent_request_has_no_status_and_takes_none(subject: Subject) -> None:
    assert await subject.adapter.read(LOCAL, KEY, "uid-1") is None
    assert not await subject.adapter.write(LOCAL, KEY, "uid-1", PLANNING)
    assert await subject.adapter.read(LOCAL, KEY, "uid-1") is None


async def test_another_request_of_the_same_name_is_left_alone(subject: Subject) -> None:
    subject.put_request("uid-2")
    assert await subject.adapter.read(LOCAL, KEY, "uid-1") is None
    assert not await subject.adapter.write(LOCAL, KEY, "uid-1", PLANNING)
    assert await subject.adapter.read(LOCAL, KEY, "uid-2") == EMPTY


async def test_a_published_request_is_there_under_its_uid_and_publishing_again_changes_nothing(
    subject: Subject,
) -> None:
    await subject.adapter.publish(LOCAL, SPEC)
    assert await subject.adapter.write(LOCAL, KEY, SPEC.uid, PLANNING)
    await subject.adapter.publish(LOCAL, SPEC)
    assert await subject.adapter.read(LOCAL, KEY, SPEC.uid) == PLANNING


async def test_a_request_that_is_there_already_is_not_replaced_by_publishing(subject: Subject) -> None:
    subject.put_request("uid-9")
    await subject.adapter.publish(LOCAL, SPEC)
    assert await subject.adapter.read(LOCAL, KEY, "uid-9") == EMPTY


async def test_the_reservation_is_lifted_and_nothing_else(subject: Subject) -> None:
    other = "dedicated=ml:NoSchedule"
    subject.put_node("x0", {TAINT, other})
    subject.put_node("x1", {other})
    nodes = (NodeName("x0"), NodeName("x1"), NodeName("gone"))
    for _ in range(2):
        await subject.adapter.lift(LOCAL, TAINT, nodes)
        assert subject.taints_of("x0") == {other}
        assert subject.taints_of("x1") == {other}


async def test_conditions_of_others_stay_in_the_directory(tmp_path: Path) -> None:
    directory = ClusterDirectory((), tmp_path / "cluster")
    theirs = {"type": "Theirs", "status": "True"}
    metadata = {"name": "train", "namespace": "ml", "uid": "uid-1"}
    directory.put({**REQUEST, "metadata": metadata, "status": {"conditions": [theirs], "note": "kept"}})
    await DirectoryCluster({LOCAL: directory}).write(LOCAL, KEY, "uid-1", PLANNING)
    found = directory.get(KEY)
    assert found is not None
    status = found["status"]
    assert isinstance(status, dict)
    assert status["conditions"][0] == theirs
    assert [c["type"] for c in status["conditions"][1:]] == ["Accepted", "Provisioned"]
    assert status["note"] == "kept"


async def test_a_request_of_a_dump_gets_its_uid_and_status_in_the_overlay(tmp_path: Path) -> None:
    (tmp_path / "dump").mkdir()
    (tmp_path / "dump" / "request.json").write_bytes(
        orjson.dumps({**REQUEST, "spec": {"provisioningClassName": "atomic.muster.dev", "podSets": A_SET}})
    )
    directory = ClusterDirectory((tmp_path / "dump",), tmp_path / "cluster")
    adapter = DirectoryCluster({LOCAL: directory})
    assert await adapter.write(LOCAL, KEY, "uid-1", PLANNING)
    assert await adapter.read(LOCAL, KEY, "uid-1") == PLANNING
    assert await adapter.read(LOCAL, KEY, "uid-2") is None


async def test_a_cluster_without_directory_is_passed_over() -> None:
    adapter = DirectoryCluster({})
    assert await adapter.read(LOCAL, KEY, "uid-1") is None
    assert not await adapter.write(LOCAL, KEY, "uid-1", PLANNING)
    await adapter.publish(LOCAL, SPEC)
    await adapter.lift(LOCAL, TAINT, (NodeName("x0"),))


A_SET = [{"podTemplateRef": {"name": "worker"}, "count": 1}]
