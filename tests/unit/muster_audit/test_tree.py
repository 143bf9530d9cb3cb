from muster_audit import Branch, Cluster, Dump, Explanation, audit_cluster, explain_pod
from support.cluster_objects import (
    GPU,
    Json,
    a_class,
    a_group,
    a_node,
    a_pod,
    a_request,
    a_running,
    a_slice,
    a_waiting,
    gpus,
)


def explained(name: str, *objects: Json) -> Explanation | None:
    cluster = Cluster.from_dumps([Dump(objects)])
    return explain_pod(cluster, audit_cluster(cluster), "team-a", name)


def lines(branch: Branch, depth: int = 0) -> list[str]:
    mark = {True: "+", False: "-", None: " "}[branch.fits]
    return [
        f"{'  ' * depth}{mark}{branch.text}",
        *(line for each in branch.children for line in lines(each, depth + 1)),
    ]


FLEET = [a_node(), a_node("node-b"), a_class(), a_slice(devices=gpus(1)), a_slice("node-b", gpus(1))]


def test_the_tree_goes_from_the_verdict_down_to_each_device() -> None:
    found = explained("p", *FLEET, *a_running("r", "gpu-0", node="node-b"), *a_waiting("p"), a_group("g", gpus(1)))
    assert found is not None
    text = "\n".join(lines(found.tree))
    assert "+Pod/team-a/p: feasible on node-a" in text
    assert f"request g: 1 device of class {GPU}" in text
    assert "+node-a: fits" in text
    assert "      +gpu-0: free" in text
    assert "-node-b: shortage" in text
    assert "-gpu-0: held by claim team-a/r (pod r)" in text
    assert "+group g: a new node would take it; room for 4" in text


def test_a_pool_that_cannot_be_used_says_why() -> None:
    found = explained("p", a_node(), a_class(), a_slice(devices=gpus(1), count=2), *a_waiting("p"))
    assert found is not None
    assert any("half updated: 1 of 2 slices" in line for line in lines(found.tree))


def test_without_groups_nothing_can_be_asked_for() -> None:
    found = explained("p", *FLEET, *a_waiting("p", a_request(count=2)))
    assert found is not None
    assert any("no node group" in line for line in lines(found.tree))


def test_a_pod_whose_claim_is_absent_and_one_that_runs_are_explained_too() -> None:
    absent = explained("p", *FLEET, a_pod("p", "nowhere"))
    assert absent is not None
    assert "ResourceClaim team-a/nowhere not found" in absent.tree.children[0].text
    running = explained("r", *FLEET, *a_running("r", "gpu-0"))
    assert running is not None
    assert running.tree.fits


def test_a_pod_that_is_not_there_has_no_explanation() -> None:
    assert explained("p", *FLEET) is None


def test_as_json_it_is_the_row_in_depth_with_the_tree() -> None:
    found = explained("p", *FLEET, *a_waiting("p"))
    assert found is not None
    document = found.to_json()
    assert (document["subject"], document["scale_up"]) == ("Pod/team-a/p", "")
    assert set(document) >= {"tree", "on", "remedy"}
