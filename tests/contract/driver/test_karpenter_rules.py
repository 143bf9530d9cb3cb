"""Rules N-6.1 to N-6.10 of the capacity notes, and the traps about NodeClaims, on an API server with Karpenter."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import cast

import pytest

from contract.driver.karpenter import GROUP, NODE_CLASS, a_karpenter_group, labels
from contract.driver.suite import failure, tags
from contract.driver.test_karpenter_driver import KarpenterRig, karpenter_rig
from muster_kubeapi import Json
from muster_provisioner.adapters.karpenter.driver import KarpenterDriver
from muster_provisioner.domain.group import Instance, InstanceState
from muster_provisioner.domain.messages import InstanceId, ShortfallClass
from muster_provisioner.ports import DriverError, DriverErrorKind
from support.nats_server import wait_until


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncGenerator[KarpenterRig]:
    async with karpenter_rig(tmp_path) as rig:
        yield rig


def ordered(rig: KarpenterRig) -> list[Json]:
    """The claims of orders, by ordinal."""
    found = [claim for claim in rig.cluster.api.all("NodeClaim") if "muster.dev/order" in labels(claim)]
    return sorted(found, key=lambda claim: int(str(labels(claim)["muster.dev/ordinal"])))


def metadata(claim: Json) -> Json:
    return cast("Json", claim["metadata"])


def annotations(claim: Json) -> Json:
    return cast("Json", metadata(claim).get("annotations") or {})


async def of_orders(rig: KarpenterRig) -> list[Instance]:
    return [each for each in await rig.driver.instances(GROUP) if each.order is not None]


async def test_a_claim_is_made_by_the_rules_for_foreign_claims(rig: KarpenterRig) -> None:
    await rig.driver.increase(GROUP, 2, tags("train-1a2b3c-a1-1", first_ordinal=4))
    first, second = ordered(rig)
    spec = cast("dict[str, object]", first["spec"])
    assert labels(first) == {
        "muster.dev/gang": "train-1a2b3c",
        "muster.dev/order": "train-1a2b3c-a1-1",
        "muster.dev/node-group": GROUP,
        "muster.dev/ordinal": "4",
    }
    assert "karpenter.sh/nodepool" not in labels(first)
    assert metadata(first)["finalizers"] == ["muster.dev/node-claim"]
    assert spec["expireAfter"] == "Never"
    assert spec["nodeClassRef"] == NODE_CLASS
    assert spec["requirements"] == [
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p5.48xlarge"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-a"]},
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
    ]
    assert annotations(second) == {"karpenter.sh/do-not-disrupt": "true"}
    assert (labels(second)["muster.dev/ordinal"], second["spec"]) == ("5", spec)


async def test_t42_the_reservation_is_a_taint_that_stays_and_no_startup_taint(rig: KarpenterRig) -> None:
    await rig.driver.increase(GROUP, 1, tags("a"))
    (claim,) = ordered(rig)
    spec = cast("Json", claim["spec"])
    assert spec["taints"] == [{"key": "muster.dev/gang", "value": "train-1a2b3c", "effect": "NoSchedule"}]
    assert "startupTaints" not in spec
    await rig.pass_time(20)
    conditions = cast("list[Json]", cast("Json", ordered(rig)[0]["status"])["conditions"])
    assert {c["type"]: c["status"] for c in conditions}["Initialized"] == "True"
    node = rig.cluster.api.get("Node", "", f"node-{metadata(claim)['name']}")
    assert node is not None
    assert cast("Json", node["spec"])["taints"] == spec["taints"]
    assert labels(node)["muster.dev/order"] == "a"


async def test_names_follow_from_order_and_ordinal_so_that_a_repeat_creates_nothing(rig: KarpenterRig) -> None:
    await rig.driver.increase(GROUP, 3, tags("a"))
    before = [(metadata(claim)["name"], metadata(claim)["uid"]) for claim in ordered(rig)]
    await rig.driver.increase(GROUP, 3, tags("a"))
    assert [(metadata(claim)["name"], metadata(claim)["uid"]) for claim in ordered(rig)] == before
    await rig.driver.increase(GROUP, 1, tags("b"))
    names = [metadata(claim)["name"] for claim in ordered(rig)]
    assert len(set(names)) == 4
    assert all(len(str(name)) <= 63 for name in names)


async def test_a_repeat_does_not_bring_back_what_was_given_up(rig: KarpenterRig) -> None:
    await rig.driver.increase(GROUP, 3, tags("a"))
    await rig.pass_time(20)
    gone, *_ = await of_orders(rig)
    await rig.driver.delete(GROUP, [gone.id])
    await rig.pass_time(20)
    await rig.driver.increase(GROUP, 3, tags("a"))
    await rig.pass_time(20)
    assert len(await of_orders(rig)) == 2
    assert await rig.driver.target_size(GROUP) == 4


async def test_an_order_that_was_begun_counts_in_full_and_whoever_runs_next_creates_the_rest(tmp_path: Path) -> None:
    """The process ended after the first of three claims."""
    async with karpenter_rig(tmp_path, upkeep=False) as rig:
        first = await begun(rig, 3)
        async with rig.cluster.client("another-process") as client:
            successor = KarpenterDriver(client, rig.clock)
            assert successor.declare(a_karpenter_group()) is None
            assert await successor.target_size(GROUP) == 5
            await successor.keep(GROUP)
            assert await successor.target_size(GROUP) == 5
        completed = ordered(rig)
    assert [labels(claim)["muster.dev/ordinal"] for claim in completed] == ["0", "1", "2"]
    assert {str(claim["spec"]) for claim in completed} == {str(first["spec"])}
    assert all("muster.dev/creating" not in annotations(claim) for claim in completed)


async def begun(rig: KarpenterRig, size: int) -> Json:
    """An order of which only the first claim exists, on a driver whose own upkeep does not run."""
    await rig.driver.increase(GROUP, 1, tags("a"))
    (first,) = ordered(rig)
    changed = {**annotations(first), "muster.dev/creating": str(size)}
    rig.cluster.api.put({**first, "kind": "NodeClaim", "metadata": {**metadata(first), "annotations": changed}})
    return first


async def test_only_claims_that_are_still_to_be_created_can_be_taken_back(tmp_path: Path) -> None:
    async with karpenter_rig(tmp_path, upkeep=False) as rig:
        await begun(rig, 4)
        assert await rig.driver.target_size(GROUP) == 6
        with pytest.raises(DriverError, match="cannot be lowered by 4, only 3 are still to come"):
            await rig.driver.decrease_target(GROUP, 4)
        await rig.driver.decrease_target(GROUP, 2)
        assert await rig.driver.target_size(GROUP) == 4
        await rig.driver.decrease_target(GROUP, 1)
        assert await rig.driver.target_size(GROUP) == 3
        await rig.driver.keep(GROUP)
        assert len(ordered(rig)) == 1


async def test_a_deletion_ends_the_creation_of_its_order(tmp_path: Path) -> None:
    async with karpenter_rig(tmp_path, upkeep=False) as rig:
        first = await begun(rig, 3)
        await rig.driver.delete(GROUP, [InstanceId(str(metadata(first)["name"]))])
        await rig.driver.keep(GROUP)
        await rig.pass_time(20)
        assert ordered(rig) == []
        assert await rig.driver.target_size(GROUP) == 2


async def test_t40_f12_a_claim_that_vanished_before_its_node_came_is_a_failed_ordinal(rig: KarpenterRig) -> None:
    rig.karpenter.has_stock = lambda claim: labels(claim)["muster.dev/ordinal"] != "1"
    await rig.driver.increase(GROUP, 3, tags("a"))
    await rig.pass_time(40)
    found = await of_orders(rig)
    assert [each.state for each in found] == [
        InstanceState.RUNNING,
        InstanceState.CREATING,
        InstanceState.RUNNING,
    ]
    lost = found[1].failure
    assert lost is not None
    assert lost.kind is ShortfallClass.STOCKOUT
    assert "all requested instance types were unavailable" in lost.message
    assert await rig.driver.target_size(GROUP) == 5
    await rig.driver.delete(GROUP, [found[1].id])
    await rig.pass_time(20)
    assert [each.ordinal for each in await of_orders(rig)] == [0, 2]
    assert await rig.driver.target_size(GROUP) == 4


async def test_without_an_event_the_class_of_a_vanished_claim_is_found_otherwise(rig: KarpenterRig) -> None:
    rig.karpenter.reports = False
    rig.karpenter.has_stock = lambda _: False
    await rig.driver.increase(GROUP, 1, tags("a"))
    await rig.pass_time(20)
    (out,) = await of_orders(rig)
    assert out.failure is not None
    assert out.failure.kind is ShortfallClass.STOCKOUT

    await rig.driver.increase(GROUP, 1, tags("b"))
    node_class = {"kind": "TestNodeClass", "metadata": {"name": "gpu"}}
    not_ready = {"type": "Ready", "status": "False", "reason": "SubnetsNotFound", "message": "no subnet matches"}
    rig.cluster.api.put({**node_class, "status": {"conditions": [not_ready]}})
    await rig.pass_time(20)
    (unready,) = [each.failure for each in await of_orders(rig) if each.order == tags("b").order]
    assert unready is not None
    assert unready.kind is ShortfallClass.OTHER
    assert "SubnetsNotFound: no subnet matches" in unready.message


async def test_a_machine_that_never_joined_is_a_timeout(rig: KarpenterRig) -> None:
    rig.karpenter.joins = lambda _: False
    await rig.driver.increase(GROUP, 1, tags("a"))
    await rig.pass_time(20)
    (claim,) = ordered(rig)
    await rig.karpenter.time_out(str(metadata(claim)["name"]))
    await rig.pass_time(1)
    (found,) = await of_orders(rig)
    assert found.failure is not None
    assert found.failure.kind is ShortfallClass.TIMEOUT


async def test_t41_a_node_that_is_never_initialized_meets_our_own_timer(rig: KarpenterRig) -> None:
    rig.karpenter.publishes = lambda _: False
    await rig.driver.increase(GROUP, 1, tags("a"))
    await rig.pass_time(60)
    (young,) = await of_orders(rig)
    assert (young.state, young.failure) == (InstanceState.RUNNING, None)
    await rig.pass_time(1800)
    (old,) = await of_orders(rig)
    assert old.failure is not None
    assert old.failure.kind is ShortfallClass.TIMEOUT
    assert "DRADriverPoolsNotPublished" in old.failure.message
    assert len(ordered(rig)) == 1  # Karpenter waits for ever


async def test_a_node_that_another_hand_removed_goes_and_leaves_nothing_behind(rig: KarpenterRig) -> None:
    await rig.driver.increase(GROUP, 2, tags("a"))
    await rig.pass_time(20)
    first, _ = ordered(rig)
    await rig.karpenter.time_out(str(metadata(first)["name"]))
    states = [each.state for each in await of_orders(rig)]
    assert states == [InstanceState.DELETING, InstanceState.RUNNING]
    assert await rig.driver.target_size(GROUP) == 3
    await rig.pass_time(20)
    await rig.pass_time(1)
    assert len(ordered(rig)) == 1


@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        ([{"type": "Ready", "status": "False", "reason": "NoImage"}], "TestNodeClass gpu is not ready: NoImage"),
        ([{"type": "Ready", "status": "Unknown"}], "TestNodeClass gpu is not ready: Unknown"),
        (None, "TestNodeClass gpu does not exist"),
    ],
)
async def test_nothing_is_created_while_the_node_class_is_not_ready(
    rig: KarpenterRig, conditions: list[dict[str, str]] | None, reason: str
) -> None:
    if conditions is None:
        rig.cluster.api.remove("TestNodeClass", "", "gpu")
    else:
        node_class = {"kind": "TestNodeClass", "metadata": {"name": "gpu"}}
        rig.cluster.api.put({**node_class, "status": {"conditions": conditions}})
    with pytest.raises(DriverError, match=reason) as error:
        await rig.driver.increase(GROUP, 1, tags("a"))
    assert error.value.kind is DriverErrorKind.PERMANENT
    assert ordered(rig) == []


async def test_a_name_that_somebody_else_took_refuses_the_whole_order(rig: KarpenterRig) -> None:
    await rig.driver.increase(GROUP, 3, tags("a"))
    taken = str(metadata(ordered(rig)[2])["name"])
    await rig.driver.delete(GROUP, [each.id for each in await of_orders(rig)])
    await rig.pass_time(20)
    rig.cluster.api.put({"kind": "NodeClaim", "metadata": {"name": taken}, "spec": {}})
    with pytest.raises(DriverError, match=f"NodeClaim {taken} exists and is not of order a"):
        await rig.driver.increase(GROUP, 3, tags("a"))
    await rig.pass_time(20)
    assert ordered(rig) == []
    assert await rig.driver.target_size(GROUP) == 2


async def test_a_lost_answer_is_transient_and_the_order_is_completed_all_the_same(rig: KarpenterRig) -> None:
    api = rig.cluster.api
    api.faults.refuse(503, 1, containing="/nodeclaims")
    assert await failure(lambda: rig.driver.increase(GROUP, 2, tags("a"))) is DriverErrorKind.TRANSIENT
    await rig.driver.increase(GROUP, 2, tags("a"))
    assert len(ordered(rig)) == 2


async def test_what_may_not_be_done_is_permanent(rig: KarpenterRig) -> None:
    rig.cluster.api.users.grant("admin", [])
    assert await failure(lambda: rig.driver.instances(GROUP)) is DriverErrorKind.PERMANENT


async def test_the_driver_is_told_of_claims_that_vanish(rig: KarpenterRig) -> None:
    await rig.driver.increase(GROUP, 1, tags("a"))
    await rig.pass_time(20)
    told = asyncio.ensure_future(rig.driver.wait_change(GROUP))
    await asyncio.sleep(0)
    await rig.karpenter.time_out(str(metadata(ordered(rig)[0])["name"]))
    await wait_until(told.done, "the deletion is told")
