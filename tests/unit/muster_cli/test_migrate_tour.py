"""The chapter on `muster migrate` in docs/tour.md shows what the command says."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from muster_cli.__main__ import main

ROOT = Path(__file__).parents[3]
FIELD = Path(os.environ.get("MUSTER_FIELD", "") or ROOT.parent / "shared" / "field")
BLOCKS = re.findall(r"```console\n\$ muster (migrate [^\n]*)\n(.*?)```", (ROOT / "docs" / "tour.md").read_text(), re.S)


def test_the_chapter_has_its_examples() -> None:
    assert len(BLOCKS) == 3


@pytest.mark.parametrize(("command", "shown"), BLOCKS, ids=[str(index) for index in range(len(BLOCKS))])
def test_an_example_of_the_tour_is_real_output(
    command: str, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not FIELD.is_dir():
        pytest.skip(f"the inventories of shared/field are not at hand: {FIELD} is not there; set MUSTER_FIELD")
    places = {"../shared/field": str(FIELD), "/tmp/new": str(tmp_path)}  # noqa: S108 - the tour's own words
    arguments = command
    for word, place in places.items():
        arguments = arguments.replace(word, place)
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["muster", *shlex.split(arguments)])
    main()
    out, err = capsys.readouterr()
    said = out + err
    for word, place in places.items():
        said = said.replace(place, word)
    assert said == shown
