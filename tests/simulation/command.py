"""The command line of the simulation."""

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from simulation.cases import Case, write_case
from simulation.explore import Figures, timed
from simulation.run import Result, run_seed
from simulation.scenario import make_scenario
from simulation.shrink import shrink

_PROGRESS = 30.0  # seconds between two lines that say how far it is


def main() -> None:
    """Explore seeds, or show one; exit status 1 when an invariant did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description="Explore seeds of the simulation.")
    parser.add_argument("--seeds", type=int, default=300, help="how many")
    parser.add_argument("--start", type=int, default=0, help="the first one")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--seed", type=int, help="run this one alone")
    parser.add_argument("--verbose", action="store_true", help="with its whole history")
    parser.add_argument("--keep", type=Path, help="with --seed: write the shrunk failure to this file")
    parser.add_argument("--minutes", type=float, default=0.0, help="end with the figures so far after this time")
    parser.add_argument("--keep-going", action="store_true", help="do not stop to shrink the first failures")
    parser.add_argument("--until-failure", action="store_true", help="stop at the first failing seed, as it is")
    given = parser.parse_args()
    console = Console(soft_wrap=True, highlight=False)
    if given.seed is not None:
        sys.exit(_one(console, given.seed, given.keep, verbose=given.verbose))
    sys.exit(_many(console, given))


def _one(console: Console, seed: int, keep: Path | None, *, verbose: bool) -> int:
    result = run_seed(seed, story=verbose)
    if verbose:
        console.print(str(make_scenario(seed)), markup=False)
        console.print("\n".join(result.story), markup=False)
    ends = ", ".join(f"{gang}: {end}" for gang, end in result.by_gang.items())
    console.print(f"seed {seed}: {ends}; {len(result.faults)} faults, digest {result.digest}", markup=False)
    if result.violations and not verbose:
        _explain(console, result, keep)
    for violation in result.violations:
        console.print(str(violation), markup=False)
    return 1 if result.violations else 0


def _many(console: Console, given: argparse.Namespace) -> int:
    figures = Figures()
    shown, told_at = 0, 0.0
    for result in timed(range(given.start, given.start + given.seeds), given.jobs, figures):
        if figures.seconds - told_at >= _PROGRESS and not given.until_failure:
            told_at = figures.seconds
            console.print(f"… {figures.runs} of {given.seeds} seeds, {len(figures.failing)} failing", markup=False)
        if given.minutes and figures.seconds >= 60 * given.minutes:
            console.print(f"time is up after {figures.runs} of {given.seeds} seeds", markup=False)
            break
        if not result.violations:
            continue
        told = "; ".join(map(str, result.violations[:2]))
        console.print(f"seed {result.seed}: {told}", markup=False)
        if given.until_failure:
            break
        if not given.keep_going and shown < 3:
            shown += 1
            _explain(console, result)
    _show(console, figures)
    return 1 if figures.failing else 0


def _explain(console: Console, result: Result, keep: Path | None = None) -> None:
    smallest = shrink(make_scenario(result.seed), result, lambda text: console.print(text, markup=False))
    console.print("\n".join(smallest.story), markup=False)
    for violation in smallest.violations:
        console.print(str(violation), markup=False)
    if keep is not None:
        faults = tuple(fault.key for fault in smallest.faults)
        write_case(keep, Case(smallest.violations[0].law, "", "", make_scenario(result.seed), faults))


def _show(console: Console, figures: Figures) -> None:
    _counts(console, "faults injected", figures.faults)
    _counts(console, "incidents in the world", figures.incidents)
    _counts(console, "gangs by end", figures.ends)
    rate = figures.runs / figures.seconds if figures.seconds else 0.0
    console.print(
        f"{figures.runs} runs, {len(figures.failing)} failing {sorted(figures.failing)[:20] or ''}; "
        f"{figures.messages} messages, {figures.steps} steps, {figures.virtual / 3600:.1f} virtual hours; "
        f"longest history of a gang {figures.longest} events (seed {figures.longest_seed}); "
        f"{figures.seconds:.0f} s, {rate:.1f} runs/s",
        markup=False,
    )


def _counts(console: Console, title: str, counts: dict[str, int]) -> None:
    table = Table(title, "count", box=None)
    for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        table.add_row(name, str(count))
    console.print(table)
