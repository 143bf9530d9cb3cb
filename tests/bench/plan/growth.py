"""How the planner's time grows: `python -m bench.plan.growth [--quick]` with `tests` on the path.

Gangs of pods with 8 GPUs and 8 NICs in pairs on common PCIe roots, over mixed fleets with 20 node groups. The snapshot
is in memory; "first" is the first plan on it, "next" the best of three more, as a service that keeps its snapshot sees.
Garbage collection is on, one thread.
"""

import argparse
import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from bench.plan.fleet import RACK, fleet, gang, groups, mixed
from muster_plan import Gang, NoPlan, Plan, Snapshot, plan

Value = TypeVar("Value")
NODES = (500, 5_000, 20_000)
PODS = (64, 512, 4_096)
GROUPS = 20
KUEUE = "kueue.x-k8s.io/"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out 20,000 nodes and 4,096 pods")
    quick = parser.parse_args(argv).quick
    nodes = NODES[:2] if quick else NODES
    pods = PODS[:2] if quick else PODS
    warm_up()
    console = Console(width=110)
    table = Table("nodes", "pods", "read, s", "first, ms", "next, ms", "new nodes", "cost", "bound", title="plan")
    times: dict[tuple[int, int], float] = {}
    for size in nodes:
        for count in pods:
            seconds, snapshot, request = read(size, count)
            work = partial(plan_of, snapshot, request)
            first, found = timed(work)
            again = min(timed(work)[0] for _ in range(3))
            times[size, count] = again
            assert isinstance(found, Plan), found.sentence()
            table.add_row(
                f"{size:,}",
                f"{count:,}",
                f"{seconds:.2f}",
                f"{first * 1e3:,.0f}",
                f"{again * 1e3:,.0f}",
                f"{found.new_nodes:,}",
                f"{found.cost:,.2f}",
                f"{found.bound:,.2f}",
            )
    console.print(table)
    console.print(exponents(times, nodes, pods))
    console.print(others(nodes[1]))


def warm_up() -> None:
    """The solver's library and the compiled selectors are loaded before anything is measured."""
    _, snapshot, request = read(20, 2)
    plan_of(snapshot, request)


def read(size: int, count: int) -> tuple[float, Snapshot, dict[str, object]]:
    objects, request = gang(count)
    everything = [*fleet(size), *groups(GROUPS, room=count), *objects]
    seconds, snapshot = timed(lambda: Snapshot.build(everything))
    assert not snapshot.problems
    return seconds, snapshot, request


def plan_of(snapshot: Snapshot, request: dict[str, object]) -> Plan | NoPlan:
    found = Gang.from_request(request, snapshot)
    assert isinstance(found, Gang), found.sentence()
    return plan(snapshot, found)


def timed(work: Callable[[], Value]) -> tuple[float, Value]:
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def exponents(times: dict[tuple[int, int], float], nodes: Sequence[int], pods: Sequence[int]) -> Table:
    """Time ~ size^e between the ends of each row and column."""
    table = Table("growth", "at", "exponent", title="time of the next plan ~ size to the power of")
    for count in pods:
        table.add_row("nodes", f"{count:,} pods", f"{exponent(times, [(size, count) for size in nodes], 0):.2f}")
    for size in nodes:
        table.add_row("pods", f"{size:,} nodes", f"{exponent(times, [(size, count) for count in pods], 1):.2f}")
    return table


def exponent(times: dict[tuple[int, int], float], cases: list[tuple[int, int]], axis: int) -> float:
    """The slope of the least squares line through the logarithms."""
    xs = [math.log(case[axis]) for case in cases]
    ys = [math.log(times[case]) for case in cases]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def others(size: int) -> Table:
    """Other gangs over one fleet: domains, several pod sets, none at all."""
    rack = {KUEUE + "podset-required-topology": RACK}
    slices = {KUEUE + "podset-slice-required-topology": RACK, KUEUE + "podset-slice-size": "4"}
    cases = (
        ("12 pods in one rack", gang(12, annotations=rack)),
        ("64 pods in slices of 4 per rack", gang(64, annotations=slices)),
        ("1,000 pods of 1 GPU", gang(1_000, gpus=1)),
        ("leader and 200 workers", mixed((0, 1), (8, 200))),
        ("100 + 100 + 100 pods of 1, 2, 8 GPUs", mixed((1, 100), (2, 100), (8, 100))),
        ("never: 9 GPUs in a pod", gang(8, gpus=9)),
    )
    table = Table("gang", "first, ms", "next, ms", "answer", title=f"other gangs over {size:,} nodes")
    everything = [*fleet(size), *groups(GROUPS, room=64)]
    for name, (objects, request) in cases:
        snapshot = Snapshot.build([*everything, *objects])
        work = partial(plan_of, snapshot, request)
        first, found = timed(work)
        again, _ = timed(work)
        answer = f"cost {found.cost:,.2f}" if isinstance(found, Plan) else found.kind.value
        table.add_row(name, f"{first * 1e3:,.0f}", f"{again * 1e3:,.0f}", answer)
    return table


if __name__ == "__main__":
    main()
