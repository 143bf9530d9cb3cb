"""Reading sources of manifests: what is taken, refused, passed over, and that the rest goes on."""

import io
import os
from pathlib import Path

import orjson
import pytest
import yaml

from muster_kube import Limits, Manifest, Reading, Rejected, Skipped, Source, read_path
from muster_types import ObjectKey
from unit.muster_kube.builders import Json, a_device, a_node, a_pod, a_slice

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: %s}\n"


def _write(tmp_path: Path, name: str, content: str | bytes) -> Path:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def _names(readings: list[Reading]) -> list[str]:
    return [reading.key.name for reading in readings if isinstance(reading, Manifest)]


def _refusals(readings: list[Reading]) -> list[Rejected]:
    return [reading for reading in readings if isinstance(reading, Rejected)]


def _read(path: Path, **limits: int) -> list[Reading]:
    return list(read_path(path, limits=Limits(**limits)))


def test_a_list_as_kubectl_prints_it_gives_its_items_with_their_lines(tmp_path: Path) -> None:
    body = yaml.safe_dump({"apiVersion": "v1", "items": [a_node("n1"), a_slice()], "kind": "List"})
    file = _write(tmp_path, "dump.yaml", body)
    node, slice_ = _read(file)
    assert isinstance(node, Manifest)
    assert isinstance(slice_, Manifest)
    assert node.source == Source(str(file), 3, 1)
    assert slice_.key == ObjectKey("ResourceSlice", "", "n1-gpu")
    assert slice_.obj == a_slice()


def test_json_and_yaml_of_the_same_list_read_the_same(tmp_path: Path) -> None:
    content: Json = {"kind": "List", "apiVersion": "v1", "items": [a_node("n1"), a_pod(), a_slice()]}
    as_json = _read(_write(tmp_path, "a.json", orjson.dumps(content)))
    as_yaml = _read(_write(tmp_path, "a.yaml", yaml.safe_dump(content)))
    assert [reading.obj for reading in as_json if isinstance(reading, Manifest)] == [
        reading.obj for reading in as_yaml if isinstance(reading, Manifest)
    ]
    assert _names(as_json) == ["n1", "p", "n1-gpu"]


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_items_of_a_typed_list_take_kind_and_version_from_the_list(tmp_path: Path, suffix: str) -> None:
    content = '{"items": [{"metadata": {"name": "n1"}}], "kind": "NodeList", "apiVersion": "v1"}'
    (node,) = _read(_write(tmp_path, f"raw{suffix}", content))
    assert isinstance(node, Manifest)
    assert node.key == ObjectKey("Node", "", "n1")
    assert node.obj["apiVersion"] == "v1"


def test_an_empty_list_an_empty_document_and_an_empty_file_give_nothing(tmp_path: Path) -> None:
    _write(tmp_path, "a.yaml", "apiVersion: v1\nitems: []\nkind: List\n---\n# only a comment\n---\n")
    _write(tmp_path, "b.yaml", "")
    _write(tmp_path, "c.json", " \n")
    assert _read(tmp_path) == []


def test_a_broken_document_leaves_the_others_of_its_file_and_names_its_line(tmp_path: Path) -> None:
    file = _write(tmp_path, "a.yaml", NODE % "n1" + "---\n" + NODE % "n2" + "  bad: [1\n---\n" + NODE % "n3")
    readings = _read(file)
    assert _names(readings) == ["n1", "n3"]
    (refusal,) = _refusals(readings)
    assert refusal.source == Source(str(file), 8, 2)
    assert refusal.object == "Node/n2"
    assert "malformed YAML" in refusal.reason


def test_a_spoiled_item_leaves_the_others_of_its_list(tmp_path: Path) -> None:
    items = "- " + "  ".join((NODE % "n1").splitlines(keepends=True))
    doubled = items.replace("n1", "n2") + "  metadata: {name: n2}\n"
    readings = _read(_write(tmp_path, "a.yaml", "kind: List\nitems:\n" + items + doubled + items.replace("n1", "n3")))
    assert _names(readings) == ["n1", "n3"]
    (refusal,) = _refusals(readings)
    assert (refusal.object, refusal.field) == ("Node/n2", "metadata")
    assert "stands twice" in refusal.reason


def test_a_key_that_stands_twice_in_json_is_refused_with_its_path(tmp_path: Path) -> None:
    content = (
        '{"kind": "List", "items": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "name": "b"}}]}'
    )
    (refusal,) = _refusals(_read(_write(tmp_path, "a.json", content)))
    assert refusal.field == "metadata.name"


