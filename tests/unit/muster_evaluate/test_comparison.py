"""The pending work served pod by pod and by plan."""

from fractions import Fraction

from muster_evaluate import Capability, Outcome
from muster_evaluate.fields import part
from support.cluster_objects import (
    Json,
    a_claim,
    a_device,
    a_gang,
    a_group,
    a_node,
    a_pod,
    a_request,
    a_slice,
    a_template,
    an_object,
    gpus,
)
from unit.muster_evaluate.clusters import CLASS, a_pending_gang, an_autoscaler, evaluated

RACK = "topology.example.com/rack"
NUMA = "gpu.example.com/numa"


def test_both_buy_the_same_where_pods_are_alike_and_groups_suffice() -> None:
    found = evaluated(CLASS, a_group("g", gpus(2), price=3), *a_pending_gang("train", 3))
    (row,) = found.comparison.rows
    assert row.pod_by_pod == row.muster
    assert (row.muster.outcome, [(each.group, each.count) for each in row.muster.orders]) == (
        Outcome.STARTS,
        [("g", 3)],
    )
    assert found.comparison.pod_by_pod == found.comparison.muster
    assert (found.comparison.muster.cost, found.comparison.muster.stranded) == (9, 0)
    assert found.comparison.as_good


def test_pod_by_pod_strands_nodes_of_a_gang_that_never_gets_all_of_them() -> None:
    found = evaluated(CLASS, a_group("g", gpus(2), most=2, price=3), *a_pending_gang("train", 4))
    (row,) = found.comparison.rows
    assert (row.pod_by_pod.outcome, row.muster.outcome) == (Outcome.PARTIAL, Outcome.WAITS)
    one, other = found.comparison.pod_by_pod, found.comparison.muster
    assert (one.nodes, one.stranded, one.stranded_cost, one.waiting) == (2, 2, 6, 1)
    assert (other.nodes, other.stranded, other.waiting) == (0, 0, 1)
    assert one.idle_hours == Fraction(2 * 10, 60)
    assert not found.comparison.as_good


def test_nodes_live_as_long_as_the_autoscaler_or_the_asker_says() -> None:
    objects = [CLASS, a_group("g", gpus(2), most=2), *a_pending_gang("train", 4)]
    slow = evaluated(an_autoscaler("v1.36.0", "--scale-down-unneeded-time=1h30m"), *objects)
    assert slow.comparison.pod_by_pod.idle_hours == 3
    assert any("90 min" in each and "--scale-down-unneeded-time" in each for each in slow.assumptions)
    asked = evaluated(*objects, idle_minutes=Fraction(30))
    assert asked.comparison.pod_by_pod.idle_hours == 1


def test_it_buys_the_wrong_shape_when_cheap_nodes_do_not_share_a_domain() -> None:
    found = evaluated(
        CLASS,
        a_group("cheap", gpus(2), price=1, domainLabel=RACK),
        a_group("rack", gpus(2), price=3, labels={RACK: "r1"}),
        *a_pending_gang("train", 2, key=RACK),
    )
    (row,) = found.comparison.rows
    assert (row.pod_by_pod.outcome, [(o.group, o.count) for o in row.pod_by_pod.orders]) == (
        Outcome.WRONG_SHAPE,
        [("cheap", 2)],
    )
    assert (row.muster.outcome, [(o.group, o.count) for o in row.muster.orders]) == (Outcome.STARTS, [("rack", 2)])
    assert (found.comparison.pod_by_pod.stranded, found.comparison.muster.stranded) == (2, 0)
    assert {Capability.TOPOLOGY_GROWING, Capability.TOPOLOGY_PLACING} <= set(found.needed)


def test_it_buys_the_wrong_shape_when_boot_changes_the_values_that_a_template_writes() -> None:
    devices = [a_device(name, numa=0) for name in ("gpu-0", "gpu-1")]
    unique: Json = {"uniqueAttributes": [NUMA]}
    constraints: list[Json] = [{"requests": ["g"], "matchAttribute": NUMA}]
    found = evaluated(
        CLASS,
        a_group("cheap", devices, price=1, template=unique),
        a_group("true", devices, price=5),
        *a_pending_gang("train", 2, constraints=constraints),
    )
    (row,) = found.comparison.rows
    assert (row.pod_by_pod.outcome, row.pod_by_pod.orders[0].group) == (Outcome.WRONG_SHAPE, "cheap")
    assert (row.muster.outcome, row.muster.orders[0].group) == (Outcome.STARTS, "true")


