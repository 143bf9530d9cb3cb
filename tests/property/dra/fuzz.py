"""The fast search against the reference on many generated problems.

`python -m tests.property.dra.fuzz 20000 [first seed]` prints what it saw and, for a disagreement, the shrunk problem.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from muster_dra import (
    AllocatedState,
    Allocation,
    Catalog,
    Fatal,
    FatalKind,
    Features,
    NodeError,
    NoFit,
    Outcome,
    UnreadableSelector,
    allocate,
    parse_claim,
    parse_class,
    parse_node,
    parse_slice,
)
from muster_dra.allocations import allocation
from muster_dra.found import Solution
from muster_dra.guided import guided_search
from muster_dra.plan import PlanTable
from muster_dra.prepare import MAX_RESULTS
from muster_dra.reference import reference_allocate
from muster_dra.situation import situation
from muster_dra.views import NodeView, occupancy
from property.dra.problems import features, problem

REFERENCE_STEPS = 10_000
"""Where 1.36 is followed into its defects, the engine walks the reference search itself, under this limit."""


def outcomes(row: Mapping[str, Any], gates: Features) -> Iterator[tuple[Outcome, Outcome]]:
    """For each node of the row the fast answer and that of the reference."""
    slices = [parse_slice(item) for item in row["slices"]]
    classes = [parse_class(item) for item in row["classes"]]
    claims = tuple(parse_claim(item) for item in row["claims"])
    allocated = AllocatedState.from_claims(parse_claim(item) for item in row["allocated"])
    catalog = Catalog.build(slices, classes, features=gates)
    by_name = {each.name: each for each in classes}
    for item in row["nodes"]:
        node = parse_node(item)
        slow, _ = reference_allocate(node, claims, slices, by_name, allocated, gates, step_limit=REFERENCE_STEPS)
        yield allocate(node, claims, catalog, allocated), slow


def guided(row: Mapping[str, Any], gates: Features) -> Iterator[Outcome | None]:
    """For each node the answer of the search that asks ahead, where it may be used; None elsewhere."""
    slices = [parse_slice(item) for item in row["slices"]]
    claims = tuple(parse_claim(item) for item in row["claims"])
    allocated = AllocatedState.from_claims(parse_claim(item) for item in row["allocated"])
    catalog = Catalog.build(slices, [parse_class(item) for item in row["classes"]], features=gates)
    plans = catalog.plans(claims)
    for item in row["nodes"]:
        view = catalog.view(parse_node(item))
        yield (
            None
            if isinstance(plans, Fatal) or isinstance(view, UnreadableSelector)
            else _guided(plans, view, allocated, gates)
        )


def _guided(plans: PlanTable, view: NodeView, allocated: AllocatedState, gates: Features) -> Outcome | None:
    compiled, plan = plans.compiled, plans.plan(view.shape)
    defective = gates.counters_by_pool_name or compiled.needs_reference or view.unusable is not None
    if defective or not plan.order_free or max(plan.least, default=0) > MAX_RESULTS:
        return None
    start = situation(plan, compiled, view.shape, occupancy(view, allocated, gates))
    found, _ = guided_search(start, 10 * REFERENCE_STEPS, 0)
    if isinstance(found, Solution):
        return allocation(found, compiled, view)
    if found is not None:
        return Fatal(found.kind, "")
    return NodeError(()) if view.invalid else NoFit(())


def word(outcome: Outcome) -> str:
    match outcome:
        case Allocation():
            return "ok"
        case Fatal(kind, _):
            return "gave up" if kind is FatalKind.GAVE_UP else f"fatal: {kind.value}"
        case NodeError():
            return "node error"
        case NoFit():
            return "none"


def agree(fast: Outcome, slow: Outcome) -> bool:
    """Same outcome, and for a yes the same allocation down to amounts. Where the reference gave up, anything goes."""
    if "gave up" in (word(slow), word(fast)):
        return word(slow) == "gave up"
    if isinstance(fast, Allocation) and isinstance(slow, Allocation):
        return fast == slow
    return word(fast).partition(":")[0] == word(slow).partition(":")[0]


def disagrees(row: Mapping[str, Any], gates: Features) -> bool:
    answers = zip(outcomes(row, gates), guided(row, gates), strict=True)
    return any(
        not agree(fast, slow) or (ahead is not None and not agree(ahead, slow)) for (fast, slow), ahead in answers
    )


def shrunk(row: dict[str, Any], gates: Features) -> dict[str, Any]:
    """The row with everything removed that the disagreement does not need."""
    progress = True
    while progress:
        progress = False
        for path in _removable(row):
            smaller = deepcopy(row)
            _remove(smaller, path)
            try:
                still = disagrees(smaller, gates)
            except (ValueError, KeyError):
                still = False
            if still:
                row, progress = smaller, True
                break
    return row


Path = tuple[str | int, ...]
_KEPT = {"metadata", "name", "spec", "driver", "pool", "exactly", "deviceClassName", "devices", "cel", "expression"}


def _removable(row: dict[str, Any]) -> list[Path]:
    found: list[Path] = []

    def walk(value: Any, path: Path) -> None:
        if isinstance(value, list):
            for index, item in enumerate(value):
                found.append((*path, index))
                walk(item, (*path, index))
        elif isinstance(value, dict):
            for key, item in value.items():
                if key not in _KEPT:
                    found.append((*path, key))
                walk(item, (*path, key))

    for part in ("nodes", "claims", "slices", "allocated"):
        walk(row[part], (part,))
    return sorted(found, key=len)


def _remove(row: Any, path: Path) -> None:
    for step in path[:-1]:
        row = row[step]
    del row[path[-1]]


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    seen: Counter[str] = Counter()
    slowest, began = 0.0, time.monotonic()
    for seed in range(first, first + count):
        row, gates = problem(seed), features(seed)
        started = time.monotonic()
        for (fast, slow), ahead in zip(outcomes(row, gates), guided(row, gates), strict=True):
            seen[word(slow)] += 1
            seen["gave up though the reference did not"] += word(fast) == "gave up" != word(slow)
            seen["asked ahead"] += ahead is not None
            if not agree(fast, slow) or (ahead is not None and not agree(ahead, slow)):
                told = "" if ahead is None else f", asking ahead {word(ahead)}"
                say(f"seed {seed}: fast says {word(fast)}{told}, reference says {word(slow)}; {gates}")
                say(json.dumps(shrunk(row, gates)))
                return 1
        slowest = max(slowest, time.monotonic() - started)
    told = "; ".join(f"{name} {number}" for name, number in sorted(seen.items()))
    say(f"{count} problems from seed {first} agree in {time.monotonic() - began:.0f} s: {told}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