def test_an_object_that_fails_validation_is_refused_for_each_fault_and_kept_for_whoever_explains(
    tmp_path: Path,
) -> None:
    bad = a_slice(a_device(attributes={"v": {"version": "x"}}), driver="")
    readings = _read(_write(tmp_path, "a.yaml", yaml.safe_dump_all([bad, a_node("n1")])))
    assert _names(readings) == ["n1"]
    refusals = _refusals(readings)
    assert [refusal.field for refusal in refusals] == ["spec.driver", "spec.devices[0].attributes[v].version"]
    assert {refusal.object for refusal in refusals} == {"ResourceSlice/n1-gpu"}
    assert refusals[0].obj == bad


def test_an_object_with_very_many_faults_names_the_first_ones_and_counts_the_rest(tmp_path: Path) -> None:
    bad = a_slice(*(a_device(f"GPU-{index}") for index in range(30)))
    refusals = _refusals(_read(_write(tmp_path, "a.yaml", yaml.safe_dump(bad))))
    assert len(refusals) == 21
    assert refusals[-1].reason.startswith("10 more problems")


def test_an_unknown_field_keeps_the_object_with_a_warning(tmp_path: Path) -> None:
    (manifest,) = _read(_write(tmp_path, "a.yaml", yaml.safe_dump(a_node("n1", spec={"taint": []}))))
    assert isinstance(manifest, Manifest)
    assert [warning.field for warning in manifest.warnings] == ["spec.taint"]


def test_kinds_that_are_not_read_are_counted_and_an_unknown_version_is_refused(tmp_path: Path) -> None:
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    queued = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "metadata": {"name": "w"}}
    old = a_slice(api_version="resource.k8s.io/v1alpha2")
    file = _write(tmp_path, "a.yaml", yaml.safe_dump_all([deployment, old, deployment, queued, a_node("n1")]))
    readings = _read(file)
    assert [reading for reading in readings if isinstance(reading, Skipped)] == [
        Skipped(str(file), "apps/v1", "Deployment", 2),
        Skipped(str(file), "kueue.x-k8s.io/v1beta1", "Workload", 1),
    ]
    (refusal,) = _refusals(readings)
    assert refusal.field == "apiVersion"
    assert "'resource.k8s.io/v1alpha2'" in refusal.reason
    assert "known: resource.k8s.io/v1, resource.k8s.io/v1beta2, resource.k8s.io/v1beta1" in refusal.reason


@pytest.mark.parametrize(
    ("content", "field", "reason"),
    [
        ("kind: Node\nmetadata: {name: n}\n", "apiVersion", "it is missing"),
        ("apiVersion: v1\nmetadata: {name: n}\n", "kind", "it is missing"),
        ("- 1\n- 2\n", "", "no Kubernetes object"),
        ("just text\n", "", "no Kubernetes object"),
        ("Error from server (Forbidden): nodes is forbidden\n", "kind", "message of kubectl"),
        ("No resources found in default namespace.\n", "", "message of kubectl"),
        ("kind: List\nitems: [1]\n", "", "no Kubernetes object"),
        (
            "apiVersion: v1\nkind: Node\nmetadata: {name: !!python/name:os.system n}\n",
            "metadata.name",
            "has no meaning",
        ),
        ("apiVersion: v1\nkind: Node\nmetadata: {name: *gone}\n", "metadata.name", "stands for nothing"),
        ("apiVersion: v1\nkind: Node\n? [a]\n: b\nmetadata: {name: n}\n", "", "keys are text"),
        ("apiVersion: v1\nkind: Node\n\tmetadata: {}\n", "", "malformed YAML"),
    ],
)
def test_what_is_no_object_says_so(tmp_path: Path, content: str, field: str, reason: str) -> None:
    (refusal,) = _refusals(_read(_write(tmp_path, "a.yaml", content)))
    assert refusal.field == field
    assert reason in refusal.reason


def test_a_billion_laughs_is_refused_quickly_and_the_next_document_is_read(tmp_path: Path) -> None:
    lines = ["a0: &a0 [" + ", ".join(["x"] * 10) + "]"]
    lines += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * 10) + "]" for n in range(1, 12)]
    readings = _read(_write(tmp_path, "a.yaml", "\n".join(lines) + "\n---\n" + NODE % "n1"))
    (refusal,) = _refusals(readings)
    assert "aliases" in refusal.reason
    assert _names(readings) == ["n1"]


