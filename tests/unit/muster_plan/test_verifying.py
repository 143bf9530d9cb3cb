from muster_plan import Broken, ExistingNode, NewNode, ReasonCode, Verified, verify
from muster_types import NodeGroupName, NodeName
from unit.muster_plan.builders import (
    KUEUE,
    RACK,
    claim_spec,
    claim_template,
    device_names,
    from_template,
    gang_of,
    gpus,
    gpus_on_one_numa,
    group,
    node,
    planned,
    pod,
    pod_group,
    pod_template,
    request,
    snapshot_of,
)


def work(numa: int = 4) -> tuple[dict[str, object], ...]:
    return (
        claim_template("four", gpus_on_one_numa(numa)),
        pod_template("worker", claims=[from_template("four")], cpu="8"),
    )


ARRIVED = {NewNode(NodeGroupName("h100"), 0): NodeName("new-a"), NewNode(NodeGroupName("h100"), 1): NodeName("new-b")}


def test_a_plan_that_holds_is_told_with_actual_nodes_and_devices() -> None:
    before = snapshot_of(group("h100", devices=gpus(4)), *work())
    plan = planned(before, ("worker", 2))
    after = before.apply([*node("new-a", devices=gpus(4)), *node("new-b", devices=gpus(4))])
    found = verify(after, gang_of(after, ("worker", 2)), plan, ARRIVED)
    assert isinstance(found, Verified)
    assert [each.target for each in found.plan.placements] == [
        ExistingNode(NodeName("new-a")),
        ExistingNode(NodeName("new-b")),
    ]
    assert {
        device.device.pool for each in found.plan.placements for claim in each.claims for device in claim.results
    } == {
        "new-a",
        "new-b",
    }
    assert device_names(found.plan) == [["gpu-0", "gpu-1", "gpu-2", "gpu-3"]] * 2


def test_an_arrival_with_another_numa_layout_breaks_the_plan_and_names_the_node() -> None:
    before = snapshot_of(group("h100", devices=gpus(4)), *work())
    plan = planned(before, ("worker", 2))
    after = before.apply([*node("new-a", devices=gpus(4)), *node("new-b", devices=gpus(4, per_numa=2))])
    found = verify(after, gang_of(after, ("worker", 2)), plan, ARRIVED)
    assert isinstance(found, Broken)
    assert (found.nodes, found.reasons[0].code) == ((NodeName("new-b"),), ReasonCode.SHAPE)


def test_an_arrival_that_is_missing_or_not_ready_breaks_the_plan() -> None:
    before = snapshot_of(group("h100", devices=gpus(4)), *work())
    plan = planned(before, ("worker", 2))
    half = before.apply(node("new-a", devices=gpus(4)))
    missing = verify(half, gang_of(half, ("worker", 2)), plan, ARRIVED)
    assert isinstance(missing, Broken)
    assert "new-b is not there" in missing.reasons[0].sentence()
    late = half.apply(node("new-b", devices=gpus(4), ready=False))
    unready = verify(late, gang_of(late, ("worker", 2)), plan, ARRIVED)
    assert isinstance(unready, Broken)
    assert unready.reasons[0].code is ReasonCode.NOT_READY


def test_devices_that_others_took_meanwhile_break_the_plan() -> None:
    before = snapshot_of(node("node-0", devices=gpus(4)), *work())
    plan = planned(before, ("worker", 1))
    taken = before.put(pod("thief", "node-0", cpu="60"))
    found = verify(taken, gang_of(taken, ("worker", 1)), plan, {})
    assert isinstance(found, Broken)
    assert (found.reasons[0].code, found.reasons[0].sentence()) == (
        ReasonCode.RESOURCES,
        "node node-0 has no room left for its pods: cpu 8 wanted, 4 free",
    )


def test_nodes_in_two_racks_break_a_required_domain_even_if_all_devices_are_there() -> None:
    notes = {KUEUE + "podset-required-topology": RACK}
    before = snapshot_of(
        group("h100", devices=gpus(4), labels={RACK: "r7"}),
        claim_template("four", gpus_on_one_numa(4)),
        pod_template("worker", claims=[from_template("four")], annotations=notes),
    )
    plan = planned(before, ("worker", 2))
    after = before.apply(
        [*node("new-a", devices=gpus(4), labels={RACK: "r7"}), *node("new-b", devices=gpus(4), labels={RACK: "r8"})]
    )
    found = verify(after, gang_of(after, ("worker", 2)), plan, ARRIVED)
    assert isinstance(found, Broken)
    assert found.reasons[0].code is ReasonCode.DOMAIN


def test_a_group_claim_stays_one_claim_on_the_node_that_arrived() -> None:
    before = snapshot_of(
        group("h100", devices=gpus(2)),
        claim_template("one", claim_spec(request("g"))),
        pod_template("worker", claims=[from_template("one")], pod_group="pg"),
        pod_group("pg", least=2, claims=[from_template("one")]),
    )
    plan = planned(before, ("worker", 2))
    assert plan.new_nodes == 1
    after = before.apply(node("new-a", devices=gpus(2)))
    found = verify(after, gang_of(after, ("worker", 2)), plan, ARRIVED)
    assert isinstance(found, Verified)
    assert device_names(found.plan) == [["gpu-0"], ["gpu-0"]]
