from support.audits import audited, pick, row_of
from support.cluster_objects import (
    GPU,
    a_class,
    a_group,
    a_node,
    a_request,
    a_running,
    a_slice,
    a_waiting,
    an_object,
    gpus,
)

FLEET = [a_node(), a_class(), a_slice(devices=gpus(1)), *a_running("r", "gpu-0")]


def test_pods_go_over_groups_cheapest_first_and_what_is_left_is_the_limit() -> None:
    pods = [each for index in range(4) for each in a_waiting(f"p{index}")]
    groups = [a_group("cheap", gpus(1), most=1), a_group("dear", gpus(1), price=5, most=2)]
    report = audited(*FLEET, *pods, *groups)
    told = [(pick(report, f"p{index}").group, pick(report, f"p{index}").reason) for index in range(4)]
    assert told == [("cheap", "shortage"), ("dear", "shortage"), ("dear", "shortage"), ("", "limit")]
    assert (pick(report, "cheap").nodes, pick(report, "dear").nodes) == (1, 2)
    assert "raise the maximum of group cheap" in pick(report, "p3").remedy


def test_no_group_that_could_serve_is_told_with_the_nearest() -> None:
    row = row_of("p", *FLEET, *a_waiting("p", a_request(count=2)), a_group("g", gpus(1)))
    assert (row.scale_up, "no group would help (g: " in row.why) == ("never", True)


def test_a_group_that_nobody_described_leaves_it_unknown() -> None:
    row = row_of("p", *FLEET, *a_waiting("p"), a_group("g"))
    assert (row.reason, row.scale_up) == ("shortage", "unknown: no device template")
    empty = row_of("p", a_class(), *a_waiting("p"), a_group("g"))
    assert (empty.verdict, empty.reason) == ("no-scale-up", "template-missing")
    assert f"no node group declares devices of driver {GPU}; group g is empty and has no device template" in empty.why


def test_half_a_pool_is_waited_for_and_orders_nothing() -> None:
    report = audited(a_node(), a_class(), a_slice(devices=gpus(1), count=2), *a_waiting("p"), a_group("g", gpus(1)))
    assert (pick(report, "p").reason, pick(report, "g").nodes) == ("pool-incomplete", 0)


def test_the_nodes_of_pods_that_consume_a_request_are_its_matter() -> None:
    consume = {"autoscaling.x-k8s.io/consume-provisioning-request": "r"}
    request = an_object(
        "autoscaling.x-k8s.io/v1", "ProvisioningRequest", "r", "team-a",
        spec={"provisioningClassName": "x", "podSets": []},
    )  # fmt: skip
    report = audited(*FLEET, request, *a_waiting("p", annotations=consume), a_group("g", gpus(1)))
    row = pick(report, "p")
    assert (row.verdict, "ordered by ProvisioningRequest/team-a/r" in row.why) == ("infeasible", True)
    assert pick(report, "g").nodes == 0


def test_what_groups_publish_decides_where_the_cluster_has_nothing() -> None:
    wanted = a_request("g", GPU, f'device.attributes["{GPU}"].model == "b"')
    row = row_of("p", a_node(), a_class(), *a_waiting("p", wanted), a_group("g", gpus(1, model="a")))
    assert (row.reason, row.why.startswith("group g: 0 of 1 device match")) == ("selector-mismatch", True)
