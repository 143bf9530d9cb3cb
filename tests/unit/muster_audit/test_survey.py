from muster_audit.pod_classes import gang_of
from muster_audit.survey import Spot, any_of_all, has_affinities, wanted
from muster_dra import ResourceClaim, parse_claim
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


def spots(*objects: Json) -> list[Spot]:
    scene, (pods, *_) = scene_of(*objects)
    gang = gang_of("p", pods.namespace, "p", {pods.template: 1}, scene.snapshot)
    assert not isinstance(gang, InvalidGang)
    return scene.now.counted.survey(wanted(gang, scene.snapshot, scene.specs, affinities=scene.affinities))


def fleet(*names: str) -> list[Json]:
    return [a_class(), *(each for name in names for each in (a_node(name), a_slice(name, gpus(2))))]


def test_nodes_that_say_the_same_are_one_spot() -> None:
    found = spots(*fleet("a", "b", "c"), *a_running("r", "gpu-0", node="b"), *a_waiting("p", a_request(count=2)))
    assert [(each.places, each.fits) for each in found] == [((0, 2), True), ((1,), False)]


def test_a_barrier_a_short_resource_and_devices_are_told_apart() -> None:
    nodes = [a_node("tainted", taints=[{"key": "x", "effect": "NoSchedule"}]), a_node("small", cpu="0"), a_node("bare")]
    found = spots(a_class(), *nodes, a_slice("small", gpus(1)), *a_waiting("p"))
    told = {each.places: (each.barrier is not None, each.short is not None, each.open) for each in found}
    assert told == {(0,): (False, False, True), (1,): (False, True, False), (2,): (True, False, False)}


def test_an_extended_resource_is_served_by_the_node_or_by_devices() -> None:
    both = [a_node("devices"), a_slice("devices", gpus(2)), a_node("integers", **{"x.com/g": "2"})]
    served = a_class("c", 'device.driver == "gpu.example.com"', extended="x.com/g")
    found = spots(served, *both, a_pod("p", requests={"x.com/g": "1"}))
    assert {each.places: each.by_claim for each in found if each.fits} == {
        (0,): frozenset({"x.com/g"}),
        (1,): frozenset(),
    }


def test_occupants_matter_only_where_somebody_has_a_rule_about_others() -> None:
    rule = {"labelSelector": {}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}}
    objects = [*fleet("a", "b"), *a_running("r", "gpu-0", node="a", **apart), *a_waiting("p")]
    assert has_affinities(scene_of(*objects)[0].snapshot)
    assert [each.places for each in spots(*objects) if each.fits] == [(1,)]


def test_all_of_none_is_asked_again_for_one() -> None:
    every: ResourceClaim = parse_claim(a_claim("c", a_request(allocationMode="All")))
    (one,) = any_of_all([every])
    exactly = one.spec.requests[0].exactly
    assert exactly is not None
    assert (exactly.mode, exactly.count) == ("ExactCount", 1)
