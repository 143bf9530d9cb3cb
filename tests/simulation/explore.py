"""Many seeds on all cores, and the figures of what they met."""

import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from simulation.faults import Kind
from simulation.run import Result, run_seed


@dataclass(slots=True)
class Figures:
    """Sums over runs."""

    runs: int = 0
    failing: list[int] = field(default_factory=list[int])
    faults: Counter[str] = field(default_factory=Counter[str])
    ends: Counter[str] = field(default_factory=Counter[str])
    incidents: Counter[str] = field(default_factory=Counter[str])
    messages: int = 0
    steps: int = 0
    virtual: float = 0.0
    longest: int = 0
    longest_seed: int = 0
    seconds: float = 0.0

    def add(self, result: Result) -> None:
        """Take a run in."""
        self.runs += 1
        if result.violations:
            self.failing.append(result.seed)
        for fault in result.faults:
            if fault.kind is not Kind.INCIDENT:
                self.faults[fault.kind.value] += 1
            elif not fault.name.startswith("gang "):
                self.faults[fault.kind.value] += 1
                self.incidents[fault.name.split("@")[0]] += 1
        self.ends.update(result.ends)
        self.messages += result.messages
        self.steps += result.steps
        self.virtual += result.virtual
        if result.longest > self.longest:
            self.longest, self.longest_seed = result.longest, result.seed


def explore(seeds: Iterable[int], workers: int) -> Iterator[Result]:
    """Results as they come; clean ones without their story."""
    if workers == 1:
        yield from map(run_seed, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(workers, _begin, maxtasksperchild=400) as pool:
        yield from pool.imap_unordered(_run, seeds, chunksize=4)


def _begin() -> None:
    sys.unraisablehook = lambda _: None  # what is collected late belongs to processes that are dead on purpose


def _run(seed: int) -> Result:
    return run_seed(seed)


def timed(seeds: Iterable[int], workers: int, figures: Figures) -> Iterator[Result]:
    """As `explore`, summing up."""
    began = time.monotonic()
    for result in explore(seeds, workers):
        figures.add(result)
        figures.seconds = time.monotonic() - began
        yield result
