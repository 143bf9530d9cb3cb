from bench.plan.fragmentation import first_fit, planned_by, play
from muster_plan import (
    CHEAPEST,
    FEWEST_NODES,
    LEAST_FRAGMENTATION,
    PREFER_EXISTING,
    Arrangement,
    GroupOrder,
    Policy,
)
from muster_types import NodeGroupName
from unit.muster_plan.builders import (
    claim_spec,
    claim_template,
    from_template,
    gpus,
    group,
    node,
    places,
    planned,
    pod_template,
    request,
    snapshot_of,
)

ONE = claim_template("one", claim_spec(request("g")))
WORKER = pod_template("worker", claims=[from_template("one")])


def test_the_fragmentation_policy_keeps_whole_nodes_that_first_fit_breaks() -> None:
    """16 nodes, 40 one-GPU pods that come and go (seeded); docs/planning.md has more seeds."""
    for seed in (1, 2):
        before, after = play(planned_by(LEAST_FRAGMENTATION), seed)
        assert after == before > 0
        assert play(first_fit, seed)[1] == 0


def test_a_one_gpu_pod_goes_where_least_is_broken() -> None:
    cluster = snapshot_of(
        node("node-a", devices=gpus(8)), node("node-b", devices=gpus(2)), node("node-c", devices=gpus(4)), ONE, WORKER
    )
    assert places(planned(cluster, ("worker", 1), policy=LEAST_FRAGMENTATION)) == {"node-b": 1}
    assert places(planned(cluster, ("worker", 3), policy=LEAST_FRAGMENTATION)) == {"node-b": 2, "node-c": 1}


def test_pack_uses_as_few_nodes_as_possible_and_spread_as_many() -> None:
    cluster = snapshot_of(*(node(f"node-{index}", devices=gpus(4)) for index in range(4)), ONE, WORKER)
    assert len(places(planned(cluster, ("worker", 4), policy=Policy(arrangement=Arrangement.PACK)))) == 1
    assert len(places(planned(cluster, ("worker", 4), policy=Policy(arrangement=Arrangement.SPREAD)))) == 4


def test_cheapest_trades_nodes_for_money_and_prefer_existing_money_for_nodes() -> None:
    cluster = snapshot_of(
        group("small", devices=gpus(2), price=3), group("large", devices=gpus(8), price=20), ONE, WORKER
    )
    cheap = planned(cluster, ("worker", 8), policy=CHEAPEST)
    assert cheap.orders == (GroupOrder(NodeGroupName("small"), 4),)
    few = planned(cluster, ("worker", 8), policy=PREFER_EXISTING)
    assert few.orders == (GroupOrder(NodeGroupName("large"), 1),)


def test_fewest_nodes_counts_existing_nodes_too() -> None:
    cluster = snapshot_of(
        *(node(f"node-{index}", devices=gpus(1)) for index in range(4)),
        group("large", devices=gpus(8), price=20),
        ONE,
        WORKER,
    )
    assert planned(cluster, ("worker", 4), policy=CHEAPEST).cost == 0
    assert places(planned(cluster, ("worker", 4), policy=FEWEST_NODES)) == {"large#0": 4}


def test_a_policy_may_leave_existing_nodes_alone() -> None:
    cluster = snapshot_of(node("node-0", devices=gpus(8)), group("large", devices=gpus(8)), ONE, WORKER)
    assert places(planned(cluster, ("worker", 1), policy=Policy(use_existing=False))) == {"large#0": 1}
