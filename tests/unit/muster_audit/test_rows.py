from muster_audit.rows import Finding, NodeAnswer, Row, no_row
from muster_audit.words import Cause, ScaleUp, Word

NINE = ["subject", "verdict", "reason", "node", "devices", "group", "nodes", "why", "remedy"]


def test_a_row_as_json_has_nine_fields_in_order() -> None:
    row = Row("Pod/a/b", Word.FEASIBLE, node="n", devices=("d/p/x",), why="it fits")
    assert list(row.to_json()) == NINE
    assert row.to_json()["devices"] == ["d/p/x"]


def test_in_depth_it_says_whether_nodes_help_and_what_nodes_say() -> None:
    answer = NodeAnswer(("n",), Cause.TAINT, "sick")
    document = no_row("Pod/a/b", Cause.TAINT, "sick", "repair it").in_depth()
    assert document["scale_up"] == "never"
    assert Row("x", Word.FEASIBLE, on=(answer,)).in_depth()["on"] == [
        {"nodes": ["n"], "verdict": "infeasible", "reason": "taint", "devices": [], "why": "sick"}
    ]
    assert no_row("x", Cause.LIMIT, "", "", ScaleUp.LIMIT).scale_up is ScaleUp.LIMIT


def test_a_finding_is_a_row_whose_verdict_is_its_kind() -> None:
    document = Finding("pool-invalid", "d/p", "twice", "mend it").to_json()
    assert (document["subject"], document["verdict"], document["object"]) == ("finding", "pool-invalid", "d/p")
    assert list(document) == [*NINE, "object"]


def test_findings_about_objects_are_told_from_those_about_devices() -> None:
    assert Finding("x", "Node/n", "").about_object
    assert not Finding("x", "driver/pool/device", "").about_object
