import pytest

from muster_audit.growth import growth
from muster_audit.pod_classes import gang_of
from muster_audit.survey import wanted
from muster_plan import InvalidGang
from support.audits import scene_of
from support.cluster_objects import Json, a_class, a_group, a_request, a_template, a_waiting, gpus


def grown(pods: int, *objects: Json) -> tuple[list[tuple[str, int, int]], dict[str, str]]:
    """Options with what a node takes and the nodes for all pods; reasons of the groups that do not serve."""
    scene, (first, *_) = scene_of(a_class(), *objects)
    gang = gang_of("p", first.namespace, "p", {first.template: 1}, scene.snapshot)
    assert not isinstance(gang, InvalidGang)
    pod = wanted(gang, scene.snapshot, scene.specs, affinities=False)
    found = growth(pod, pods, scene.potentials, scene.snapshot, scene.cluster.learned)
    options = [(each.name, each.per_node, each.nodes_for(pods)) for each in found.options]
    return options, {each.group.name: each.cause.value for each in found.unfit}


def test_the_cheapest_group_for_all_pods_comes_first() -> None:
    groups = [a_group("large", gpus(8), price=3), a_group("small", gpus(2), price=1)]
    assert grown(8, *a_waiting("p"), *groups)[0] == [("large", 8, 1), ("small", 2, 4)]
    assert grown(2, *a_waiting("p"), *groups)[0][0][0] == "small"


def test_units_are_added_whole() -> None:
    assert grown(3, *a_waiting("p"), a_group("g", gpus(2), atomicUnit=4, most=8))[0] == [("g", 2, 4)]


@pytest.mark.parametrize(
    ("group", "cause"),
    [
        (a_group("g"), "template-missing"),
        (a_group("g", gpus(1)), "topology-mismatch"),
        (a_group("g", gpus(2), template={"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}), "taint"),
        (a_group("g", gpus(2), template={"status": {"allocatable": {"cpu": "0", "pods": "9"}}}), "shortage"),
        (a_group("g", gpus(2), driver="other.example.com"), "no-inventory"),
    ],
)
def test_why_a_group_does_not_serve(group: Json, cause: str) -> None:
    assert grown(1, *a_waiting("p", a_request(count=2)), group) == ([], {"g": cause})


def test_what_daemon_pods_take_is_not_there() -> None:
    daemon = {"spec": {"containers": [], "resourceClaims": [{"name": "d", "resourceClaimTemplateName": "one"}]}}
    daemon["metadata"] = {"name": "d", "namespace": "team-a"}
    group = a_group("g", gpus(2), template={"daemonPods": [daemon]})
    one = a_template("one")
    assert grown(1, *a_waiting("p"), one, group)[0] == [("g", 1, 1)]
    assert grown(1, *a_waiting("p", a_request(count=2)), one, group)[0] == []