def test_a_live_node_is_the_example_of_its_group_and_not_the_template() -> None:
    live: list[Json] = [
        a_node("n1", labels={"group": "g"}),
        a_slice("n1", [a_device("gpu-0")]),
        a_claim("old", a_request(), held=["gpu-0"], by="old", node="n1"),
        a_pod("old", "old", node="n1"),
    ]
    found = evaluated(CLASS, *live, a_group("g", gpus(2), size=1), *a_pending_gang("train", 1, count=2))
    (row,) = found.comparison.rows
    assert (row.pod_by_pod.outcome, row.pod_by_pod.orders) == (Outcome.WAITS, ())
    assert row.muster.outcome is Outcome.STARTS


def test_members_that_share_a_claim_need_the_node_of_the_first_and_nobody_told_the_autoscaler() -> None:
    found = evaluated(
        CLASS,
        a_group(
            "big", gpus(2), price=9, template={"status": {"allocatable": {"cpu": "8", "memory": "64Gi", "pods": "9"}}}
        ),
        a_group(
            "small", gpus(2), price=1, template={"status": {"allocatable": {"cpu": "4", "memory": "64Gi", "pods": "9"}}}
        ),
        a_template("all", a_request(count=2)),
        a_gang("train", 2, resourceClaims=[{"name": "g", "resourceClaimTemplateName": "all"}]),
        *(a_pod(f"train-{index}", template="all", gang="train", cpu="4") for index in range(2)),
    )
    (row,) = found.comparison.rows
    assert (row.pod_by_pod.outcome, row.pod_by_pod.orders[0].group) == (Outcome.PARTIAL, "small")
    assert (row.muster.outcome, row.muster.orders[0].group) == (Outcome.STARTS, "big")
    assert Capability.GROUP_CLAIMS in found.needed


def test_two_half_served_gangs_starve_each_other_and_a_plan_serves_one() -> None:
    found = evaluated(CLASS, a_group("g", gpus(2), most=3), *a_pending_gang("a", 2), *a_pending_gang("b", 2))
    assert [row.pod_by_pod.outcome for row in found.comparison.rows] == [Outcome.STARTS, Outcome.PARTIAL]
    assert [row.muster.outcome for row in found.comparison.rows] == [Outcome.STARTS, Outcome.WAITS]
    assert (found.comparison.pod_by_pod.stranded, found.comparison.muster.stranded) == (1, 0)


def test_room_that_one_work_leaves_on_new_nodes_serves_the_next_on_both_sides() -> None:
    found = evaluated(CLASS, a_group("g", gpus(4)), *a_pending_gang("a", 1), *a_pending_gang("b", 1))
    assert (found.comparison.pod_by_pod.nodes, found.comparison.muster.nodes) == (1, 1)
    assert found.comparison.pod_by_pod.waiting == found.comparison.muster.waiting == 0


def test_the_limit_of_all_nodes_holds_for_the_autoscaler() -> None:
    limited = an_autoscaler("v1.36.0", "--max-nodes-total=1")
    found = evaluated(CLASS, limited, a_group("g", gpus(2)), *a_pending_gang("train", 2))
    assert found.comparison.pod_by_pod.nodes == 1
    assert found.comparison.rows[0].pod_by_pod.outcome is Outcome.PARTIAL


def test_an_atomic_unit_comes_whole_and_its_spare_nodes_count_as_stranded_on_both_sides() -> None:
    found = evaluated(CLASS, a_group("g", gpus(2), atomicUnit=2), *a_pending_gang("train", 1))
    sides = (found.comparison.pod_by_pod, found.comparison.muster)
    assert [(side.nodes, side.stranded) for side in sides] == [(2, 1), (2, 1)]


def test_single_pods_start_as_many_as_fit() -> None:
    singles = [a_template("one", a_request(count=2)), *(a_pod(f"p-{index}", template="one") for index in range(5))]
    found = evaluated(CLASS, a_group("g", gpus(2), most=3), *singles)
    (row,) = found.comparison.rows
    assert row.work.subject == "Pod/team-a/p-0 and 4 alike"
    assert [(share.outcome, share.started) for share in (row.pod_by_pod, row.muster)] == [(Outcome.PARTIAL, 3)] * 2
    assert found.comparison.as_good


