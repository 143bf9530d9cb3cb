"""Applies each patch to a copy of the sources and explores seeds there until an invariant breaks."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

PATCHES = Path(__file__).resolve().parent
ROOT = PATCHES.parents[2]
_FAILED = re.compile(r"^seed (\d+): (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A bug: the name of its patch, and what it does, which is the patch's first line."""

    name: str
    what: str


@dataclass(frozen=True, slots=True)
class Hunt:
    """How a mutant fared: the seed that found it (None: none did), what broke, and the time it took."""

    mutant: Mutant
    seed: int | None
    broke: str
    seconds: float


class DoesNotApply(Exception):
    """The code has changed under a patch: it has to be made anew."""


def mutants() -> list[Mutant]:
    """All of them, by name."""
    return [Mutant(patch.stem, patch.read_text().splitlines()[0]) for patch in sorted(PATCHES.glob("*.patch"))]


def hunt(mutant: Mutant, seeds: int, workers: int, start: int = 0) -> Hunt:
    """Explore seeds with the bug in. Raises DoesNotApply."""
    began = time.monotonic()
    with mutated(mutant) as tree:
        command = ["-m", "tests.simulation", "--until-failure", "--seeds", str(seeds), "--start", str(start)]
        ran = subprocess.run(
            [sys.executable, *command, "--jobs", str(workers)],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": _paths(tree)},
            capture_output=True,
            text=True,
            check=False,
        )
    found = _FAILED.search(ran.stdout)
    if found is None and ran.returncode != 0:
        raise RuntimeError(f"mutant {mutant.name}: {ran.stderr[-2000:]}")
    seconds = time.monotonic() - began
    return Hunt(mutant, int(found[1]), found[2], seconds) if found else Hunt(mutant, None, "", seconds)


@contextmanager
def mutated(mutant: Mutant) -> Generator[Path]:
    """A copy of the sources with the bug in. Raises DoesNotApply."""
    with tempfile.TemporaryDirectory(prefix="muster-mutant-") as folder:
        tree = Path(folder)
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "libs", tree / "libs", ignore=ignore)
        shutil.copytree(ROOT / "services", tree / "services", ignore=ignore)
        shutil.copytree(ROOT / "tests" / "simulation", tree / "tests" / "simulation", ignore=ignore)
        _apply(mutant, tree)
        yield tree


def check_applies(mutant: Mutant) -> None:
    """Raises DoesNotApply when the code has changed under the patch."""
    _apply(mutant, ROOT, "--dry-run")


def _apply(mutant: Mutant, tree: Path, *options: str) -> None:
    applied = subprocess.run(
        [
            "patch",
            "-p1",
            *options,
            "--fuzz=0",
            "--silent",
            "--no-backup-if-mismatch",
            "-i",
            PATCHES / f"{mutant.name}.patch",
        ],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    if applied.returncode != 0:
        raise DoesNotApply(f"{mutant.name}.patch does not apply any more: {applied.stdout}{applied.stderr}")


def _paths(tree: Path) -> str:
    return os.pathsep.join(map(str, (tree / "libs", *sorted((tree / "services").iterdir()))))


def main() -> None:
    """Hunt all mutants, or the named ones, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutants", description="Find hand-made bugs.")
    parser.add_argument("names", nargs="*", help="default: all")
    parser.add_argument("--seeds", type=int, default=300, help="at most so many for each")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    given = parser.parse_args()
    console = Console(highlight=False, soft_wrap=True)
    table = Table("mutant", "found by seed", "seconds", "what broke", box=None)
    missed = 0
    for mutant in mutants():
        if given.names and mutant.name not in given.names:
            continue
        result = hunt(mutant, given.seeds, given.jobs)
        missed += result.seed is None
        seed = "MISSED" if result.seed is None else str(result.seed)
        console.print(f"{mutant.name}: {seed} in {result.seconds:.0f} s: {result.broke[:160]}", markup=False)
        table.add_row(mutant.name, seed, f"{result.seconds:.0f}", result.broke[:100].replace("[", "\\["))
    console.print(table)
    sys.exit(1 if missed else 0)
