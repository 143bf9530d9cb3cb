from support.audits import audited, pick, row_of
from support.cluster_objects import (
    GPU,
    Json,
    a_claim,
    a_class,
    a_device,
    a_group,
    a_node,
    a_pod,
    a_quota,
    a_running,
    a_slice,
    a_template,
    a_waiting,
    gpus,
)

FLEET = [a_node(), a_class(), a_slice(devices=gpus(2))]


def test_a_pod_that_fits_is_told_its_node_its_devices_and_its_choices() -> None:
    row = row_of("p", *FLEET, a_node("node-b"), a_slice("node-b", gpus(2)), *a_waiting("p"))
    assert (row.verdict, row.node, row.devices) == ("feasible", "node-a", (f"{GPU}/node-a/gpu-0",))
    assert "it fits now (2 nodes would do)" in row.why


def test_equal_pods_compete_with_each_other() -> None:
    report = audited(*FLEET, *(each for index in range(3) for each in a_waiting(f"p{index}")))
    assert [pick(report, f"p{index}").verdict for index in range(3)] == ["feasible", "feasible", "infeasible"]


def test_the_fullest_node_is_filled_first_and_untouched_domains_last() -> None:
    nodes = [
        each for name in ("node-b", "node-c") for each in (a_node(name, labels={"rack": name}), a_slice(name, gpus(2)))
    ]
    row = row_of("p", *FLEET, *nodes, *a_running("r", "gpu-1", node="node-c"), *a_waiting("p"))
    assert row.node == "node-c"


def test_pods_of_one_claim_share_its_devices_and_follow_it() -> None:
    report = audited(*FLEET, a_claim("one"), a_pod("a", "one"), a_pod("b", "one"))
    assert [pick(report, name).verdict for name in "ab"] == ["feasible", "feasible"]
    placed = audited(*FLEET, a_node("b"), a_claim("one", held=["gpu-0"], by="x"), a_pod("a", "one"))
    assert pick(placed, "a").node == "node-a"


def test_a_claim_that_can_list_no_more_consumers_stops_the_next_pod() -> None:
    claim = a_claim("one", held=["gpu-0"], by="x")
    consumers = [{"resource": "pods", "name": f"c{index}", "uid": f"{index}"} for index in range(255)]
    claim["status"]["reservedFor"] = consumers  # pyright: ignore[reportIndexIssue] -- a map
    report = audited(*FLEET, claim, a_pod("a", "one"), a_pod("b", "one"))
    assert (pick(report, "a").verdict, pick(report, "b").reason) == ("feasible", "api-limit")


def test_a_quota_stops_pods_whose_claims_are_still_to_be_made() -> None:
    quota = a_quota("q", {f"{GPU}.deviceclass.resource.k8s.io/devices": "1"})
    pods = [a_pod("a", template="t"), a_pod("b", template="t")]
    report = audited(*FLEET, quota, a_template("t"), *pods)
    assert (pick(report, "a").verdict, pick(report, "b").reason) == ("feasible", "quota")
    assert "2 devices of the kind free, 2 of them on node-a" in pick(report, "b").why


def test_hardware_that_may_be_in_use_makes_a_pod_unsafe() -> None:
    twins = [a_slice(devices=[a_device("a", uuid="U")]), a_slice(devices=[a_device("b", uuid="U")], pool="p", name="p")]
    report = audited(a_node(), a_class(), *twins, *a_waiting("one"), *a_waiting("two"))
    assert sorted(pick(report, name).verdict.value for name in ("one", "two")) == ["feasible", "unsafe"]


def test_pods_without_claims_are_judged_by_room() -> None:
    objects: list[Json] = [a_node(cpu="4"), a_pod("fits", cpu="3"), a_pod("too-large", cpu="5")]
    report = audited(*objects)
    assert (pick(report, "fits").verdict, pick(report, "too-large").reason) == ("feasible", "shortage")


def test_a_pod_that_only_a_new_node_takes_is_told_how_many() -> None:
    row = row_of("p", a_class(), *a_waiting("p"), a_group("g", gpus(1)))
    assert (row.verdict, row.group, row.nodes, row.devices) == ("scale-up", "g", 1, (f"{GPU}/pool/gpu-0",))
