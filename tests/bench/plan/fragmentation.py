"""What 40 one-GPU pods that come and go leave of a fleet for 8-GPU pods: `python -m bench.plan.fragmentation`.

16 nodes of 8 GPUs; some are partly used for good, two to four are whole at the start. 40 pods of one GPU arrive; before
each arrival every short-lived pod may leave. First fit takes the first node by name with a free GPU, spread the node
with most free GPUs (kube-scheduler's default score), the others ask the planner.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from muster_plan import CHEAPEST, LEAST_FRAGMENTATION, ExistingNode, Gang, Plan, Policy, Snapshot, plan
from muster_types import ObjectKey
from unit.muster_plan.builders import (
    claim_spec,
    claim_template,
    classes,
    from_template,
    gpus,
    named_claim,
    node,
    pod_template,
    provisioning_request,
    request,
)

NODES, GPUS, ARRIVALS, LEAVING = 16, 8, 40, 0.05
GPU = "gpu.example.com"
SEEDS = range(1, 11)

Chooser = Callable[["Fleet"], tuple[str, str]]


@dataclass
class Fleet:
    """The snapshot and the same facts as plain sets."""

    snapshot: Snapshot
    free: dict[str, list[str]] = field(default_factory=dict)

    def hold(self, name: str, on: str, device: str) -> None:
        self.free[on].remove(device)
        spec = claim_spec(request("g"))
        claim = named_claim(name, spec, namespace="other", held=[(GPU, on, device)], on=on)
        self.snapshot = self.snapshot.put(claim)

    def release(self, name: str, on: str, device: str) -> None:
        self.free[on] = sorted([*self.free[on], device])
        self.snapshot = self.snapshot.remove(ObjectKey("ResourceClaim", "other", name))

    @property
    def whole(self) -> int:
        """Nodes on which an 8-GPU pod still fits."""
        return sum(len(devices) == GPUS for devices in self.free.values())


def fleet_of(rng: random.Random) -> Fleet:
    objects = [
        *classes(),
        claim_template("one", claim_spec(request("g"))),
        pod_template("p", claims=[from_template("one")]),
    ]
    names = [f"node-{number:02d}" for number in range(NODES)]
    for name in names:
        objects += node(name, devices=gpus(GPUS))
    fleet = Fleet(Snapshot.build(objects), {name: [f"gpu-{index}" for index in range(GPUS)] for name in names})
    whole = set(rng.sample(names, rng.randint(2, 4)))
    for name in names:
        if name not in whole:
            for number in range(rng.randint(3, 7)):
                fleet.hold(f"base-{name}-{number}", name, f"gpu-{number}")
    return fleet


def first_fit(fleet: Fleet) -> tuple[str, str]:
    name = next(name for name in sorted(fleet.free) if fleet.free[name])
    return name, fleet.free[name][0]


def spread(fleet: Fleet) -> tuple[str, str]:
    name = max(sorted(fleet.free), key=lambda name: len(fleet.free[name]))
    return name, fleet.free[name][0]


def planned_by(policy: Policy) -> Chooser:
    def choose(fleet: Fleet) -> tuple[str, str]:
        gang = Gang.from_request(provisioning_request(("p", 1)), fleet.snapshot)
        assert isinstance(gang, Gang)
        found = plan(fleet.snapshot, gang, policy)
        assert isinstance(found, Plan)
        (placement,) = found.placements
        assert isinstance(placement.target, ExistingNode)
        return placement.target.name, placement.claims[0].results[0].device.device

    return choose


def play(choose: Chooser, seed: int) -> tuple[int, int]:
    """Whole nodes before and after the pods have come and gone."""
    rng = random.Random(seed)
    fleet = fleet_of(rng)
    before = fleet.whole
    living: dict[str, tuple[str, str]] = {}
    for number in range(ARRIVALS):
        for name in sorted(living):
            if rng.random() < LEAVING:
                fleet.release(name, *living.pop(name))
        if not any(fleet.free.values()):
            continue
        name = f"pod-{number}"
        living[name] = choose(fleet)
        fleet.hold(name, *living[name])
    return before, fleet.whole


CHOOSERS: dict[str, Chooser] = {
    "first fit": first_fit,
    "spread": spread,
    "cheapest": planned_by(CHEAPEST),
    "least fragmentation": planned_by(LEAST_FRAGMENTATION),
}


def main() -> None:
    table = Table("seed", "whole nodes at the start", *CHOOSERS, title="nodes left for an 8-GPU pod")
    total = dict.fromkeys(CHOOSERS, 0)
    for seed in SEEDS:
        results = {name: play(choose, seed) for name, choose in CHOOSERS.items()}
        for name, (_, after) in results.items():
            total[name] += after
        before = next(iter(results.values()))[0]
        table.add_row(str(seed), str(before), *(str(after) for _, after in results.values()))
    table.add_row("sum", "", *map(str, total.values()))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
