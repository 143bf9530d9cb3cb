from muster_plan import NoPlanKind, Policy, Snapshot
from muster_plan.assembly import Mode, build_problem, variant_of
from muster_plan.enumeration import closure, maximal_patterns
from unit.muster_plan.builders import (
    claim_spec,
    claim_template,
    from_template,
    gang_of,
    gpus,
    group,
    node,
    planned,
    pod_template,
    refused,
    request,
    snapshot_of,
)

SIZES = (1, 2, 3, 4, 5, 6, 7, 8)


def cluster_of(sizes: tuple[int, ...], *more: object) -> Snapshot:
    return snapshot_of(
        *(claim_template(f"c{size}", claim_spec(request("g", size))) for size in sizes),
        *(pod_template(f"p{size}", claims=[from_template(f"c{size}")]) for size in sizes),
        *more,  # type: ignore[arg-type] - objects
    )


def test_maximal_patterns_are_those_that_no_other_pattern_covers() -> None:
    cluster = cluster_of((1, 3), node("node-0", devices=gpus(7)))
    problem = build_problem(cluster, gang_of(cluster, ("p1", 9), ("p3", 9)), Policy())
    variant = variant_of(problem, Mode(()))
    (stock,) = variant.existing
    found = maximal_patterns(variant.fitter, stock)
    assert [each.counts for each in found] == [(1, 2), (4, 1), (7, 0)]
    every = closure(variant.fitter, found, 100)
    assert every is not None
    assert len(every) == 8 + 5 + 2 - 1, "all but the empty one"
    assert closure(variant.fitter, found, 5) is None


def test_the_number_of_pods_wanted_bounds_the_patterns() -> None:
    cluster = cluster_of((1,), node("node-0", devices=gpus(7)))
    problem = build_problem(cluster, gang_of(cluster, ("p1", 2)), Policy())
    variant = variant_of(problem, Mode(()))
    assert [each.counts for each in maximal_patterns(variant.fitter, variant.existing[0])] == [(2,)]


def test_many_kinds_get_a_plan_with_an_honest_bound() -> None:
    cluster = cluster_of(SIZES, group("h100", devices=gpus(24), room=100, price=10, cpu="200"))
    found = planned(cluster, *((f"p{size}", 6) for size in SIZES))
    assert found.bound <= found.cost
    assert found.bound >= 90, "216 devices on nodes of 24"
    assert found.cost <= 1.03 * found.bound
    assert found.optimal == (found.bound == found.cost)


def test_a_no_over_a_selection_of_patterns_is_proven_by_a_relaxation() -> None:
    cluster = cluster_of(SIZES, node("node-0", devices=gpus(24), cpu="200"))
    no = refused(cluster, *((f"p{size}", 6) for size in SIZES))
    assert (no.kind, no.even_empty) == (NoPlanKind.NEVER, True)


def test_generated_patterns_reach_the_cost_of_listed_ones_and_their_bound_stays_below() -> None:
    sizes = (1, 2, 3, 5)
    cluster = cluster_of(sizes, node("node-0", devices=gpus(5)), group("h100", devices=gpus(8), room=50, price=10))
    wanted = tuple((f"p{size}", 7) for size in sizes)
    listed = planned(cluster, *wanted)
    generated = planned(cluster, *wanted, policy=Policy(most_patterns=0))
    assert listed.optimal
    assert generated.bound <= listed.cost == generated.cost
