"""The planner's traps of group-capacity §10, each by its number."""

import pytest

from muster_plan import (
    BookedPod,
    Booking,
    FirstFit,
    GroupOrder,
    NoPlan,
    NoPlanKind,
    PinKind,
    Plan,
    Policy,
    ReasonCode,
    Survival,
    plan,
    remaining,
)
from muster_types import GangId, NodeGroupName
from unit.muster_plan.builders import (
    GPU,
    KUEUE,
    RACK,
    ROOT,
    claim_spec,
    claim_template,
    device_names,
    from_claim,
    from_template,
    gang_of,
    gpu,
    gpus,
    gpus_on_one_numa,
    group,
    named_claim,
    nics,
    node,
    places,
    planned,
    pod,
    pod_group,
    pod_template,
    refused,
    request,
    snapshot_of,
)


def test_t5_more_pods_than_the_group_can_ever_hold_is_refused_at_once_with_the_bound() -> None:
    cluster = snapshot_of(
        group("big", room=64, devices=gpus(8)),
        claim_template("eight", claim_spec(request("g", 8))),
        pod_template("worker", claims=[from_template("eight")]),
    )
    no = refused(cluster, ("worker", 5000))
    assert no.kind is NoPlanKind.LIMIT
    assert no.reasons[0].code is ReasonCode.LIMIT
    assert no.sentence() == "group big would have to add 5000 nodes, it can add 64 (maximum 64, now 0)"
    assert no.reasons[1].sentence() == "64 of 5000 pods fit within today's maxima"


def test_t6_a_rest_too_large_for_one_group_is_refused_and_never_ordered_in_part() -> None:
    existing = [node(f"node-{index}", devices=gpus(8)) for index in range(3)]
    work = (
        claim_template("eight", claim_spec(request("g", 8))),
        pod_template("worker", claims=[from_template("eight")]),
    )
    one_group = snapshot_of(*existing, group("a", room=4, devices=gpus(8)), *work)
    assert refused(one_group, ("worker", 8)).kind is NoPlanKind.LIMIT
    two_groups = snapshot_of(
        *existing, group("a", room=4, devices=gpus(8)), group("b", room=1, price=20, devices=gpus(8)), *work
    )
    found = planned(two_groups, ("worker", 8))
    assert found.orders == (GroupOrder(NodeGroupName("a"), 4), GroupOrder(NodeGroupName("b"), 1))
    assert found.cost == 60


def test_t7_leader_and_workers_get_one_plan_over_two_groups() -> None:
    cluster = snapshot_of(
        group("cpu", price=1, cpu="8"),
        group("gpu", price=50, devices=gpus(8), cpu="32"),
        claim_template("eight", claim_spec(request("g", 8))),
        pod_template("leader", cpu="1"),
        pod_template("worker", cpu="32", claims=[from_template("eight")]),
    )
    found = planned(cluster, ("leader", 1), ("worker", 8))
    assert found.orders == (GroupOrder(NodeGroupName("cpu"), 1), GroupOrder(NodeGroupName("gpu"), 8))
    assert found.cost == 401


def test_t8_a_template_makes_a_claim_per_pod_but_one_per_group_where_name_and_reference_match() -> None:
    cluster = snapshot_of(
        node("node-0", devices=gpus(4)),
        claim_template("one", claim_spec(request("g"))),
        pod_template("alone", claims=[from_template("one")]),
        pod_template("grouped", claims=[from_template("one")], pod_group="pg"),
        pod_group("pg", least=4, claims=[from_template("one")]),
    )
    own = planned(cluster, ("alone", 4))
    assert len({name for pod in device_names(own) for name in pod}) == 4
    together = planned(cluster, ("grouped", 4))
    assert device_names(together) == [["gpu-0"]] * 4
    assert {claim.shared for each in together.placements for claim in each.claims} == {"group/team/pg/dev"}


def test_t9_a_group_claim_of_another_template_is_no_match() -> None:
    cluster = snapshot_of(
        node("node-0", devices=gpus(2)),
        claim_template("one", claim_spec(request("g"))),
        claim_template("other", claim_spec(request("g"))),
        pod_template("worker", claims=[from_template("one")], pod_group="pg"),
        pod_group("pg", least=4, claims=[from_template("other")]),
    )
    no = refused(cluster, ("worker", 4))
    assert no.even_empty
    assert no.sentence() == "pod set worker: 2 of 4 pods can be placed, and there is no node group to grow"


