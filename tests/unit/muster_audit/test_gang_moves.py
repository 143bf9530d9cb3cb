from support.audits import row_of
from support.cluster_objects import Json, a_class, a_gang, a_node, a_pod, a_running, a_slice, a_template, gpus


def racks() -> list[Json]:
    nodes = [a_node(f"n{index}", labels={"rack": f"r{index // 2}"}) for index in range(4)]
    return [a_class(), *nodes, *(a_slice(f"n{index}", gpus(1)) for index in range(4))]


def gang(count: int, **pod: object) -> list[Json]:
    pods = [a_pod(f"w{index}", template="one", gang="ring", **pod) for index in range(count)]  # pyright: ignore[reportArgumentType] -- fields of the pod
    return [a_template("one"), a_gang("ring", count, key="rack"), *pods]


def test_the_one_move_that_makes_room_in_a_domain_is_named_with_its_target() -> None:
    row = row_of(
        "PodGroup/team-a/ring",
        *racks(),
        *a_running("busy", "gpu-0", node="n0"),
        *gang(2),
        *a_running("other", "gpu-0", node="n2"),
    )
    assert (row.reason, row.remedy) == ("fragmentation", "move busy to n3, then r0 holds the gang")


def test_pods_of_a_higher_priority_are_left_alone() -> None:
    held = [*a_running("a", "gpu-0", node="n0", priority=9), *a_running("b", "gpu-0", node="n2", priority=9)]
    assert row_of("PodGroup/team-a/ring", *racks(), *held, *gang(2)).remedy == ""


def test_a_pod_whose_claim_others_use_too_is_not_moved() -> None:
    shared = [*a_running("a", "gpu-0", node="n0"), *a_running("b", "gpu-0", node="n2")]
    for name in (0, 2):
        shared[name]["status"]["reservedFor"].append({"resource": "pods", "name": "x", "uid": "x"})  # pyright: ignore[reportIndexIssue] -- a map
    assert row_of("PodGroup/team-a/ring", *racks(), *shared, *gang(2)).remedy == ""


def test_nothing_is_moved_where_no_domain_is_large_enough() -> None:
    row = row_of("PodGroup/team-a/ring", *racks(), *gang(3))
    assert (row.reason, row.remedy) == ("topology-mismatch", "")
