"""The directory as a source: sizes, ids of issues, warnings."""

from contextlib import aclosing
from pathlib import Path

import orjson

from contract.cluster_source.suite import a_node
from muster_cluster_watcher.adapters.directory import DirectorySource
from muster_cluster_watcher.domain.facts import Known, Severity
from muster_cluster_watcher.ports import Shown
from muster_kube import ClusterDirectory


async def _shown(folder: Path, fact_bytes: int = 100_000) -> Shown:
    source = DirectorySource(ClusterDirectory([folder]), poll_seconds=60, fact_bytes=fact_bytes)
    async with aclosing(source.watch(Known())) as lists:
        return await anext(lists)


async def test_an_object_too_large_for_a_message_is_an_issue_and_the_others_are_shown(tmp_path: Path) -> None:
    large = {**a_node("n1"), "metadata": {"name": "n1", "annotations": {"a": "x" * 2000}}}
    (tmp_path / "a.json").write_bytes(orjson.dumps(large))
    (tmp_path / "b.json").write_bytes(orjson.dumps(a_node("n2")))
    shown = await _shown(tmp_path, fact_bytes=1000)
    assert [key.name for key in shown.listed.facts] == ["n2"]
    (issue,) = shown.listed.issues.values()
    assert issue.object == "Node/n1"
    assert "a message holds 1000" in issue.reason


async def test_an_issue_keeps_its_id_when_its_line_moves_and_two_of_a_file_are_told_apart(tmp_path: Path) -> None:
    broken = "a: [\n---\nb: [\n"
    (tmp_path / "a.yaml").write_text(broken)
    before = (await _shown(tmp_path)).listed.issues
    (tmp_path / "a.yaml").write_text("\n\n" + broken)
    after = (await _shown(tmp_path)).listed.issues
    assert len(before) == 2
    assert before.keys() == after.keys()
    assert before != after


async def test_an_unknown_field_is_a_warning_and_the_object_is_shown(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(orjson.dumps(a_node("n1", unscheduleable=True)))
    shown = await _shown(tmp_path)
    assert len(shown.listed.facts) == 1
    (issue,) = shown.listed.issues.values()
    assert (issue.severity, issue.object, issue.field) == (Severity.WARNING, "Node/n1", "spec.unscheduleable")
    assert "unschedulable" in issue.reason


async def test_a_refusal_is_an_error_beside_the_warnings(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(orjson.dumps(a_node("n1", unscheduleable=True)))
    (tmp_path / "b.yaml").write_text("kind: [")
    issues = (await _shown(tmp_path)).listed.issues.values()
    assert sorted(issue.severity.value for issue in issues) == ["error", "warning"]


async def test_of_very_many_warnings_the_first_ones_and_their_number_are_told(tmp_path: Path) -> None:
    nodes = [a_node(f"n{number:04}", unscheduleable=True) for number in range(1003)]
    (tmp_path / "a.json").write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
    shown = await _shown(tmp_path)
    assert len(shown.listed.facts) == 1003
    told = sorted(issue.object for issue in shown.listed.issues.values())
    assert told == ["", *(f"Node/n{number:04}" for number in range(1000))]
    (rest,) = (issue for issue in shown.listed.issues.values() if not issue.object)
    assert rest.severity is Severity.WARNING
    assert "3 more warnings" in rest.reason


async def test_a_file_name_that_is_no_utf_8_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "bad\udcff.yaml").write_text("kind: [")
    (issue,) = (await _shown(tmp_path)).listed.issues.values()
    issue.source.encode()