def test_aliases_that_only_nest_are_refused(tmp_path: Path) -> None:
    nested = "[" * 60 + "]" * 60
    content = f"a: &a {nested}\nb: &b " + "[" * 60 + "*a" + "]" * 60 + "\n"
    (refusal,) = _refusals(_read(_write(tmp_path, "a.yaml", content)))
    assert "nest" in refusal.reason


def test_an_honest_alias_and_a_merge_key_are_written_out(tmp_path: Path) -> None:
    content = (
        "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n  labels: &l {rack: r1, zone: z}\n"
        "  annotations: {<<: *l, zone: other}\n"
    )
    (manifest,) = _read(_write(tmp_path, "a.yaml", content))
    assert isinstance(manifest, Manifest)
    assert manifest.obj["metadata"] == {
        "name": "n1",
        "labels": {"rack": "r1", "zone": "z"},
        "annotations": {"rack": "r1", "zone": "other"},
    }


@pytest.mark.parametrize(
    ("suffix", "opening", "closing"), [(".yaml", "[", "]"), (".json", "[", "]"), (".json", '{"a":', "}")]
)
def test_deep_nesting_is_refused(tmp_path: Path, suffix: str, opening: str, closing: str) -> None:
    content = '{"a": ' + opening * 100_000 + "1" + closing * 100_000 + "}"
    (refusal,) = _refusals(_read(_write(tmp_path, f"a{suffix}", content)))
    assert "nest" in refusal.reason


def test_an_object_with_too_many_values_is_refused_and_the_next_document_is_read(tmp_path: Path) -> None:
    content = "a: [" + "1," * 2000 + "]\n---\n" + NODE % "n1"
    readings = _read(_write(tmp_path, "a.yaml", content), object_nodes=1000)
    assert "more than 1000 values" in _refusals(readings)[0].reason
    assert _names(readings) == ["n1"]


def test_a_file_over_the_limit_is_refused_unread_and_the_others_are_read(tmp_path: Path) -> None:
    _write(tmp_path, "a.yaml", "#" * 2000)
    _write(tmp_path, "b.yaml", NODE % "n1")
    readings = _read(tmp_path, file_bytes=1000)
    (refusal,) = _refusals(readings)
    assert refusal.source == Source(str(tmp_path / "a.yaml"))
    assert "split it" in refusal.reason
    assert _names(readings) == ["n1"]


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
@pytest.mark.parametrize(
    "content", [b"\x00\x01\x02\x80\xff" * 100, b"kind: \xff\xfe\xfd\n", b"\x7fELF\x02\x01\x01" + b"\x00" * 50]
)
def test_binary_garbage_is_refused_in_one_reason(tmp_path: Path, suffix: str, content: bytes) -> None:
    (refusal,) = _read(_write(tmp_path, f"a{suffix}", content))
    assert isinstance(refusal, Rejected)
    assert "UTF-8" in refusal.reason or "malformed" in refusal.reason


def test_utf_16_as_a_windows_shell_writes_it_is_read(tmp_path: Path) -> None:
    assert _names(_read(_write(tmp_path, "a.yaml", (NODE % "n1").encode("utf-16")))) == ["n1"]


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    _write(tmp_path, "a.yaml", b"\xef\xbb\xbf" + (NODE % "n1").encode())
    _write(tmp_path, "b.json", b"\xef\xbb\xbf" + orjson.dumps(a_node("n2")))
    assert _names(_read(tmp_path)) == ["n1", "n2"]


def test_several_json_objects_one_after_the_other_are_read(tmp_path: Path) -> None:
    content = orjson.dumps(a_node("n1")) + b"\n" + orjson.dumps(a_node("n2")) + b"\n{broken"
    readings = _read(_write(tmp_path, "a.json", content))
    assert _names(readings) == ["n1", "n2"]
    assert _refusals(readings)[0].source.line == 3


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "x": NaN}', "NaN is no JSON number"),
        ('{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "x": 1e999}', "too large"),
        ('{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "\\ud800"}}', "half a surrogate pair"),
        ("[1, 2", "malformed JSON"),
    ],
)
def test_json_that_could_not_be_written_out_again_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    (refusal,) = _refusals(_read(_write(tmp_path, "a.json", content)))
    assert reason in refusal.reason


