import pytest

from support.audits import row_of
from support.cluster_objects import GPU, Json, a_class, a_node, a_request, a_running, a_slice, a_waiting, gpus

TAINTED = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("node", "reason", "words"),
    [
        (a_node(taints=[TAINTED]), "taint", "taint dedicated=x:NoSchedule is not tolerated"),
        (a_node(cordoned=True), "taint", "the node is cordoned"),
        (a_node(ready=False), "no-inventory", "the node is not ready"),
        (a_node(cpu="0"), "shortage", "1 cpu wanted, 0 of 0 left"),
        (a_node(labels={"pool": "b"}), "selector-mismatch", "pool"),
    ],
)
def test_what_keeps_a_pod_off_the_only_node(node: Json, reason: str, words: str) -> None:
    selector = {"nodeSelector": {"pool": "a"}} if reason == "selector-mismatch" else {}
    row = row_of("p", node, a_class(), a_slice(devices=gpus(1)), *a_waiting("p", **selector))
    assert (row.reason, words in row.why) == (reason, True)


def test_the_nearest_node_gives_the_reason() -> None:
    fleet = [a_node("far"), a_node("near"), a_class(), a_slice("far", gpus(1)), a_slice("near", gpus(4))]
    held = a_running("r", "gpu-0", node="near")
    row = row_of("p", *fleet, *held, *a_waiting("p", a_request(count=4)))
    assert row.why == "4 free, largest free set on one node is 3, 4 wanted; held by claim team-a/r (pod r)"
    assert row.remedy == "move claim team-a/r (pod r) from near to far, then near takes the pod"


def test_nodes_that_say_the_same_are_one_answer_and_few_nodes_are_listed() -> None:
    fleet = [each for name in ("a", "b") for each in (a_node(name), a_slice(name, gpus(1)))]
    row = row_of("p", a_class(), *fleet, *a_waiting("p", a_request(count=2)))
    assert [each.nodes for each in row.on] == [("a", "b")]
    assert row.on[0].to_json()["verdict"] == "infeasible"


def test_a_node_that_lost_its_slice_says_so_before_all_others() -> None:
    objects = [
        a_node(),
        a_node("b"),
        a_class(),
        a_slice("b", gpus(1)),
        *a_running("r", "gpu-0", node="b"),
        *a_waiting("p"),
    ]
    row = row_of("p", *objects, a_slice(devices=gpus(1)), then=[objects])
    assert (row.reason, f"node-a: slice of {GPU} deleted at dump 2" in row.why) == ("no-inventory", True)
