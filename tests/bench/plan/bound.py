"""How far plans of mixed gangs are from a proven bound: `python -m bench.plan.bound [--seeds N]`, `tests` on the path.

Gangs of six to ten kinds of small pods, several of which share a node: different GPUs, CPU, memory and NUMA wishes,
over a fleet that is partly used and several node groups; made by seed. The gap is (cost - bound) / bound; a plan whose
cost is its bound is the cheapest there is.
"""

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.plan.fleet import GPU, fleet, groups
from muster_plan import Gang, NoPlan, Plan, Snapshot, plan

Json = dict[str, Any]
SEEDS = 12


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many gangs")
    seeds = parser.parse_args(argv).seeds
    table = Table(
        "seed", "kinds", "pods", "nodes", "groups", "cost", "bound", "gap, %", "CPU ms", title="gangs of many kinds"
    )
    gaps: list[float] = []
    for seed in range(1, seeds + 1):
        objects, request = case(seed)
        snapshot = Snapshot.build(objects)
        assert not snapshot.problems
        gang = Gang.from_request(request, snapshot)
        assert isinstance(gang, Gang), gang.sentence()
        start = time.process_time()
        found = plan(snapshot, gang)
        passed = time.process_time() - start
        sets = request["spec"]["podSets"]
        size = (str(seed), str(len(sets)), str(sum(each["count"] for each in sets)))
        fleet_size = (str(len(snapshot.tables.nodes)), str(len(snapshot.tables.groups)))
        if isinstance(found, NoPlan):
            table.add_row(*size, *fleet_size, found.kind.value, "", "", f"{passed * 1e3:,.0f}")
            continue
        gap = gap_of(found)
        gaps.append(gap)
        table.add_row(
            *size, *fleet_size, f"{found.cost:,.2f}", f"{found.bound:,.2f}", f"{gap * 100:.2f}", f"{passed * 1e3:,.0f}"
        )
    console = Console(width=100)
    console.print(table)
    console.print(
        f"gap: median {statistics.median(gaps) * 100:.2f} %, worst {max(gaps) * 100:.2f} %, "
        f"{sum(not gap for gap in gaps)} of {len(gaps)} proven cheapest"
    )


def gap_of(found: Plan) -> float:
    """Relative distance of the cost to its bound; a cost without any bound is infinitely far."""
    if found.cost <= found.bound:
        return 0.0
    return (found.cost - found.bound) / found.bound if found.bound else float("inf")


def case(seed: int) -> tuple[list[Json], Json]:
    """Objects and the request of a gang of many kinds."""
    rng = random.Random(seed)
    kinds = [kind(rng, number) for number in range(rng.randint(6, 10))]
    pods = [rng.choice((rng.randint(3, 12), rng.randint(10, 60), rng.randint(40, 150))) for _ in kinds]
    nodes = rng.choice((0, 10, 40, 100))
    objects: list[Json] = [*fleet(nodes, seed=seed), *groups(rng.choice((3, 8, 20)), room=rng.choice((20, 60, 500)))]
    for each in kinds:
        objects += each
    request = {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {"name": "mixed", "namespace": "team", "uid": "mixed"},
        "spec": {
            "provisioningClassName": "atomic.muster.dev",
            "podSets": [{"podTemplateRef": {"name": f"kind-{n}"}, "count": count} for n, count in enumerate(pods)],
        },
    }
    return objects, request


def kind(rng: random.Random, number: int) -> list[Json]:
    """A pod of zero to four GPUs, some on one NUMA node or of one model, with its own CPU and memory."""
    gpus = rng.choice((0, 1, 1, 1, 2, 2, 3, 4))
    cpu, memory = rng.choice((3, 7, 11, 16, 24, 31, 40)), rng.choice((16, 48, 100, 220, 400))
    exactly: Json = {"deviceClassName": "gpu", "count": gpus}
    if rng.random() < 0.2:
        exactly["selectors"] = [{"cel": {"expression": f'device.attributes["{GPU}"].model == "h100"'}}]
    devices: Json = {"requests": [{"name": "g", "exactly": exactly}]}
    if gpus > 1 and rng.random() < 0.4:
        devices["constraints"] = [{"requests": ["g"], "matchAttribute": f"{GPU}/numa"}]
    name = f"kind-{number}"
    template: Json = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"spec": {"devices": devices}},
    }
    requests = {"cpu": str(cpu), "memory": f"{memory}Gi"}
    pod: Json = {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": name, "namespace": "team"},
        "template": {
            "metadata": {},
            "spec": {
                "containers": [{"name": "main", "image": "x", "resources": {"requests": requests}}],
                "resourceClaims": [{"name": "dev", "resourceClaimTemplateName": name}] if gpus else [],
            },
        },
    }
    return [template, pod] if gpus else [pod]


if __name__ == "__main__":
    main()
