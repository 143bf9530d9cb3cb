from support.audits import audited, pick, row_of
from support.cluster_objects import (
    Json,
    a_class,
    a_gang,
    a_group,
    a_node,
    a_pod,
    a_request,
    a_slice,
    a_template,
    a_waiting,
    gpus,
)


def waiting(*counts: int) -> list[Json]:
    pods = [a_waiting(f"p{index}", a_request(count=count)) for index, count in enumerate(counts)]
    return [a_class(), *(each for pod in pods for each in pod)]


def test_pods_of_several_classes_share_new_nodes() -> None:
    row = row_of("g", *waiting(4, 4, 3, 5), a_group("g", gpus(8)))
    assert (row.verdict, row.nodes) == ("scale-up", 2)


def test_a_group_that_costs_more_is_an_option_and_one_that_cannot_serve_is_none() -> None:
    groups = [a_group("cheap", gpus(2)), a_group("dear", gpus(2), price=9), a_group("small", gpus(1))]
    report = audited(*waiting(2), *groups)
    assert [pick(report, name).verdict for name in ("cheap", "dear", "small")] == ["scale-up", "option", "no-option"]


def test_a_group_at_its_maximum_or_with_too_large_a_unit_is_at_a_limit() -> None:
    full = row_of("g", *waiting(1), a_group("g", gpus(1), size=4, most=4))
    assert (full.verdict, full.reason, full.why) == ("no-scale-up", "limit", "it is at its maximum: 4 of 4 nodes")
    unit = row_of("g", *waiting(1), a_group("g", gpus(1), most=1, atomicUnit=2))
    assert (unit.reason, unit.why) == ("limit", "maxSize 1 is smaller than atomicUnit 2")


def test_a_group_that_would_be_one_order_too_many_says_what_is_waited_for() -> None:
    incomplete = [a_node(), a_slice(devices=gpus(1), count=2)]
    row = row_of("g", *waiting(1), *incomplete, a_group("g", gpus(1)))
    assert (row.verdict, "waits for what is on its way" in row.why) == ("option", True)


def test_a_group_too_small_for_a_gang_is_no_answer_to_it() -> None:
    pods = [a_pod(f"w{index}", template="t", gang="ring") for index in range(3)]
    row = row_of("g", a_class(), a_template("t"), a_gang("ring", 3), *pods, a_group("g", gpus(1), most=2))
    assert (row.verdict, row.reason) == ("no-scale-up", "limit")


def test_an_idle_node_that_nothing_asks_for_could_go() -> None:
    nodes = [each for name in ("n1", "n2") for each in (a_node(name, labels={"group": "g"}), a_slice(name, gpus(1)))]
    row = row_of("g", a_class(), *nodes, a_group("g", gpus(1), size=2))
    assert (row.verdict, row.node) == ("removal-candidate", "n1, n2")
    kept = row_of("g", a_class(), *nodes, a_group("g", gpus(1), size=2, minSize=2))
    assert kept.verdict == "usage"


def test_a_template_with_a_wrong_count_is_invalid_and_judged_as_if_it_were_mended() -> None:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 0}
    broken = a_group("g", slices=[{"driver": "gpu.example.com", "pool": pool, "devices": gpus(2)}])
    report = audited(*waiting(1), broken)
    assert (pick(report, "g").verdict, "resourceSliceCount is 0" in pick(report, "g").why) == ("template-invalid", True)
    assert "once its template is repaired" in pick(report, "p0").why
