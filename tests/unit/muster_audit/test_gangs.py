from muster_audit.gangs import (
    Subject,
    Unreadable,
    consumed_by,
    is_gang_member,
    linked,
    pod_group_subjects,
    request_subjects,
)
from support.audits import audited, pick, scene_of
from support.cluster_objects import Json, a_class, a_gang, a_node, a_pod, a_slice, a_template, an_object, gpus

FLEET = [a_node(), a_class(), a_slice(devices=gpus(2)), a_template("t")]
CONSUME = {"autoscaling.x-k8s.io/consume-provisioning-request": "r"}


def a_request_for(count: int) -> list[Json]:
    made = an_object("v1", "PodTemplate", "pt", "team-a", template={"spec": a_pod("x", template="t")["spec"]})
    spec = {"provisioningClassName": "c", "podSets": [{"podTemplateRef": {"name": "pt"}, "count": count}]}
    return [made, an_object("autoscaling.x-k8s.io/v1", "ProvisioningRequest", "r", "team-a", spec=spec)]


def test_a_gang_counts_its_running_pending_and_missing_members() -> None:
    pods = [a_pod("a", template="t", gang="ring"), a_pod("b", gang="ring", node="node-a")]
    scene, classes = scene_of(*FLEET, a_gang("ring", 4), *pods)
    (subject,) = pod_group_subjects(classes, scene.cluster)
    assert isinstance(subject, Subject)
    assert (subject.running, subject.wanted, subject.missing, subject.repairs) == (1, 4, 2, True)


def test_pods_of_a_group_without_a_minimum_stand_for_themselves() -> None:
    basic = a_gang("loose", 1)
    basic["spec"] = {"schedulingPolicy": {"basic": {}}}
    scene, classes = scene_of(*FLEET, basic, a_pod("a", template="t", gang="loose"))
    assert not any(is_gang_member(each, scene.cluster) for each in classes)


def test_a_gang_whose_claims_are_absent_is_unreadable_with_its_members() -> None:
    scene, classes = scene_of(*FLEET, a_gang("ring", 1), a_pod("a", template="nowhere", gang="ring"))
    (subject,) = pod_group_subjects(classes, scene.cluster)
    assert isinstance(subject, Unreadable)
    assert [each.name for each in subject.members] == ["a"]


def test_a_gang_whose_pods_consume_a_request_leaves_the_order_to_it() -> None:
    pods = [a_pod(f"w{index}", template="t", gang="ring", annotations=CONSUME) for index in range(3)]
    objects = [*FLEET, a_gang("ring", 3), *pods, *a_request_for(3)]
    scene, classes = scene_of(*objects)
    requests = request_subjects(classes, scene.cluster)
    (subject,) = linked(pod_group_subjects(classes, scene.cluster), requests)
    assert isinstance(subject, Subject)
    assert str(subject.ordered_by) == "ProvisioningRequest/team-a/r"
    assert "its capacity is ordered by ProvisioningRequest/team-a/r" in pick(audited(*objects), "ring").why


def test_both_annotations_of_a_consumer_are_read() -> None:
    assert consumed_by(CONSUME) == "r"
    assert consumed_by({"cluster-autoscaler.kubernetes.io/consume-provisioning-request": "old"}) == "old"
    assert consumed_by({}) == ""
