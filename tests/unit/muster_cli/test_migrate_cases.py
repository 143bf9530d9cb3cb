"""Every manifest of tests/data/migrate: its recorded new form, and what must hold of any of them."""

import difflib
from pathlib import Path

import pytest
import yaml

from muster_kube import Manifest, read_path
from muster_migrate import Saying
from support.migrate_cases import Case, cases, run, said, text_of

ALL = cases()
each_case = pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])


def test_there_are_cases_of_many_kinds() -> None:
    kinds = {
        document["kind"]
        for case in ALL
        if case.path.suffix == ".yaml"
        for document in yaml.safe_load_all(case.path.read_text())
    }
    assert len(ALL) >= 25
    assert len(kinds) >= 20


@each_case
def test_the_new_form_is_the_recorded_one(case: Case) -> None:
    assert text_of(run(case)) == case.expected.read_text()


@each_case
def test_what_is_said_is_the_recorded_text(case: Case) -> None:
    assert said(run(case)) == case.said.read_text()


@each_case
def test_migrating_twice_changes_nothing(case: Case) -> None:
    if "--extended-resource" in case.options:
        pytest.skip("it writes the same classes again as long as no dump shows them")
    again = run(case, case.expected)
    assert not [each.name for each in again.outputs if each.changed]
    assert not again.migration.classes
    assert not [each for each in again.migration.remarks if each.saying is Saying.CHANGED]


@each_case
def test_what_is_not_taken_out_keeps_its_line_and_its_place(case: Case) -> None:
    if case.path.suffix == ".json":
        pytest.skip("JSON has no comments and is written anew")
    (output,) = [each for each in run(case).outputs if each.file is not None]
    old, new = output.old.splitlines(), output.new.splitlines()
    gone = [line[2:] for line in difflib.ndiff(old, new) if line.startswith("- ")]
    own_comments = [line for line in gone if line.strip().startswith("#")]
    inside = {"# the card goes"}  # comments between the lines of what goes
    assert {line.strip() for line in own_comments} <= inside


@each_case
def test_every_new_object_is_one_that_muster_reads(case: Case) -> None:
    readings = list(read_path(case.expected))
    kinds = {"ResourceClaimTemplate", "DeviceClass"}
    assert not [each for each in readings if not isinstance(each, Manifest) and kinds & {getattr(each, "kind", "")}]
    for reading in readings:
        sentence = getattr(reading, "sentence", None)
        assert sentence is None or not any(kind in sentence() for kind in kinds), sentence()


def test_a_recorded_answer_has_its_case() -> None:
    recorded = {path.stem for path in (Path(ALL[0].expected).parent).iterdir()}
    assert recorded == {case.name for case in ALL}