def test_standard_input_takes_yaml_and_json() -> None:
    for content in (
        (NODE % "n1").encode(),
        orjson.dumps(a_node("n1")),
        b"{apiVersion: v1, kind: Node, metadata: {name: n1}}",
    ):
        (manifest,) = read_path("-", stdin=io.BytesIO(content))
        assert isinstance(manifest, Manifest)
        assert manifest.source.file == "<stdin>"


def test_standard_input_over_the_limit_is_refused() -> None:
    (refusal,) = read_path("-", stdin=io.BytesIO(b"#" * 2000), limits=Limits(file_bytes=1000))
    assert isinstance(refusal, Rejected)


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, (NODE % "n1").encode())
    os.close(write_end)
    assert _names(list(read_path(f"/dev/fd/{read_end}"))) == ["n1"]
    os.close(read_end)


def test_a_directory_is_read_by_path_without_hidden_and_foreign_files(tmp_path: Path) -> None:
    _write(tmp_path, "b/z.yml", NODE % "n3")
    _write(tmp_path, "b/a.JSON", orjson.dumps(a_node("n2")))
    _write(tmp_path, "a.yaml", NODE % "n1")
    _write(tmp_path, "README.md", "kind: [")
    _write(tmp_path, ".hidden.yaml", "kind: [")
    _write(tmp_path, ".git/x.yaml", "kind: [")
    os.mkfifo(tmp_path / "pipe.yaml")
    assert [reading.key.name for reading in _read(tmp_path) if isinstance(reading, Manifest)] == ["n1", "n2", "n3"]
    assert len(_read(tmp_path)) == 3


def test_a_path_that_is_not_there_and_one_that_must_not_be_read_say_so(tmp_path: Path) -> None:
    (missing,) = _read(tmp_path / "gone.yaml")
    assert isinstance(missing, Rejected)
    assert "No such file" in missing.reason
    (looped,) = _read(Path(_loop(tmp_path)))
    assert isinstance(looped, Rejected)
    assert "check path and rights" in looped.reason


def _loop(tmp_path: Path) -> str:
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    return str(tmp_path / "loop.yaml")


def test_a_namespaced_object_without_namespace_is_in_default_and_a_node_is_in_none(tmp_path: Path) -> None:
    pod = a_pod()
    del pod["metadata"]["namespace"]
    node = a_node("n1", metadata={"name": "n1", "namespace": "odd"})
    first, second = _read(_write(tmp_path, "a.yaml", yaml.safe_dump_all([pod, node])))
    assert isinstance(first, Manifest)
    assert isinstance(second, Manifest)
    assert first.key == ObjectKey("Pod", "default", "p")
    assert first.obj["metadata"] == {"name": "p", "namespace": "default"}
    assert second.obj["metadata"] == {"name": "n1"}


def test_a_refusal_as_a_sentence_names_file_object_field_and_reason() -> None:
    refusal = Rejected(Source("a.yaml", 7, 2), "Node/n1", "spec.taints", "want a list, got a map")
    assert refusal.sentence() == "a.yaml:7 (document 2): Node/n1: spec.taints: want a list, got a map"


def test_very_many_refusals_of_a_file_are_counted_and_what_is_sound_among_them_is_read(tmp_path: Path) -> None:
    file = _write(tmp_path, "a.yaml", "[\n---\n" * 30 + NODE % "n1" + "---\n[\n")
    readings = _read(file, file_problems=10)
    assert _names(readings) == ["n1"]
    refusals = _refusals(readings)
    assert len(refusals) == 11
    assert refusals[-1] == Rejected(
        Source(str(file)), "", "", "21 more problems of this file are not listed; mend these first"
    )


def test_a_text_as_long_as_its_file_is_quoted_in_part(tmp_path: Path) -> None:
    long = "x" * 100_000
    obj = a_node(long, status={"allocatable": {long: long}}, **{long: {}})
    (*refusals,) = _refusals(_read(_write(tmp_path, "a.json", orjson.dumps(obj))))
    assert refusals
    assert all(len(refusal.sentence()) < 3000 for refusal in refusals)


def test_a_file_with_too_many_documents_is_read_up_to_the_limit(tmp_path: Path) -> None:
    readings = _read(_write(tmp_path, "a.yaml", NODE % "n1" + "---\n" * 50 + NODE % "n2"), documents=10)
    assert _names(readings) == ["n1"]
    (refusal,) = _refusals(readings)
    assert "more than 10 documents" in refusal.reason
