"""`muster fragmentation` on files."""

from collections.abc import Sequence
from pathlib import Path

import orjson
import pytest
import yaml
from typer.testing import CliRunner

from muster_cli.app import app
from muster_cli.exits import UserError
from unit.muster_fragmentation.fleets import Json, a_class, a_node, a_template, held


def dump(folder: Path, *objects: Json) -> str:
    path = folder / "dump.yaml"
    path.write_text(yaml.safe_dump_all([a_class(), *a_node("n1"), *a_node("n2"), *objects]))
    return str(path)


def ask(*arguments: str) -> tuple[int, str]:
    told = CliRunner().invoke(app, ["fragmentation", *arguments], env={"COLUMNS": "80"})
    return told.exit_code, told.output


EIGHT = (a_template("eight", 8), held("a", "n1", 0, pods=["p"]), held("b", "n2", 0, 1))


def test_the_report_is_the_same_for_people_and_programs(tmp_path: Path) -> None:
    path = dump(tmp_path, *EIGHT)
    status, text = ask(path)
    assert status == 0
    assert "13 of 16" in text
    assert max(map(len, text.splitlines())) <= 80
    status, text = ask(path, "-o", "json")
    document = orjson.loads(text)
    assert (status, [(row["free"], row["largest"]) for row in document["classes"]]) == (0, [(13, 7)])
    assert [row["copies"] for row in document["fits"] if row["shape"] == "ml/eight"] == [0]


def test_moves_are_proposed_and_their_absence_is_a_no(tmp_path: Path) -> None:
    path = dump(tmp_path, *EIGHT)
    status, text = ask(path, "--moves", "ml/eight", "-o", "json")
    (member,) = orjson.loads(text)["members"]
    assert (status, member["node"], [move["claim"] for move in member["moves"]]) == (0, "n1", ["ml/a"])
    status, text = ask(path, "--moves", "ml/eight", "--gang", "2")
    assert (status, "no node has room" in text) == (1, True)


def test_shapes_may_come_from_another_file_and_unknown_ones_are_named(tmp_path: Path) -> None:
    path, shapes = dump(tmp_path, held("a", "n1", 0)), tmp_path / "shapes.yaml"
    shapes.write_text(yaml.safe_dump(a_template("quad", 4, match=True)))
    status, text = ask(path, "--shape", str(shapes), "-o", "json")
    stranded: Sequence[Json] = orjson.loads(text)["stranded"]
    assert (status, [each["device"] for each in stranded]) == (
        0,
        [f"gpu.example.com/n1/gpu-{index}" for index in (1, 2, 3)],
    )
    with pytest.raises(UserError, match="ml/nobody: no such claim"):
        CliRunner().invoke(app, ["fragmentation", path, "--moves", "ml/nobody"], catch_exceptions=False)


def test_without_any_shape_the_table_says_how_to_give_one(tmp_path: Path) -> None:
    status, text = ask(dump(tmp_path))
    assert (status, "--shape" in text) == (0, True)
