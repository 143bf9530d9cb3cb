from muster_audit.grounds import Grounds
from muster_audit.misses import misses
from muster_audit.pod_classes import gang_of
from muster_audit.survey import wanted
from muster_plan import InvalidGang
from support.audits import scene_of
from support.cluster_objects import GPU, Json, a_class, a_node, a_request, a_running, a_slice, a_waiting, gpus


def grounds(*objects: Json) -> Grounds:
    scene, (pods,) = scene_of(*objects)
    gang = gang_of("p", pods.namespace, "p", {pods.template: 1}, scene.snapshot)
    assert not isinstance(gang, InvalidGang)
    pod = wanted(gang, scene.snapshot, scene.specs, affinities=False)
    surveyor = scene.now.counted
    spots = surveyor.survey(pod)
    found = misses(pod, spots, surveyor, surveyor.fleet.allocated, scene.cluster)
    return Grounds(pod, spots, found, surveyor.fleet, surveyor.fleet.allocated, scene)


def test_whether_an_empty_node_would_take_the_pod() -> None:
    fleet = [a_node(), a_class(), a_slice(devices=gpus(2)), *a_running("r", "gpu-0")]
    assert grounds(*fleet, *a_waiting("p", a_request(count=2))).fits_empty()
    assert not grounds(*fleet, *a_waiting("p", a_request(count=3))).fits_empty()


def test_where_and_which_drivers() -> None:
    one = grounds(a_node(), a_class(), a_slice(devices=gpus(1)), *a_waiting("p", a_request(count=2)))
    nearest = one.found.nearest
    assert nearest is not None
    assert (one.where(nearest), one.drivers(), one.mode()) == ("node-a: ", {GPU}, frozenset())