def test_a_request_stands_for_the_pods_that_consume_it_and_gated_pods_are_left_out() -> None:
    consume = {"autoscaling.x-k8s.io/consume-provisioning-request": "train"}
    template = {"metadata": {}, "spec": {"containers": [{"name": "main", "image": "x:1"}]}}
    request = an_object(
        "autoscaling.x-k8s.io/v1",
        "ProvisioningRequest",
        "train",
        "team-a",
        spec={
            "provisioningClassName": "atomic.muster.dev",
            "podSets": [{"podTemplateRef": {"name": "work"}, "count": 2}],
        },
    )
    found = evaluated(
        request,
        an_object("v1", "PodTemplate", "work", "team-a", template=template),
        a_pod("train-0", annotations=consume),
        a_pod("held", schedulingGates=[{"name": "kueue.x-k8s.io/admission"}]),
        a_group("g"),
    )
    assert [(row.work.subject, row.work.pods) for row in found.comparison.rows] == [
        ("ProvisioningRequest/team-a/train", 2)
    ]
    assert found.pending.gated == 1
    settled = {**request, "status": {"conditions": [{"type": "Provisioned", "status": "True"}]}}
    assert evaluated(settled).comparison.rows == ()


def test_members_that_run_are_counted_and_those_that_do_not_exist_are_like_the_last() -> None:
    found = evaluated(
        CLASS,
        a_node("n1"),
        a_gang("train", 4),
        a_template("train", a_request(count=2)),
        a_pod("train-0", template="train", gang="train", node="n1"),
        a_pod("train-1", template="train", gang="train"),
        a_group("g", gpus(2)),
    )
    assert [row.work.pods for row in found.comparison.rows] == [3]


def test_work_that_cannot_be_read_is_named() -> None:
    found = evaluated(CLASS, a_gang("train", 1), a_pod("train-0", template="gone", gang="train"))
    assert [(each.subject, each.why) for each in found.pending.unread] == [
        ("PodGroup/team-a/train", "ResourceClaimTemplate/team-a/gone does not exist")
    ]


def test_what_plain_pods_need_is_there_and_gangs_over_groups_miss_what_nobody_has() -> None:
    plain = evaluated(a_group("g"), a_pod("p"), an_autoscaler())
    assert (dict(plain.needed), plain.missing, plain.fit) == ({}, (), True)
    mixed = evaluated(
        CLASS,
        an_autoscaler(),
        a_group("a", gpus(2), most=1),
        a_group("b", gpus(2), most=1),
        *a_pending_gang("train", 2),
    )
    assert [row.capability for row in mixed.missing] == [Capability.FROM_ZERO, Capability.ATOMIC]
    assert not mixed.fit


def test_the_same_input_in_any_order_has_the_same_answer() -> None:
    objects = [CLASS, a_group("g", gpus(2), most=3), *a_pending_gang("a", 2), *a_pending_gang("b", 2)]
    assert evaluated(*objects).comparison == evaluated(*reversed(objects)).comparison


def test_a_request_for_the_pods_of_the_group_of_its_name_is_the_same_work() -> None:
    gang = a_pending_gang("train", 2)
    template = {"metadata": {}, "spec": part(gang[-1], "spec")}
    bare = {key: value for key, value in template["spec"].items() if key != "schedulingGroup"}
    request = an_object(
        "autoscaling.x-k8s.io/v1",
        "ProvisioningRequest",
        "train",
        "team-a",
        spec={
            "provisioningClassName": "atomic.muster.dev",
            "podSets": [{"podTemplateRef": {"name": "work"}, "count": 2}],
        },
    )
    for spec, subject in ((bare, "PodGroup/team-a/train"), (template["spec"], "ProvisioningRequest/team-a/train")):
        work = an_object("v1", "PodTemplate", "work", "team-a", template={"metadata": {}, "spec": spec})
        found = evaluated(CLASS, a_group("g", gpus(2)), *gang, request, work)
        assert [(row.work.subject, row.work.pods) for row in found.comparison.rows] == [(subject, 2)]
        assert found.comparison.muster.nodes == 2


def test_a_gang_that_only_finds_existing_nodes_of_no_use_buys_nothing_and_waits() -> None:
    nodes = [
        each for name in ("n1", "n2") for each in (a_node(name, labels={RACK: name}), a_slice(name, gpus(2), pool=name))
    ]
    found = evaluated(CLASS, *nodes, *a_pending_gang("train", 2, key=RACK))
    assert [(row.pod_by_pod.outcome, row.pod_by_pod.orders) for row in found.comparison.rows] == [(Outcome.WAITS, ())]
