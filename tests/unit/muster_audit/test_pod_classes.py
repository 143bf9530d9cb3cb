from muster_audit.pod_classes import is_pending, template_of
from support.audits import scene_of
from support.cluster_objects import Json, a_claim, a_class, a_node, a_pod, a_request, a_waiting


def classes(*objects: Json) -> list[list[str]]:
    return [[key.name for key in each.members] for each in scene_of(a_node(), a_class(), *objects)[1]]


def test_pods_that_differ_in_name_alone_are_one_class() -> None:
    assert classes(*a_waiting("a"), *a_waiting("b"), *a_waiting("c", a_request(count=2))) == [["a", "b"], ["c"]]


def test_what_decides_where_a_pod_can_go_tells_classes_apart() -> None:
    pods = [
        *a_waiting("a"),
        *a_waiting("b", cpu="2"),
        *a_waiting("c", nodeSelector={"x": "y"}),
        *a_waiting("d", tolerations=[{"operator": "Exists"}]),
        *a_waiting("e", namespace="team-b")[1:],
    ]
    assert [len(each) for each in classes(*pods)] == [1] * 5


def test_pods_of_one_claim_are_a_class_of_their_own() -> None:
    shared = [a_claim("one"), a_pod("a", "one"), a_pod("b", "one")]
    assert classes(*shared, *a_waiting("c")) == [["a", "b"], ["c"]]
    (pods, _) = scene_of(a_node(), a_class(), *shared, *a_waiting("c"))[1]
    assert pods.shared == {"one"}


def test_higher_priority_and_then_age_come_first() -> None:
    old, young, high = a_waiting("old"), a_waiting("young"), a_waiting("high", priority=5)
    for (_, pod), time in ((old, "2026-01-01T00:00:00Z"), (young, "2026-02-01T00:00:00Z")):
        pod["metadata"]["creationTimestamp"] = time  # pyright: ignore[reportIndexIssue] -- a map
    assert classes(*young, *old, *high) == [["high"], ["old", "young"]]


def test_bound_finished_and_leaving_pods_are_not_pending() -> None:
    leaving = a_pod("p")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"  # pyright: ignore[reportIndexIssue] -- a map
    pods = [a_pod("p"), a_pod("p", node="n"), a_pod("p", phase="Succeeded"), leaving]
    assert [is_pending(pod) for pod in pods] == [True, False, False, False]


def test_a_claim_that_was_made_for_a_pod_stands_by_its_name_in_the_template() -> None:
    made = {"resourceClaimStatuses": [{"name": "g", "resourceClaimName": "p-g-abc"}]}
    pod = a_pod("p", template="t", status=made)
    scene, _ = scene_of(a_node(), a_class(), a_claim("p-g-abc"), pod)
    template = template_of(pod, "x", scene.snapshot)
    assert template["template"]["spec"]["resourceClaims"] == [{"name": "g", "resourceClaimName": "p-g-abc"}]  # pyright: ignore[reportIndexIssue] -- a map
