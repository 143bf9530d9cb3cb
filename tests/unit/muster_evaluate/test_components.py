"""Which programmes run here, and where their settings were read."""

import pytest

from muster_evaluate import Part, Version, find_components
from muster_evaluate.components import parse_version
from support.cluster_objects import a_pod, an_object
from unit.muster_evaluate.clusters import (
    a_config,
    a_karpenter,
    a_kueue,
    a_programme,
    a_scheduler,
    an_autoscaler,
    with_metadata,
)


def test_each_programme_is_known_by_its_image_with_the_version_of_its_tag() -> None:
    found = find_components([a_scheduler(), an_autoscaler(), a_karpenter(), a_kueue()], ())
    assert {each.part: str(each.version) for each in found} == {
        Part.SCHEDULER: "1.37",
        Part.AUTOSCALER: "1.36",
        Part.KARPENTER: "1.14",
        Part.KUEUE: "0.19",
    }


@pytest.mark.parametrize(
    "image",
    ["registry.k8s.io/kueue/kueueviz-backend:v0.19.0", "registry.example.com/my-kueue:1", "nginx:1.27"],
)
def test_a_programme_of_a_similar_name_is_another(image: str) -> None:
    assert find_components([a_programme("any", image)], ()) == ()


def test_a_mirrored_image_is_known_by_the_command_or_the_label() -> None:
    by_command = a_programme("s", "registry.example.com/x@sha256:00", command=["/usr/bin/kube-scheduler"], kind="Pod")
    by_label = a_programme("k", "registry.example.com/y@sha256:00")
    labels = {"app.kubernetes.io/name": "karpenter", "app.kubernetes.io/version": "1.13.2"}
    by_label = with_metadata(by_label, labels=labels)
    found = find_components([by_command, by_label], ())
    assert [(each.part, each.version) for each in found] == [
        (Part.KARPENTER, Version(1, 13)),
        (Part.SCHEDULER, None),
    ]
    assert found[0].version_where.field == "metadata.labels[app.kubernetes.io/version]"


def test_flags_are_read_in_every_spelling_with_the_field_they_stand_in() -> None:
    (found,) = find_components(
        [an_autoscaler("v1.36.0", "--expander=price", "--max-nodes-total", "50", "--balance-similar-node-groups")], ()
    )
    assert {name: each.value for name, each in found.flags.items()} == {
        "expander": "price",
        "max-nodes-total": "50",
        "balance-similar-node-groups": "true",
    }
    assert str(found.flags["expander"].where) == (
        "Deployment/kube-system/cluster-autoscaler spec.template.spec.containers[0].args --expander"
    )


def test_gates_given_in_parts_are_joined_and_those_of_files_and_environment_are_read() -> None:
    scheduler = a_programme("s", "kube-scheduler:v1.37.0", "--feature-gates=A=true", "--feature-gates=B=false,C=true")
    karpenter = a_karpenter(env=[{"name": "FEATURE_GATES", "value": "NodeRepair=true,SpotToSpot=false"}])
    file = a_config("Configuration", {"featureGates": {"TopologyAwareScheduling": False}})
    found = {each.part: each for each in find_components([scheduler, karpenter, a_kueue()], [file])}
    assert {name: each.on for name, each in found[Part.SCHEDULER].gates.items()} == {"A": True, "B": False, "C": True}
    assert found[Part.KARPENTER].gates["NodeRepair"].on
    gate = found[Part.KUEUE].gates["TopologyAwareScheduling"]
    assert (gate.on, str(gate.where)) == (False, "ConfigMap/kube-system/config data[config.yaml] featureGates")


def test_pods_of_a_workload_that_is_there_are_not_counted_again_and_finished_ones_never() -> None:
    owners = [{"kind": "ReplicaSet", "name": "cluster-autoscaler-1"}]
    pod = a_programme("cluster-autoscaler-x", "cluster-autoscaler:v1.36.1", kind="Pod")
    pod = with_metadata(pod, ownerReferences=owners)
    assert len(find_components([an_autoscaler(), pod], ())) == 1
    assert [each.where.object for each in find_components([pod], ())] == ["Pod/kube-system/cluster-autoscaler-x"]
    ended = {**pod, "status": {"phase": "Succeeded"}}
    assert find_components([ended], ()) == ()


def test_the_oldest_of_several_schedulers_comes_first() -> None:
    newer, older = a_scheduler("v1.37.0"), with_metadata(a_scheduler("v1.36.2"), name="kube-scheduler-cp-2")
    assert [str(each.version) for each in find_components([newer, older], ())] == ["1.36", "1.37"]


def test_objects_of_other_kinds_and_of_odd_form_are_passed_over() -> None:
    odd = an_object("apps/v1", "Deployment", "odd", "x", spec={"template": {"spec": {"containers": "none"}}})
    assert find_components([odd, a_pod("work"), {"kind": "Pod"}], ()) == ()


@pytest.mark.parametrize(
    ("written", "version"),
    [("v1.36.2", "1.36"), ("chart-0.19.1", "0.19"), ("v1.33.1-eks-1", "1.33"), ("latest", "None"), ("", "None")],
)
def test_versions_are_read_from_tags_and_labels(written: str, version: str) -> None:
    assert str(parse_version(written)) == version
