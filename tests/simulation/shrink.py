"""The smallest set of faults with which a seed still fails in the same way."""

from collections.abc import Callable, Sequence

from simulation.run import Result, run_whole
from simulation.scenario import Scenario

Told = Callable[[str], None]


def shrink(scenario: Scenario, result: Result, told: Told, most_runs: int = 250) -> Result:
    """Take faults away as long as the same law is broken; the run with the fewest, its story with it."""
    law = result.violations[0].law
    keys = list(dict.fromkeys(fault.key for fault in result.faults))
    runs = 0
    best = result

    def fails(kept: Sequence[str]) -> bool:
        nonlocal runs, best
        runs += 1
        again = run_whole(scenario, frozenset(kept), story=True)
        if not any(violation.law == law for violation in again.violations):
            return False
        best = again
        return True

    if not fails(keys):
        told("the same faults alone do not repeat it")
        return result
    for kind in sorted({key.split(":")[0] for key in keys}):
        without = [key for key in keys if not key.startswith(f"{kind}:")]
        if len(without) < len(keys) and fails(without):
            keys = without
    size = max(len(keys) // 2, 1)
    while keys and runs < most_runs:
        smaller = False
        for start in range(0, len(keys), size):
            kept = keys[:start] + keys[start + size :]
            if runs >= most_runs:
                break
            if fails(kept):
                keys, smaller = kept, True
                break
        if not smaller:
            if size == 1:
                break
            size = max(size // 2, 1)
    told(f"{len(best.faults)} of {len(result.faults)} faults are enough, found in {runs} runs")
    return best
