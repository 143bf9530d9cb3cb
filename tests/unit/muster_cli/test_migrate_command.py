"""`muster migrate` as a user runs it: where answers go, exit statuses, files written, bad input named."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from muster_cli.__main__ import main
from muster_cli.exits import ExitStatus
from support.migrate_cases import ROOT

DUMP = str(ROOT / "dump.yaml")


class Shell:
    """Runs the command in this process; `out` and `err` are of the last run."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys, self._monkeypatch = capsys, monkeypatch
        self.out = self.err = ""

    def __call__(self, *arguments: object) -> int:
        self._monkeypatch.setattr(sys, "argv", ["muster", "migrate", *map(str, arguments)])
        status = main()
        self.out, self.err = self._capsys.readouterr()
        return status


@pytest.fixture
def muster(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(capsys, monkeypatch)


def _case(name: str) -> Path:
    return ROOT / "in" / name


def test_the_new_manifests_go_to_stdout_and_the_reasons_to_stderr(muster: Shell) -> None:
    assert muster(_case("01-pod-one-gpu.yaml")) == ExitStatus.YES
    assert muster.out == (ROOT / "expected" / "01-pod-one-gpu.yaml").read_text()
    assert "nvidia.com/gpu: 1 became gpu/gpu of class gpu.nvidia.com" in muster.err


def test_several_files_make_one_stream_of_documents(muster: Shell) -> None:
    assert muster(_case("01-pod-one-gpu.yaml"), _case("02-deployment-product-label.yaml")) == ExitStatus.YES
    assert muster.out.count("\n---\n") == 3


def test_without_equivalent_the_status_is_1(muster: Shell) -> None:
    assert muster(_case("19-time-slicing.yaml")) == ExitStatus.NO
    assert "several times over" in muster.err


def test_the_report_names_each_change(muster: Shell) -> None:
    assert muster(_case("20-unknown-vendor.yaml"), "-o", "json") == ExitStatus.NO
    report = json.loads(muster.out)
    assert [(each["saying"], each["cause"]) for each in report["remarks"]] == [
        ("no-equivalent", "unknown-resource"),
        ("changed", "integer-to-claim"),
    ]
    assert report["changed_files"] == [str(_case("20-unknown-vendor.yaml"))]


def test_write_changes_the_files_and_the_second_time_nothing(muster: Shell, tmp_path: Path) -> None:
    shutil.copy(_case("06-jobset-two-roles.yaml"), tmp_path / "job.yaml")
    assert muster(tmp_path, "--write") == ExitStatus.YES
    written = (tmp_path / "job.yaml").read_text()
    assert written == (ROOT / "expected" / "06-jobset-two-roles.yaml").read_text()
    assert muster(tmp_path, "--write") == ExitStatus.YES
    assert (tmp_path / "job.yaml").read_text() == written
    assert "wrote" not in muster.err
    assert [path.name for path in tmp_path.iterdir()] == ["job.yaml"]


def test_out_writes_every_file_under_a_directory_and_leaves_the_input(muster: Shell, tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    (source / "deep").mkdir(parents=True)
    shutil.copy(_case("01-pod-one-gpu.yaml"), source / "deep" / "a.yaml")
    shutil.copy(_case("38-json.json"), source / "b.json")
    assert muster(source, "--out", target) == ExitStatus.YES
    assert (target / "deep" / "a.yaml").read_text() == (ROOT / "expected" / "01-pod-one-gpu.yaml").read_text()
    assert json.loads((target / "b.json").read_text())["kind"] == "List"
    assert (source / "deep" / "a.yaml").read_text() == _case("01-pod-one-gpu.yaml").read_text()


def test_two_files_for_one_place_are_refused_before_one_is_lost(muster: Shell, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        shutil.copy(_case("01-pod-one-gpu.yaml"), tmp_path / folder / "a.yaml")
    status = muster(tmp_path / "one" / "a.yaml", tmp_path / "two" / "a.yaml", "--out", tmp_path / "out")
    assert status == ExitStatus.BAD_INPUT
    assert "would both be written" in muster.err


def test_a_diff_shows_the_change_alone(muster: Shell) -> None:
    assert muster(_case("02-deployment-product-label.yaml"), "--diff") == ExitStatus.YES
    assert '-            nvidia.com/gpu: "2"\n' in muster.out
    assert "+          claims:\n" in muster.out
    assert "-        topology.kubernetes.io/zone" not in muster.out


def test_a_check_that_finds_devices_sold_twice_ends_with_1(muster: Shell) -> None:
    assert muster(_case("29-labels-by-dump.yaml"), "--check", DUMP) == ExitStatus.NO
    assert "node h100-a offers 8 nvidia.com/gpu and 8 devices for it" in muster.err
    assert "the new form fits on 1 node without integers: h100-b" in muster.err


def test_a_check_without_objection_ends_with_0(muster: Shell) -> None:
    assert muster(_case("30-class-of-the-dump.yaml"), "--check", DUMP, "-o", "json") == ExitStatus.YES
    check = json.loads(muster.out)["check"]
    assert (check["passed"], check["proven"], check["sold_twice"]) == (True, True, [])
    assert check["pods"][0]["nodes"]["switched"] == ["npu"]


def test_extended_resource_writes_classes_and_no_pod(muster: Shell, tmp_path: Path) -> None:
    assert muster(_case("36-extended-resource.yaml"), "--extended-resource") == ExitStatus.YES
    assert "kind: PyTorchJob" not in muster.out
    assert muster.out.count("extendedResourceName: nvidia.com/") == 2
    assert muster(_case("36-extended-resource.yaml"), "--extended-resource", "--out", tmp_path) == ExitStatus.YES
    assert (tmp_path / "device-classes.yaml").read_text() == muster.out or muster.out == ""
    assert (tmp_path / "36-extended-resource.yaml").read_text() == _case("36-extended-resource.yaml").read_text()


def test_a_mapping_of_the_user_serves_unknown_resources(muster: Shell, tmp_path: Path) -> None:
    mapping = tmp_path / "map.yaml"
    mapping.write_text("resources: [{resource: huawei.com/Ascend910, deviceClassName: npu.example.com, noun: npu}]")
    assert muster(_case("20-unknown-vendor.yaml"), "--map", mapping) == ExitStatus.YES
    assert "deviceClassName: npu.example.com" in muster.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("resources: [{resource: nogroup, deviceClassName: a}]", "resources.0.resource"),
        ("resources: [{resource: a/b, deviceClassName: a, selectors: ['device.']}]", "a/b: selector"),
        ("resources: [{resource: a/b}]", "resources.0.deviceClassName"),
        ("[", "it is no YAML"),
    ],
)
def test_a_bad_mapping_is_named(muster: Shell, tmp_path: Path, text: str, said: str) -> None:
    mapping = tmp_path / "map.yaml"
    mapping.write_text(text)
    assert muster(_case("01-pod-one-gpu.yaml"), "--map", mapping) == ExitStatus.BAD_INPUT
    assert f"--map {mapping}: " in muster.err
    assert said in muster.err


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.yaml", "a: {{ .Values.x }}\nb: [1\n", "it is no YAML"),
        ("a.yaml", "kind: Pod\napiVersion: v1\nkind: Pod\n", ":3: key 'kind' occurs twice"),
        ("a.yaml", "x: 1\n", ":1: it is no Kubernetes object"),
        ("a.json", '{"x": 1}', "it is no Kubernetes object"),
        ("a.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nodeSelector: [a]}\n", "want an object"),
    ],
)
def test_bad_input_is_named_with_its_file_and_the_rest_goes_on(
    muster: Shell, tmp_path: Path, name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text)
    assert muster(tmp_path / name, _case("01-pod-one-gpu.yaml")) == ExitStatus.BAD_INPUT
    assert said in muster.err
    assert "kind: ResourceClaimTemplate" in muster.out


def test_what_cannot_be_combined_is_refused(muster: Shell) -> None:
    one = _case("01-pod-one-gpu.yaml")
    assert muster(one, "--write", "--out", "x") == ExitStatus.BAD_INPUT
    assert muster("-", "--write") == ExitStatus.BAD_INPUT
    assert muster(one, "--write", "--device-classes") == ExitStatus.BAD_INPUT
    assert muster(one, "--check", DUMP, "--kubeconfig", "x") == ExitStatus.BAD_INPUT
    assert muster("/nowhere/at/all.yaml") == ExitStatus.BAD_INPUT
    assert "/nowhere/at/all.yaml: it cannot be read" in muster.err
