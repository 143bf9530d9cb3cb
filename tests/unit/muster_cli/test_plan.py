"""`muster plan` on dumps, as a user runs it."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from muster_cli.app import app
from unit.muster_plan.builders import (
    ROOT,
    Json,
    claim_spec,
    claim_template,
    classes,
    from_template,
    gpus,
    group,
    nics,
    node,
    pod_template,
    provisioning_request,
    request,
)


def ask(tmp_path: Path, objects: list[Json], *options: str) -> tuple[int, str]:
    file = tmp_path / "dump.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*classes(), *objects]}))
    found = CliRunner().invoke(app, ["plan", str(file), *options])
    return found.exit_code, found.output


def ordered() -> list[Json]:
    """The first pod's first fit takes the GPU that the second needs for its NIC."""
    pair = claim_spec(request("g"), request("n", cls="nic"), match={ROOT: ["g", "n"]})
    return [
        *node("node-0", devices=gpus(2), nic_devices=nics(1)),
        claim_template("any", claim_spec(request("g"))),
        claim_template("pair", pair),
        pod_template("first", claims=[from_template("any")]),
        pod_template("second", claims=[from_template("pair")]),
        provisioning_request(("first", 1), ("second", 1)),
    ]


def bought() -> list[Json]:
    return [
        group("cheap", devices=gpus(8), price=10),
        group("dear", devices=gpus(8), price=30),
        claim_template("c", claim_spec(request("g", 8))),
        pod_template("p", claims=[from_template("c")]),
        provisioning_request(("p", 2)),
    ]


def test_a_pinned_plan_says_the_order_of_the_pods_of_a_node(tmp_path: Path) -> None:
    status, text = ask(tmp_path, ordered())
    assert status == 0
    assert "pin node-0: each pod told its node, and in this order: second-0, first-0" in text


def test_the_json_of_a_plan_has_snake_case_keys_and_the_position_of_each_pin(tmp_path: Path) -> None:
    _, text = ask(tmp_path, ordered(), "-o", "json")
    (document,) = json.loads(text)
    assert [(pin["pod_set"], pin["position"]) for pin in document["plan"]["pins"]] == [("first", 1), ("second", 0)]
    assert not re.findall(r'"[a-z]+[A-Z]\w*":', text)


def test_the_bound_is_printed(tmp_path: Path) -> None:
    _, text = ask(tmp_path, bought())
    assert "2 of cheap, cost 20 (the least there is)" in text


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (("--without-group", "cheap"), 0, "2 of dear, cost 60"),
        (("--max-cost", "19"), 1, "no plan (limit)"),
        (("--max-new-nodes", "1"), 1, "no plan (limit)"),
        (("--max-new-devices", "15"), 1, "no plan (limit)"),
    ],
)
def test_suppositions_and_limits_change_the_plan(
    tmp_path: Path, options: tuple[str, ...], status: int, said: str
) -> None:
    found, text = ask(tmp_path, bought(), *options)
    assert (found, said in text) == (status, True), text
