"""`muster evaluate` on files."""

import re
from pathlib import Path

import orjson
import pytest
import yaml
from typer.testing import CliRunner

from muster_cli.app import app
from muster_cli.exits import UserError
from support.cluster_objects import Json, a_group, a_pod, an_object, gpus
from unit.muster_evaluate.clusters import CLASS, a_kueue, a_pending_gang, a_scheduler, an_autoscaler

ROOT = Path(__file__).parents[3]


def dump(folder: Path, *objects: Json) -> str:
    path = folder / "dump.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


def ask(*arguments: str) -> tuple[int, str]:
    told = CliRunner().invoke(app, ["evaluate", *arguments], env={"COLUMNS": "80"})
    if told.exception is not None and not isinstance(told.exception, SystemExit):
        raise told.exception
    return told.exit_code, told.output


STRANDING = (CLASS, an_autoscaler(), a_group("g", gpus(2), most=2, price=3), *a_pending_gang("train", 4))


def test_the_answer_is_the_same_for_people_and_programs(tmp_path: Path) -> None:
    path = dump(tmp_path, a_scheduler(), *STRANDING)
    status, text = ask(path)
    assert status == 1
    assert max(map(len, text.splitlines())) <= 80
    assert "partial" in text
    assert "not fit: pod by pod does worse on the pending work" in " ".join(text.split())
    status, text = ask(path, "-o", "json")
    document = orjson.loads(text)
    assert (status, document["fit"]) == (1, False)
    assert document["pod_by_pod"] == {
        "new_nodes": 2,
        "cost": 6.0,
        "waiting": 1,
        "pods_started": 0,
        "stranded_nodes": 2,
        "stranded_cost": 6.0,
        "idle_node_hours": pytest.approx(1 / 3),
    }
    assert document["muster"]["stranded_nodes"] == 0
    assert [(each["name"], each["version"]) for each in document["components"]] == [
        ("cluster-autoscaler", "1.36"),
        ("kube-scheduler", "1.37"),
    ]
    assert len(document["assumptions"]) >= 10
    status, text = ask(path, "-o", "yaml")
    assert (status, yaml.safe_load(text)["work"]) == (1, document["work"])


def test_a_cluster_that_serves_its_work_is_fit(tmp_path: Path) -> None:
    status, text = ask(dump(tmp_path, an_autoscaler(), a_group("g"), a_pod("p")))
    assert (status, "fit: what the pending work needs is there" in " ".join(text.split())) == (0, True)


def test_with_nothing_pending_every_capability_of_gangs_is_asked_for(tmp_path: Path) -> None:
    status, text = ask(dump(tmp_path, an_autoscaler()))
    assert status == 1
    assert "nothing is pending" in text


def test_gates_in_a_config_map_are_read_and_a_broken_one_is_named(tmp_path: Path) -> None:
    config = (
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfeatureGates: {KueueDRAIntegration: false}\n"
    )
    good = an_object("v1", "ConfigMap", "kueue", "kueue-system", data={"config.yaml": config, "other": "{"})
    status, text = ask(dump(tmp_path, a_kueue(), good), "-o", "json")
    kueue = next(each for each in orjson.loads(text)["components"] if each["name"] == "kueue")
    assert (status, kueue["gates"]) == (
        1,
        {
            "KueueDRAIntegration": {
                "value": "false",
                "read_from": "ConfigMap/kueue-system/kueue data[config.yaml] featureGates",
            }
        },
    )
    bad = an_object("v1", "ConfigMap", "kueue", "kueue-system", data={"config.yaml": config + "  ]"})
    status, text = ask(dump(tmp_path, a_kueue(), bad))
    assert status == 2
    assert "ConfigMap/kueue-system/kueue: data[config.yaml]: it is no YAML" in " ".join(text.split())


def test_bad_input_is_named_and_the_rest_is_answered(tmp_path: Path) -> None:
    broken = an_object("muster.dev/v1alpha1", "NodeGroup", "broken", spec={"maxSize": "many"})
    status, text = ask(dump(tmp_path, *STRANDING, broken))
    assert status == 2
    assert "NodeGroup/broken: spec.maxSize" in " ".join(text.split())
    assert "partial" in text
    with pytest.raises(UserError, match="no Kubernetes object"):
        ask(str(tmp_path / "absent.yaml"))
    with pytest.raises(UserError, match="nothing to evaluate"):
        ask()


def test_work_that_cannot_be_read_is_told_and_makes_the_answer_incomplete(tmp_path: Path) -> None:
    status, text = ask(dump(tmp_path, *a_pending_gang("train", 1)[::2], a_group("g")))
    assert status == 2
    assert "not compared: PodGroup/team-a/train" in text


def test_the_help_has_examples() -> None:
    status, text = ask("--help")
    assert (status, "muster evaluate examples/fleet examples/story-1" in text) == (0, True)


def test_the_tour_shows_what_the_command_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (shown,) = re.findall(
        r"```console\n\$ muster evaluate examples/evaluate --needed\n(.*?)```",
        (ROOT / "docs" / "tour.md").read_text(),
        re.S,
    )
    status, text = ask("examples/evaluate", "--needed")
    assert (status, [line.rstrip() for line in text.splitlines()]) == (1, shown.splitlines())
