from support.audits import row_of
from support.cluster_objects import Json, a_node, a_pod

ZONES = [a_node("a", labels={"zone": "z1"}), a_node("b", labels={"zone": "z2"})]


def spread(**rule: object) -> Json:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
        **rule,
    }
    pod = a_pod("p", topologySpreadConstraints=[constraint])
    pod["metadata"]["labels"] = {"app": "x"}  # pyright: ignore[reportIndexIssue] -- a map
    return pod


def running(name: str, node: str) -> Json:
    pod = a_pod(name, node=node)
    pod["metadata"]["labels"] = {"app": "x"}  # pyright: ignore[reportIndexIssue] -- a map
    return pod


def test_a_pod_goes_where_its_spread_is_kept() -> None:
    assert row_of("p", *ZONES, running("r", "a"), spread()).node == "b"


def test_nodes_without_the_label_are_no_domain() -> None:
    row = row_of("p", a_node("c"), spread())
    assert (row.verdict, "a node without label zone" in row.why) == ("infeasible", True)


def test_too_few_domains_count_as_empty_ones() -> None:
    row = row_of("p", ZONES[0], running("r", "a"), spread(minDomains=2))
    assert (row.reason, "would exceed its topology spread" in row.why) == ("topology-mismatch", True)


def test_pods_that_the_rule_does_not_select_do_not_count() -> None:
    assert row_of("p", *ZONES, a_pod("r", node="a"), spread()).verdict == "feasible"
