"""Dumps as an audit takes them: whatever is wrong is named, the rest goes on."""

from pathlib import Path

import pytest
import yaml

from muster_cli.exits import UserError
from muster_cli.offline.audit import read_audit_input
from muster_kube import Manifest, Source, object_key
from support.cluster_objects import a_class, a_node, a_quota, a_slice, gpus


def write(path: Path, *documents: str | dict[str, object]) -> str:
    texts = [each if isinstance(each, str) else yaml.safe_dump(each) for each in documents]
    path.write_text("\n---\n".join(texts))
    return str(path)


def test_broken_documents_are_named_and_those_around_them_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slice_ = a_slice(devices=gpus(1))
    broken = {**slice_, "metadata": {"name": "broken"}, "spec": {**slice_["spec"], "driver": "No Driver"}}  # pyright: ignore[reportGeneralTypeIssues] -- a map
    unknown = {**a_class("odd"), "apiVersion": "resource.k8s.io/v9"}
    path = write(tmp_path / "dump.yaml", a_node(), broken, "not: [closed", "just text", unknown, a_class())
    found = read_audit_input([path], [])
    told = capsys.readouterr().err.replace("\n", "")
    assert found.refused
    assert "spec.driver" in told
    assert "resource.k8s.io/v9" in told
    names = {object_key(obj).name for obj in found.dumps[0].objects}
    assert "node-a" in names
    assert {each.key.name for each in found.dumps[0].refused} >= {"broken"}


def test_aliases_that_grow_without_end_are_refused(tmp_path: Path) -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{b}: &{b} [{','.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)
    )
    found = read_audit_input([write(tmp_path / "dump.yaml", a_node(), bomb)], [])
    assert found.refused
    assert len(found.dumps[0].objects) == 1


def test_a_dump_for_each_later_path_and_one_for_all_first_ones(tmp_path: Path) -> None:
    first = [write(tmp_path / "a.yaml", a_node("a")), write(tmp_path / "b.yaml", a_node("b"))]
    found = read_audit_input(first, [write(tmp_path / "c.yaml", a_node("c"))])
    assert [len(each.objects) for each in found.dumps] == [2, 1]


def test_quotas_are_read_although_services_do_not_follow_them(tmp_path: Path) -> None:
    found = read_audit_input([write(tmp_path / "a.yaml", a_node(), a_quota("q", {"pods": "1"}))], [])
    assert [obj["kind"] for obj in found.dumps[0].objects] == ["Node", "ResourceQuota"]


def test_nothing_readable_is_an_error_that_says_how_to_dump(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="kubectl get nodes"):
        read_audit_input([write(tmp_path / "a.yaml", "{}")], [])
    with pytest.raises(UserError, match="no Kubernetes object"):
        read_audit_input([write(tmp_path / "b.yaml", a_node())], [write(tmp_path / "c.yaml", "{}")])


def test_what_was_read_live_joins_the_first_dump(tmp_path: Path) -> None:
    live = [Manifest(Source("live"), object_key(a_node()), a_node())]
    assert len(read_audit_input([], [], live=live).dumps[0].objects) == 1
    assert read_audit_input([], [], live=[]).dumps[0].objects == ()


def test_progress_is_told_for_long_dumps(tmp_path: Path) -> None:
    told: list[str] = []
    path = write(tmp_path / "a.yaml", *(a_node(f"n{index}") for index in range(1001)))
    read_audit_input([path], [], tell=told.append)
    assert told == [f"reading {path}: 500 objects", f"reading {path}: 1000 objects"]
