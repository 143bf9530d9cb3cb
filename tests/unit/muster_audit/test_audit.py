from muster_audit import Dump, Word, audit, audit_cluster, audit_steps
from muster_audit.cluster import Cluster
from support.audits import audited, pick
from support.cluster_objects import (
    a_class,
    a_gang,
    a_node,
    a_pod,
    a_running,
    a_slice,
    a_template,
    a_waiting,
    at_step,
    gpus,
)

CLUSTER = [a_node(), a_class(), a_slice(devices=gpus(2))]


def test_rows_are_sorted_by_kind_and_name_whatever_the_order_of_the_dump() -> None:
    objects = [*CLUSTER, *a_waiting("b"), *a_waiting("a"), *a_running("busy", "gpu-0")]
    forward, backward = audited(*objects), audited(*reversed(objects))
    assert [row.subject for row in forward.rows] == [row.subject for row in backward.rows]
    assert [row.subject for row in forward.rows][:2] == ["Pod/team-a/a", "Pod/team-a/b"]


def test_the_answer_as_json_has_the_nine_fields_and_findings_their_object() -> None:
    documents = audited(*CLUSTER, *a_waiting("p"), a_pod("lost", "nowhere", annotations={
        "autoscaling.x-k8s.io/consume-provisioning-request": "nope"})).to_json()  # fmt: skip
    fields = {"subject", "verdict", "reason", "node", "devices", "group", "nodes", "why", "remedy"}
    for each in documents:
        assert set(each) == fields | ({"object"} if each["subject"] == "finding" else set())
    (finding,) = [each for each in documents if each["subject"] == "finding"]
    assert (finding["verdict"], finding["object"]) == ("orphan-consumer", "Pod/team-a/lost")


def test_everything_fits_where_more_nodes_or_nothing_is_needed() -> None:
    assert audited(*CLUSTER, *a_waiting("p")).all_fit
    assert not audited(*CLUSTER, *a_waiting("p"), a_pod("q", "nowhere")).all_fit


def test_a_report_comes_after_each_step() -> None:
    later = at_step(1, "ADDED", a_class())
    first, second = audit_steps([Dump((a_node(), a_slice(devices=gpus()), *a_waiting("p"), later))])
    assert (first[0], pick(first[1], "p").reason) == ("step 0", "class-missing")
    assert (second[0], pick(second[1], "p").verdict) == ("step 1", Word.FEASIBLE)


def test_progress_is_told_with_what_is_done_and_how_much_there_is() -> None:
    told: list[tuple[str, int, int]] = []
    objects = (*CLUSTER, *a_waiting("p"), a_template("t"), a_gang("ring", 1), a_pod("w", template="t", gang="ring"))
    audit([Dump(objects)], progress=lambda *what: told.append(what))
    assert told[0][0] == "reading"
    assert {what for what, _, _ in told} == {"reading", "gangs and requests", "pods", "findings"}
    assert all(done <= total for _, done, total in told)


def test_pods_that_fit_beside_each_other_are_told_different_devices() -> None:
    report = audit_cluster(Cluster.from_dumps([Dump((*CLUSTER, *a_waiting("a", cpu="1"), *a_waiting("b", cpu="2")))]))
    assert len({*pick(report, "a").devices, *pick(report, "b").devices}) == 2


def test_of_two_kinds_of_pods_that_fit_by_themselves_the_second_is_told_its_rival() -> None:
    one = [a_node(), a_class(), a_slice(devices=gpus(1)), *a_waiting("a", cpu="1"), *a_waiting("b", cpu="2")]
    report = audited(*one)
    assert "not beside Pod/team-a/a" in pick(report, "b").why
