import pytest

from support.audits import audited, pick, row_of
from support.cluster_objects import (
    Json,
    a_class,
    a_gang,
    a_group,
    a_node,
    a_pod,
    a_request,
    a_running,
    a_slice,
    a_template,
    gpus,
)


def gang(count: int, key: str = "", *requests: Json) -> list[Json]:
    pods = [a_pod(f"w{index}", template="t", gang="ring") for index in range(count)]
    return [a_template("t", *requests), a_gang("ring", count, key=key), *pods]


def racks(size: int = 1) -> list[Json]:
    nodes = [a_node(f"n{index}", labels={"rack": f"r{index // 2}"}) for index in range(4)]
    return [a_class(), *nodes, *(a_slice(f"n{index}", gpus(size)) for index in range(4))]


HELD = [*a_running("a", "gpu-0", node="n0"), *a_running("b", "gpu-0", node="n2")]
RING = "PodGroup/team-a/ring"


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        ([*racks(), *gang(5)], "gang-partial"),
        ([*racks(), *gang(3, "rack")], "topology-mismatch"),
        ([*racks(), *gang(2, "rack"), *HELD], "fragmentation"),
        ([*racks(), *gang(2, "", a_request(count=2))], "topology-mismatch"),
        ([*racks(), *gang(5), a_group("g", gpus(1), most=0)], "limit"),
        ([a_class(), *gang(2, "rack"), a_group("g", gpus(1))], "topology-mismatch"),
    ],
)  # fmt: skip
def test_the_reason_of_a_gang_that_does_not_fit(objects: list[Json], reason: str) -> None:
    row = row_of(RING, *objects)
    assert (row.verdict, row.reason) == ("infeasible", reason)


def test_a_pod_that_fits_by_itself_is_told_to_wait_for_its_gang() -> None:
    row = row_of("w0", *racks(), *gang(5))
    assert (row.reason, "its gang ring does not: 4 of 5 members fit" in row.why) == ("gang-partial", True)


def test_domains_are_told_with_what_each_takes() -> None:
    held = a_running("a", "gpu-0", node="n0")
    why = row_of(RING, *racks(), *gang(3, "rack"), *held).why
    assert why == "best rack fits 2 of 3 (r0 fits 1 of 3, r1 fits 2 of 3); 3 of 3 fit without regard to rack"


def test_nodes_that_would_help_are_counted_beside_those_that_exist() -> None:
    report = audited(*racks(), *gang(6), a_group("g", gpus(2)))
    row = pick(report, RING)
    assert (row.verdict, row.group, row.nodes) == ("scale-up", "g", 1)
    assert row.node == "n0, n1, n2, n3"
    assert pick(report, "g").nodes == 1


def test_a_group_that_nobody_described_leaves_it_unknown() -> None:
    row = row_of(RING, *racks(), *gang(6), a_group("g"))
    assert (row.scale_up, "whether group g would help is unknown" in row.why) == ("unknown: no device template", True)
    nothing = row_of(RING, a_class(), *gang(2), a_group("g"))
    assert (nothing.verdict, nothing.reason) == ("no-scale-up", "template-missing")
