from support.audits import audited, pick
from support.cluster_objects import Json, a_class, a_group, a_node, a_slice, a_waiting, gpus


def late(*objects: Json, pods: int) -> list[str]:
    waiting = [each for index in range(pods) for each in a_waiting(f"p{index}")]
    group = a_group("g", gpus(2), size=1)
    report = audited(a_class(), a_node("n", labels={"group": "g"}), group, *waiting, *objects)
    return [f"{row.verdict} {row.reason}" for row in (pick(report, f"p{index}") for index in range(pods))]


def test_pods_wait_for_the_devices_of_a_node_that_is_there_and_the_rest_order_more() -> None:
    assert late(pods=3) == ["infeasible no-inventory"] * 2 + ["scale-up no-inventory"]


def test_a_node_that_has_published_is_not_late() -> None:
    assert late(a_slice("n", gpus(2)), pods=3)[2] == "scale-up shortage"


def test_a_node_from_which_devices_went_away_is_not_late() -> None:
    rest = [a_class(), a_node("n", labels={"group": "g"}), a_group("g", gpus(2), size=1), *a_waiting("p")]
    row = pick(audited(*rest, a_slice("n", gpus(2)), then=[rest]), "p")
    assert row.verdict == "scale-up"
