from muster_audit.pod_classes import gang_of
from muster_audit.scene import Scene
from muster_audit.seating import Domains, Promises, Table, seat
from muster_audit.survey import Wanted, wanted
from muster_dra import AllocatedState
from muster_plan import InvalidGang
from support.audits import scene_of
from support.cluster_objects import (
    Json,
    a_claim,
    a_class,
    a_node,
    a_pod,
    a_request,
    a_running,
    a_slice,
    a_waiting,
    gpus,
)


def fleet(*sizes: int) -> list[Json]:
    named = [(f"n{index}", size) for index, size in enumerate(sizes)]
    return [a_class(), *(each for name, size in named for each in (a_node(name), a_slice(name, gpus(size))))]


def put(*objects: Json) -> tuple[Scene, Wanted]:
    scene, (pods, *_) = scene_of(*objects)
    gang = gang_of("p", pods.namespace, "p", {pods.template: 1}, scene.snapshot)
    assert not isinstance(gang, InvalidGang)
    return scene, wanted(gang, scene.snapshot, scene.specs, affinities=False, shared_claims=pods.shared)


def nodes(count: int, *objects: Json) -> list[str]:
    scene, pod = put(*objects)
    surveyor = scene.now.counted
    table = Table(surveyor.fleet.allocated)
    return [
        each.node for each in seat(count, pod, surveyor.survey(pod), surveyor, scene.physical, table, scene.domains)
    ]


def test_pods_are_seated_one_after_the_other_until_nothing_is_left() -> None:
    assert nodes(9, *fleet(2, 1), *a_waiting("p")) == ["n1", "n0", "n0"]
    assert nodes(2, *fleet(4, 1), *a_waiting("p", a_request(count=2))) == ["n0", "n0"]


def test_the_fullest_node_comes_first() -> None:
    assert nodes(1, *fleet(3, 3), *a_running("r", "gpu-0", node="n1"), *a_waiting("p")) == ["n1"]


def test_pods_of_one_claim_stay_where_it_is() -> None:
    assert nodes(3, *fleet(1, 1), a_claim("c"), a_pod("a", "c"), a_pod("b", "c")) == ["n0", "n0", "n0"]


def test_hardware_that_a_seat_uses_under_another_name_is_blocked() -> None:
    twins = [
        a_slice("n0", [{"name": "a", "attributes": {"uuid": {"string": "U"}}}], name=name, pool=name) for name in "xy"
    ]
    assert nodes(2, a_class(), a_node("n0"), *twins, *a_waiting("p")) == ["n0"]


def test_domains_that_nobody_uses_are_untouched() -> None:
    named = [a_node(name, labels={"rack": rack}) for name, rack in (("a", "r0"), ("b", "r0"), ("c", "r1"))]
    slices = [a_slice(name, gpus(1)) for name in "abc"]
    scene, _ = put(a_class(), *named, *slices, *a_running("r", "gpu-0", node="a"), *a_waiting("p"))
    fleet_ = scene.now.counted.fleet
    assert [Domains(fleet_).untouched(node) for node in fleet_.nodes] == [0, 0, 1]


def test_promises_remember_who_was_given_what() -> None:
    scene, pod = put(*fleet(1), *a_waiting("p"))
    promises = Promises(AllocatedState.empty())
    table = promises.table()
    surveyor = scene.now.counted
    (one,) = seat(1, pod, surveyor.survey(pod), surveyor, None, table, scene.domains)
    promises.keep(table, [("Pod/a/b", one.results)])
    assert promises.rivals(one.results) == ("Pod/a/b",)
