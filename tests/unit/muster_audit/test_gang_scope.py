"""In a large cluster a gang is asked of the nodes that matter; the answers are those of the whole."""

import random

import pytest

from muster_audit.gang_planning import Members, Planning
from muster_audit.gang_scope import Scope
from muster_audit.gangs import Subject, pod_group_subjects
from muster_plan import Plan
from support.audits import scene_of
from support.cluster_objects import (
    Json,
    a_class,
    a_gang,
    a_group,
    a_node,
    a_pod,
    a_request,
    a_running,
    a_slice,
    a_template,
    gpus,
)

_NODES, _RACK, _DEVICES = 72, 6, 4


def cluster(seed: int, held: float, *, least: int, devices: int, key: str) -> list[Json]:
    rng = random.Random(seed)
    objects: list[Json] = [a_class(), a_template("some", a_request(count=devices)), a_gang("ring", least, key=key)]
    for number in range(_NODES):
        name = f"n{number:02}"
        objects += [a_node(name, labels={"rack": f"r{number // _RACK:02}"}), a_slice(name, gpus(_DEVICES))]
        for index in range(_DEVICES):
            if rng.random() < held:
                objects += a_running(f"b-{number}-{index}", f"gpu-{index}", node=name)
    objects += [a_pod(f"w{index}", template="some", gang="ring") for index in range(least)]
    return [*objects, a_group("new", gpus(_DEVICES), labels={"rack": "r00"}, most=3)]


def scope_of(objects: list[Json]) -> tuple[Scope, Planning, Subject]:
    scene, classes = scene_of(*objects)
    (subject,) = pod_group_subjects(classes, scene.cluster)
    assert isinstance(subject, Subject)
    planning = Planning.of(scene, scene.now.careful)
    return Scope.of(subject, planning, Members.of(subject, planning)), planning, subject


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("least", "devices", "held"), [(3, 2, 0.5), (4, 4, 0.6), (6, 3, 0.7)])
@pytest.mark.parametrize("key", ["rack", ""])
def test_the_answers_are_those_of_the_whole(seed: int, least: int, devices: int, held: float, key: str) -> None:
    scope, planning, subject = scope_of(cluster(seed, held, least=least, devices=devices, key=key))
    assert not scope.whole
    assert isinstance(scope.now(), Plan) == isinstance(planning.now(subject.gang), Plan)
    assert isinstance(scope.later(), Plan) == isinstance(planning.later(subject.gang), Plan)
    assert scope.empty() == planning.empty(subject.gang)


def test_a_small_cluster_and_a_gang_whose_pods_look_at_each_other_are_asked_as_a_whole() -> None:
    objects = cluster(0, 0.5, least=2, devices=1, key="rack")
    few = [each for each in objects if each["kind"] not in ("Node", "ResourceSlice") or "n0" in str(each["metadata"])]
    assert scope_of(few)[0].whole
    rule = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "kubernetes.io/hostname"}
    for each in objects:
        if each["kind"] == "Pod" and str(each["metadata"]["name"]).startswith("w"):  # pyright: ignore[reportIndexIssue] -- a map
            each["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}  # pyright: ignore[reportIndexIssue] -- a map
    assert scope_of(objects)[0].whole


def test_a_domain_that_cannot_hold_enough_is_not_asked() -> None:
    scope, _, _ = scope_of(cluster(1, 0.9, least=6, devices=4, key="rack"))
    assert all(each.most < scope.needed for each in scope.domains)
    assert not isinstance(scope.now(), Plan)


def test_more_devices_than_a_move_frees_cannot_be_gained() -> None:
    scope, _, _ = scope_of(cluster(1, 0.9, least=6, devices=4, key="rack"))
    most = max(each.most for each in scope.domains)
    assert not scope.could_gain(0, 0)
    assert scope.could_gain(0, 6)
    assert most < 6
