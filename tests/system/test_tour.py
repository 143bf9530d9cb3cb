"""The chapters on `muster audit` and `muster fragmentation` in docs/tour.md show what the commands say."""

import re

import pytest

from support.deployment import ROOT
from support.processes import run_muster

TOUR = (ROOT / "docs" / "tour.md").read_text()
BLOCKS = re.findall(r"```console\n\$ muster ((?:audit|fragmentation) [^\n]*)\n(.*?)```", TOUR, re.S)


@pytest.mark.skipif(
    not (ROOT.parent / "shared" / "field").is_dir(), reason="the inventories are not beside the project"
)
@pytest.mark.parametrize(("command", "shown"), BLOCKS, ids=[command for command, _ in BLOCKS])
def test_the_tour_shows_what_the_command_says(command: str, shown: str) -> None:
    told = run_muster(*command.split(), environment={"COLUMNS": "80"}, cwd=ROOT)
    assert [line.rstrip() for line in told.out.rstrip().splitlines()] == shown.splitlines()


def test_the_tour_has_a_chapter_for_both() -> None:
    assert {command.split()[0] for command, _ in BLOCKS} == {"audit", "fragmentation"}