def test_t10_an_allocated_named_claim_pins_all_pods_and_more_nodes_do_not_help() -> None:
    held = named_claim("common", claim_spec(request("g")), held=[(GPU, "node-a", "gpu-0")], on="node-a")
    cluster = snapshot_of(
        node("node-a", devices=gpus(1), cpu="3"),
        node("node-b", devices=gpus(1)),
        group("more", devices=gpus(1)),
        held,
        pod_template("worker", claims=[from_claim("common")]),
    )
    assert places(planned(cluster, ("worker", 3))) == {"node-a": 3}
    no = refused(cluster, ("worker", 4))
    assert (no.kind, no.even_empty) == (NoPlanKind.NEVER, True)
    assert "more" in no.proof


def test_t11_a_named_claim_has_256_consumers_a_group_claim_counts_once() -> None:
    big = node("node-0", devices=gpus(1), cpu="1000", allocatable={"pods": "1000"})
    spec = claim_spec(request("g"))
    named = snapshot_of(big, named_claim("common", spec), pod_template("worker", claims=[from_claim("common")]))
    no = refused(named, ("worker", 300))
    assert (no.kind, no.reasons[0].code) == (NoPlanKind.NEVER, ReasonCode.CONSUMERS)
    assert "256" in no.sentence()
    assert planned(named, ("worker", 256)).cost == 0
    grouped = snapshot_of(
        big,
        claim_template("common", spec),
        pod_template("worker", claims=[from_template("common")], pod_group="pg"),
        pod_group("pg", least=300, claims=[from_template("common")]),
    )
    assert places(planned(grouped, ("worker", 300))) == {"node-0": 300}


def test_t12_a_unique_attribute_differs_on_every_device_of_a_new_node() -> None:
    devices = [gpu(index, attributes={"uuid": {"string": "GPU-template"}}) for index in range(4)]
    work = (
        claim_template("four", claim_spec(request("g", 4), distinct=f"{GPU}/uuid")),
        pod_template("worker", claims=[from_template("four")]),
    )
    marked = group("marked", devices=devices, template={"uniqueAttributes": [f"{GPU}/uuid"]})
    assert planned(snapshot_of(marked, *work), ("worker", 2)).new_nodes == 2
    copied = group("copied", devices=devices)
    assert refused(snapshot_of(copied, *work), ("worker", 2)).even_empty


@pytest.mark.parametrize("bound", [True, False])
def test_t13_gpu_and_nic_share_an_unknown_root_only_inside_an_attribute_binding(bound: bool) -> None:
    plain_gpus = [{"name": f"gpu-{i}", "attributes": {"model": {"string": "h100"}}} for i in range(2)]
    plain_nics = [{"name": f"nic-{i}", "attributes": {"rdma": {"bool": True}}} for i in range(2)]
    bindings = [{"attribute": ROOT, "devices": [f"gpu-{i}", f"nic-{i}"]} for i in range(2)] if bound else []
    cluster = snapshot_of(
        group("new", devices=plain_gpus, nic_devices=plain_nics, template={"attributeBindings": bindings}),
        claim_template("pair", claim_spec(request("g"), request("n", cls="nic"), match={ROOT: ["g", "n"]})),
        pod_template("worker", claims=[from_template("pair")]),
    )
    if bound:
        assert device_names(planned(cluster, ("worker", 2))) == [["gpu-0", "nic-0"], ["gpu-1", "nic-1"]]
    else:
        assert refused(cluster, ("worker", 2)).even_empty


def test_t13_nobody_knows_whether_two_bindings_will_differ() -> None:
    plain = [{"name": f"gpu-{i}", "attributes": {"model": {"string": "h100"}}} for i in range(2)]
    bindings = [{"attribute": ROOT, "devices": [f"gpu-{i}"]} for i in range(2)]
    cluster = snapshot_of(
        group("new", devices=plain, template={"attributeBindings": bindings}),
        claim_template("two", claim_spec(request("g", 2), distinct=ROOT)),
        pod_template("worker", claims=[from_template("two")]),
    )
    assert refused(cluster, ("worker", 1)).even_empty


