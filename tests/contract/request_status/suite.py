"""What an adapter for writing to a cluster promises. A subclass gives a `world`: the adapter, and what is behind it."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

import orjson

from muster_gang_coordinator.domain.status import EMPTY, Condition, RequestStatus, plan_writes
from muster_gang_coordinator.ports import ClusterWrites
from muster_types import ClusterId, NodeName, ObjectKey
from unit.muster_gang_coordinator.builders import a_spec

LOCAL, ELSEWHERE = ClusterId("local"), ClusterId("elsewhere")
KEY = ObjectKey("ProvisioningRequest", "ml", "train")
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
TAINT = "muster.dev/gang=train-1a2b3c:NoSchedule"
OTHER_TAINT = "dedicated=ml:NoSchedule"
ACCEPTED = Condition("Accepted", True, "Accepted", "Muster owns this request", NOON)
PLANNING = RequestStatus((ACCEPTED, Condition("Provisioned", False, "Planning", "plans", NOON)))
READY = RequestStatus(
    (ACCEPTED, Condition("Provisioned", True, "CapacityIsProvisioned", "held", NOON)),
    (("TopologyDomain", "r7"), ("muster.dev/gang", "train-1a2b3c")),
)
REQUEST: Mapping[str, object] = {
    "apiVersion": "autoscaling.x-k8s.io/v1",
    "kind": "ProvisioningRequest",
    "metadata": {"name": "train", "namespace": "ml"},
    "spec": {"provisioningClassName": "atomic.muster.dev", "podSets": []},
}
FOREIGN = {"type": "Theirs", "status": "True", "reason": "Because", "message": "", "lastTransitionTime": None}
SPEC = a_spec(request_json=orjson.dumps(REQUEST))


class World(Protocol):
    """An adapter, and the cluster behind it as somebody else sees it."""

    @property
    def adapter(self) -> ClusterWrites: ...
    async def put_request(self, uid: str, status: Mapping[str, object] | None = None) -> None: ...
    async def status(self) -> Mapping[str, object]: ...
    async def put_node(self, name: str, *taints: str) -> None: ...
    async def taints(self, name: str) -> set[str]: ...
    async def touch(self, value: str) -> None:
        """Somebody else writes to the request: a label, and its condition."""
        ...


def conditions(status: Mapping[str, object]) -> dict[str, str]:
    """Condition statuses by type."""
    listed = status.get("conditions", [])
    assert isinstance(listed, list)
    return {each["type"]: each["status"] for each in listed}


class RequestStatusContract:
    """Inherited by one test class for each adapter."""

    async def test_a_status_that_is_written_is_read_again(self, world: World) -> None:
        await world.put_request("uid-1")
        assert await world.adapter.read(LOCAL, KEY, "uid-1") == EMPTY
        for status in (PLANNING, replace(PLANNING, details=READY.details), READY):
            assert await world.adapter.write(LOCAL, KEY, "uid-1", status)
            assert await world.adapter.read(LOCAL, KEY, "uid-1") == status

    async def test_an_absent_request_has_no_status_and_takes_none(self, world: World) -> None:
        assert await world.adapter.read(LOCAL, KEY, "uid-1") is None
        assert not await world.adapter.write(LOCAL, KEY, "uid-1", PLANNING)

    async def test_another_request_of_the_same_name_is_left_alone(self, world: World) -> None:
        await world.put_request("uid-2")
        assert await world.adapter.read(LOCAL, KEY, "uid-1") is None
        assert not await world.adapter.write(LOCAL, KEY, "uid-1", PLANNING)
        assert await world.adapter.read(LOCAL, KEY, "uid-2") == EMPTY

    async def test_another_cluster_is_passed_over(self, world: World) -> None:
        await world.put_request("uid-1")
        assert await world.adapter.read(ELSEWHERE, KEY, "uid-1") is None
        assert not await world.adapter.write(ELSEWHERE, KEY, "uid-1", PLANNING)
        await world.adapter.lift(ELSEWHERE, TAINT, (NodeName("n1"),))

    async def test_conditions_and_fields_of_others_stay(self, world: World) -> None:
        await world.put_request("uid-1", {"conditions": [FOREIGN], "note": "kept"})
        await world.adapter.write(LOCAL, KEY, "uid-1", PLANNING)
        status = await world.status()
        assert conditions(status) == {"Theirs": "True", "Accepted": "True", "Provisioned": "False"}
        assert status["note"] == "kept"

    async def test_somebody_who_writes_at_the_same_time_loses_nothing_and_neither_do_we(self, world: World) -> None:
        await world.put_request("uid-1")

        async def others() -> None:
            for number in range(10):
                await world.touch(str(number))

        async def ours() -> None:
            for number in range(10):
                message = replace(PLANNING.conditions[1], message=f"step {number}")
                assert await world.adapter.write(LOCAL, KEY, "uid-1", RequestStatus((ACCEPTED, message)))

        async with asyncio.timeout(30):
            await asyncio.gather(others(), ours())
        status = await world.status()
        assert conditions(status) == {"Theirs": "True", "Accepted": "True", "Provisioned": "False"}
        read = await world.adapter.read(LOCAL, KEY, "uid-1")
        assert read is not None
        assert [each.message for each in read.conditions] == ["Muster owns this request", "step 9"]

    async def test_details_are_there_before_provisioned_is_true(self, world: World) -> None:
        await world.put_request("uid-1")
        current = PLANNING
        await world.adapter.write(LOCAL, KEY, "uid-1", current)
        for status in plan_writes(current, READY):
            assert await world.adapter.write(LOCAL, KEY, "uid-1", status)
            shown = await world.status()
            if conditions(shown)["Provisioned"] == "True":
                assert shown["provisioningClassDetails"] == dict(READY.details)
        assert conditions(await world.status())["Provisioned"] == "True"

    async def test_the_reservation_is_lifted_and_nothing_else(self, world: World) -> None:
        await world.put_node("x0", TAINT, OTHER_TAINT)
        await world.put_node("x1", OTHER_TAINT)
        await world.put_node("x2", TAINT)
        nodes = tuple(map(NodeName, ("x0", "x1", "x2", "gone")))
        for _ in range(2):
            await world.adapter.lift(LOCAL, TAINT, nodes)
            assert await world.taints("x0") == {OTHER_TAINT}
            assert await world.taints("x1") == {OTHER_TAINT}
            assert await world.taints("x2") == set()

    async def test_publishing_a_request_again_changes_nothing(self, world: World) -> None:
        await world.put_request("uid-9")
        for _ in range(2):
            await world.adapter.publish(LOCAL, SPEC)
        assert await world.adapter.read(LOCAL, KEY, "uid-9") == EMPTY
