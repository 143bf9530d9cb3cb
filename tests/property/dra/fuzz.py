"""The fast allocator against both references on many generated problems.

`python -m property.dra.fuzz 20000 [first seed]` in `tests/` prints what it saw and, for a disagreement, the shrunk
problem; JOBS says over how many processes the problems are spread (1).
"""

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing import Pool

from property.dra.comparing import compared
from property.dra.gates import features
from property.dra.mixture import counted, table
from property.dra.problems import untidy_problem
from property.dra.shrinking import shrunk

CHUNK = 100
TOLD = 20
"""Chunks between two lines that say how far it is."""
MOST_FAULTS = 5


@dataclass
class Seen:
    """What a chunk of seeds showed."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    comparisons: Counter[str] = field(default_factory=Counter[str])
    faults: list[int] = field(default_factory=list[int])


def look(seeds: Sequence[int]) -> Seen:
    seen = Seen()
    for seed in seeds:
        row = untidy_problem(seed)
        text = json.dumps(row | {"classes": []})
        for one in compared(row, features(seed)):
            seen.comparisons[one.against] += 1
            if one.slow == "gave up":
                seen.comparisons[f"{one.against}: beyond the step limit"] += 1
            if one.fast == "gave up" != one.slow:
                seen.comparisons[f"{one.against}: only the fast one gave up"] += 1
            if one.against == "independent":
                seen.outcomes += counted(text, one.fast.partition(":")[0])
            if not one.agree and seed not in seen.faults:
                seen.faults.append(seed)
    return seen


def explained(seed: int) -> str:
    """A disagreement in words, with the smallest problem that shows it."""
    gates = features(seed)

    def faults(row: object) -> list[str]:
        assert isinstance(row, dict)
        return [
            f"node {one.node}: fast says {one.fast}, the reference ({one.against}) says {one.slow}"
            for one in compared(row, gates)
            if not one.agree
        ]

    row = untidy_problem(seed)
    small = shrunk(row, lambda smaller: bool(faults(smaller)))
    return f"seed {seed}: {'; '.join(faults(small))}\n{gates}\n{json.dumps(small)}"


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    chunks = [range(at, min(at + CHUNK, first + count)) for at in range(first, first + count, CHUNK)]
    total, began = Seen(), time.monotonic()
    with Pool(int(os.environ.get("JOBS", "1"))) as pool:
        for done, seen in enumerate(pool.imap(look, chunks), 1):
            total.outcomes += seen.outcomes
            total.comparisons += seen.comparisons
            for seed in seen.faults:
                say(explained(seed))
            total.faults += seen.faults
            if done % TOLD == 0:
                say(f"{min(done * CHUNK, count)} problems, {time.monotonic() - began:.0f} s")
            if len(total.faults) >= MOST_FAULTS:
                break
    for line in table(total.outcomes):
        say(line)
    for name, number in sorted(total.comparisons.items()):
        say(f"{number:8} comparisons: {name}")
    verdict = f"{len(total.faults)} disagree" if total.faults else "agree"
    say(f"{count} problems from seed {first} {verdict} in {time.monotonic() - began:.0f} s")
    return 1 if total.faults else 0


if __name__ == "__main__":
    sys.exit(main())