def test_t14_a_rack_that_only_boot_will_tell_is_not_plannable_unless_the_policy_orders_and_verifies() -> None:
    unlabelled = group("anywhere", price=1, devices=gpus(8))
    labelled = group("in-r7", price=5, devices=gpus(8), labels={RACK: "r7"})
    work = (
        claim_template("eight", claim_spec(request("g", 8))),
        pod_template("worker", claims=[from_template("eight")], annotations={KUEUE + "podset-required-topology": RACK}),
    )
    no = refused(snapshot_of(unlabelled, *work), ("worker", 2))
    assert no.kind is NoPlanKind.NEVER
    assert RACK in no.sentence()
    pinned = planned(snapshot_of(unlabelled, labelled, *work), ("worker", 2))
    assert pinned.orders == (GroupOrder(NodeGroupName("in-r7"), 2),)
    assert pinned.domain == f"{RACK}=r7"
    assert not pinned.assumptions
    daring = Policy(assume_labels=frozenset({RACK}))
    verified = planned(snapshot_of(unlabelled, labelled, *work), ("worker", 2), policy=daring)
    assert verified.orders == (GroupOrder(NodeGroupName("anywhere"), 2),)
    assert not verified.domains[0].known
    assert verified.assumptions == (f"the new nodes of group anywhere share one value of {RACK}",)


def test_t15_the_label_of_an_example_node_says_nothing_about_new_nodes() -> None:
    example = node("node-0", devices=gpus(8), labels={RACK: "r7", "muster.dev/pool": "anywhere"})
    cluster = snapshot_of(
        example,
        group("anywhere", devices=gpus(8)),
        claim_template("eight", claim_spec(request("g", 8))),
        pod_template("worker", claims=[from_template("eight")], annotations={KUEUE + "podset-required-topology": RACK}),
    )
    assert places(planned(cluster, ("worker", 1))) == {"node-0": 1}
    assert refused(cluster, ("worker", 8)).kind is NoPlanKind.NEVER


def test_t36_a_raised_minimum_leaves_running_pods_alone_and_plans_the_difference() -> None:
    running = [
        pod(f"w{i}", "node-0", namespace="team", labels={"app": "w"}, schedulingGroup={"podGroupName": "pg"})
        for i in range(8)
    ]
    cluster = snapshot_of(
        node("node-0", cpu="8", labels={RACK: "r1"}),
        node("node-1", cpu="8", labels={RACK: "r1"}),
        node("node-2", cpu="8", labels={RACK: "r2"}),
        pod_template("worker", labels={"app": "w"}, pod_group="pg"),
        pod_group("pg", least=16, topology=RACK),
        *running,
    )
    rest = remaining(gang_of(cluster, ("worker", 16)), cluster)
    assert [(each.name, each.count) for each in rest.pod_sets] == [("worker", 8)]
    assert rest.pod_groups["pg"].min_count == 8
    found = plan(cluster, rest)
    assert isinstance(found, Plan)
    assert places(found) == {"node-1": 8}, "the rack of the running members is kept"


def test_t37_f21_members_that_were_evicted_are_planned_from_the_pods_that_run_and_not_from_a_condition() -> None:
    running = [
        pod(f"w{i}", "node-0", namespace="team", labels={"app": "w"}, schedulingGroup={"podGroupName": "pg"})
        for i in range(5)
    ]
    cluster = snapshot_of(
        node("node-0", cpu="5", labels={RACK: "r1"}),
        node("node-1", cpu="8", labels={RACK: "r1"}),
        node("node-2", cpu="8", labels={RACK: "r2"}),
        pod_template("worker", labels={"app": "w"}, pod_group="pg"),
        pod_group("pg", least=8, topology=RACK),
        *running,
    )
    rest = remaining(gang_of(cluster, ("worker", 8)), cluster)
    found = plan(cluster, rest)
    assert isinstance(found, Plan)
    assert places(found) == {"node-1": 3}, "the three that are missing, beside the five that run"


