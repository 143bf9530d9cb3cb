"""The engine's figures beside upstream's: `python -m bench.engine.measure [kind:size ...]` with `tests` on the path.

Upstream's figures are those of its Go allocator on a machine of this kind, one thread, reading apart. Each of ours is
the median of fresh catalogues, taken in processor time: `first` is a node that nobody asked about before, its pools,
plan and search included; `read` adds writing out the devices; `again` is the same question to the same catalogue. For a
fleet a figure is the median over its nodes.
"""

import gc
import os
import platform
import statistics
import sys
from dataclasses import dataclass
from time import process_time
from typing import Any

from bench.engine.scale_problems import problem
from muster_dra import (
    AllocatedState,
    Allocation,
    Catalog,
    Node,
    allocate,
    parse_claim,
    parse_class,
    parse_node,
    parse_slice,
)

UPSTREAM_MS = {
    ("fleet", 1000): 0.32,
    ("clean", 1000): 0.14,
    ("rails", 8): 203.0,
    ("hard", 20): 200.0,
    ("hard", 24): 800.0,
    ("hard", 28): 5000.0,
}
TARGET_MS = {
    ("fleet", 1000): 0.032,
    ("clean", 1000): 0.014,
    ("rails", 8): 1.0,
    ("hard", 20): 1.0,
    ("hard", 24): 1.0,
    ("hard", 28): 1.0,
}
DEFAULT = ("fleet:1000", "clean:1000", "serials:1000", "rails:8", "hard:20", "hard:24", "hard:28", "rails:16")
RUNS = 7


@dataclass(frozen=True, slots=True)
class Figures:
    """Milliseconds: of the whole input for `reading` and `building`, of a node for the others."""

    reading: float
    building: float
    first: float
    read: float
    again: float
    mean: float
    """Of `first`, everything that is done once for all nodes included."""
    yes: int
    nodes: int


def measure(row: dict[str, Any]) -> Figures:
    """One run on a fresh catalogue."""
    started = process_time()
    slices = [parse_slice(item) for item in row["slices"]]
    classes = [parse_class(item) for item in row["classes"]]
    claims = tuple(parse_claim(item) for item in row["claims"])
    nodes = [parse_node(item) for item in row["nodes"]]
    held = [parse_claim(item) for item in row["allocated"]]
    parsed = process_time()
    catalog = Catalog.build(slices, classes)
    state = AllocatedState.from_claims(held)
    built = process_time()
    first = [_timed(node, claims, catalog, state) for node in nodes]
    fresh = Catalog.build(slices, classes)
    read, yes = [], 0
    for node in nodes:
        before = process_time()
        found = allocate(node, claims, fresh, state)
        if isinstance(found, Allocation):
            yes += bool(found.claims)
        read.append(process_time() - before)
    again = [_timed(node, claims, catalog, state) for node in nodes]
    return Figures(
        (parsed - started) * 1000,
        (built - parsed) * 1000,
        statistics.median(first) * 1000,
        statistics.median(read) * 1000,
        statistics.median(again) * 1000,
        statistics.fmean(first) * 1000,
        yes,
        len(nodes),
    )


def _timed(node: Node, claims: Any, catalog: Catalog, state: AllocatedState) -> float:
    before = process_time()
    allocate(node, claims, catalog, state)
    return process_time() - before


def median_of(kind: str, size: int) -> Figures:
    row = problem(kind, size)
    found: list[Figures] = []
    for _ in range(RUNS):
        gc.collect()
        found.append(measure(row))
    middle = [statistics.median(getattr(each, name) for each in found) for name in Figures.__slots__[:6]]
    return Figures(*middle, found[0].yes, found[0].nodes)


def main(names: list[str]) -> int:
    """Exit status 1 if a target is missed."""
    lines = [
        f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}, "
        f"medians of {RUNS} runs, milliseconds",
        f"{'problem':<14}{'nodes':>6}{'yes':>6}{'reading':>9}{'build':>8}{'first':>9}{'+ read':>9}{'again':>9}"
        f"{'mean':>9}{'upstream':>10}{'faster':>8}{'target':>8}",
    ]
    missed = 0
    for name in names or DEFAULT:
        kind, _, number = name.partition(":")
        size = int(number)
        found = median_of(kind, size)
        upstream, target = UPSTREAM_MS.get((kind, size)), TARGET_MS.get((kind, size))
        faster = f"{upstream / found.first:.0f}x" if upstream else ""
        verdict = "" if target is None else "met" if found.first <= target else "missed"
        missed += verdict == "missed"
        lines.append(
            f"{name:<14}{found.nodes:>6}{found.yes:>6}{found.reading:>9.1f}{found.building:>8.2f}{found.first:>9.4f}"
            f"{found.read:>9.4f}{found.again:>9.4f}{found.mean:>9.4f}{upstream or '':>10}{faster:>8}{verdict:>8}"
        )
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
