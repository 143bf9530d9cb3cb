"""Copies of the example fleet, changed for a test."""

import shutil
from pathlib import Path

from support.deployment import EXAMPLES


def copy_fleet(folder: Path) -> Path:
    """The example fleet in a folder of the test's own."""
    shutil.copytree(EXAMPLES / "fleet", folder)
    return folder


def quick_fleet(folder: Path) -> Path:
    """The example fleet with machines that boot in half a second."""
    groups = copy_fleet(folder) / "nodegroups.yaml"
    lines = groups.read_text().splitlines(keepends=True)
    quick = {"bootSeconds": "0.5", "slicesAfterSeconds": "0.2"}
    for index, line in enumerate(lines):
        name = line.strip().partition(":")[0]
        if name in quick:
            lines[index] = f"{line[: line.index(name)]}{name}: {quick[name]}\n"
    groups.write_text("".join(lines))
    return folder