def test_t39_a_plan_that_first_fit_would_spoil_is_pinned_or_replaced() -> None:
    """The first pod takes gpu-0, which the second one needs for its NIC (k/k#138765)."""
    work = (
        claim_template("any", claim_spec(request("g"))),
        claim_template("pair", claim_spec(request("g"), request("n", cls="nic"), match={ROOT: ["g", "n"]})),
        pod_template("first", claims=[from_template("any")]),
        pod_template("second", claims=[from_template("pair")]),
    )
    cluster = snapshot_of(node("node-0", devices=gpus(2), nic_devices=nics(1)), *work)
    found = planned(cluster, ("first", 1), ("second", 1))
    assert device_names(found) == [["gpu-1"], ["gpu-0", "nic-0"]]
    assert found.survival is Survival.PINNED
    assert {pin.kind for pin in found.pins} == {PinKind.ORDER}
    assert [(pin.pod_set, pin.position) for pin in found.pins] == [("first", 1), ("second", 0)]
    roomy = snapshot_of(node("node-0", devices=gpus(2), nic_devices=nics(1)), node("node-1", devices=gpus(1)), *work)
    replaced = planned(roomy, ("first", 1), ("second", 1), policy=Policy(first_fit=FirstFit.REPLACE))
    assert replaced.cost == 0


def test_t39_where_no_order_helps_the_claims_are_pinned_to_their_devices() -> None:
    """Each pod's first choice takes what the other needs."""
    kinds = ("ab", "ab", "a", "b")
    devices = [gpu(index, attributes={"kind": {"string": kind}}) for index, kind in enumerate(kinds)]
    wants = {
        "a": claim_spec(request("g", 2, selectors=[_kind("a")])),
        "b": claim_spec(request("g", 2, selectors=[_kind("b")])),
    }
    cluster = snapshot_of(
        node("node-0", devices=devices),
        *(claim_template(name, spec) for name, spec in wants.items()),
        *(pod_template(name, claims=[from_template(name)]) for name in wants),
    )
    found = planned(cluster, ("a", 1), ("b", 1))
    assert found.survival is Survival.PINNED
    assert {pin.kind for pin in found.pins} == {PinKind.DEVICES}


def _kind(letter: str) -> dict[str, object]:
    return {"cel": {"expression": f'device.attributes["{GPU}"].kind.contains("{letter}")'}}


def test_t45_a_zero_or_max_group_is_ordered_whole_and_its_waste_is_charged() -> None:
    work = (
        claim_template("eight", claim_spec(request("g", 8))),
        pod_template("worker", claims=[from_template("eight")]),
    )
    whole = group("slice", room=16, price=10, devices=gpus(8), zeroOrMax=True)
    found = planned(snapshot_of(whole, *work), ("worker", 9))
    assert found.orders == (GroupOrder(NodeGroupName("slice"), 16),)
    assert (found.cost, found.new_nodes) == (160, 16)
    assert sum(dict(each.devices)[GPU] for each in found.spare) == 7 * 8, "the rest can be shared"
    single = group("single", room=16, price=17, devices=gpus(8))
    assert planned(snapshot_of(whole, single, *work), ("worker", 9)).cost == 153


def test_t48_two_gangs_race_for_ten_nodes_and_one_gets_eight() -> None:
    cluster = snapshot_of(
        *(node(f"node-{index}", devices=gpus(8)) for index in range(10)),
        claim_template("eight", claim_spec(request("g", 8))),
        pod_template("worker", claims=[from_template("eight")]),
    )
    first = planned(cluster, ("worker", 8))
    after = cluster.with_bookings([booking_of("first", first)])
    second = plan(after, gang_of(after, ("worker", 8)))
    assert isinstance(second, NoPlan)
    assert second.kind is NoPlanKind.NOT_NOW, "it is queued: the first gang will leave"
    assert "first" in " ".join(help.text for help in second.helps)
    grown = after.put(group("more", room=6, devices=gpus(8)))
    third = planned(grown, ("worker", 8))
    assert (third.new_nodes, len(places(third))) == (6, 8)


def booking_of(name: str, found: Plan) -> Booking:
    return Booking(
        GangId(name),
        tuple(BookedPod(each.target, "team", {}, {}, each.claims) for each in found.placements),
    )


def test_a_numa_claim_that_no_shape_serves_says_how_far_off_the_closest_is() -> None:
    cluster = snapshot_of(
        group("h100-r7", devices=gpus(8, per_numa=4), labels={RACK: "r7"}),
        claim_template("eight", gpus_on_one_numa(8)),
        pod_template("worker", claims=[from_template("eight")]),
    )
    no = refused(cluster, ("worker", 2))
    assert no.sentence() == (
        "pod set worker: claim dev needs 8 gpu devices sharing numa; the closest shape, group h100-r7, has 4 on numa=0"
    )
    assert no.even_empty
