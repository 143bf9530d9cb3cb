"""Field trees: unknown fields are remarks with the nearest known name, wrong types are errors."""

from importlib.resources import files

import orjson
import pytest

from muster_kube import validate
from unit.muster_kube.builders import a_device, a_node, a_pod, a_slice, faults, remarks
from unit.muster_kube.derive_fields import derive


def test_the_committed_field_trees_are_those_of_the_kubernetes_client() -> None:
    committed = orjson.loads(files("muster_kube").joinpath("fields.json").read_bytes())
    assert committed == derive(), "run tests/unit/muster_kube/derive_fields.py > libs/muster_kube/fields.json"


def test_an_unknown_field_is_a_remark_that_names_the_nearest_known_one() -> None:
    obj = a_slice(a_device(attibutes={"model": {"string": "h100"}}))
    (problem,) = validate(obj)
    assert problem.field == "spec.devices[0].attibutes"
    assert "did you mean 'attributes'?" in problem.reason


def test_an_unknown_field_unlike_any_other_is_told_to_have_no_effect() -> None:
    (problem,) = validate(a_node(spec={"zzz": 1}))
    assert (problem.field, problem.reason) == ("spec.zzz", "unknown field; it has no effect; remove it")


@pytest.mark.parametrize(
    ("obj", "field"),
    [
        (a_node(metadata={"name": "n1", "labels": {"rack": 7}}), "metadata.labels[rack]"),
        (a_node(metadata={"name": "n1", "labels": {"on": True}}), "metadata.labels[on]"),
        (a_node(status={"allocatable": {"cpu": True}}), "status.allocatable[cpu]"),
        (a_node(status={"allocatable": {"cpu": "4 cores"}}), "status.allocatable[cpu]"),
        (a_node(status={"allocatable": {"memory": "80GB"}}), "status.allocatable[memory]"),
        (a_node(status={"allocatable": []}), "status.allocatable"),
        (a_node(spec={"taints": {"key": "x"}}), "spec.taints"),
        (a_node(spec={"unschedulable": "true"}), "spec.unschedulable"),
        (a_slice(a_device(attributes={"i": {"int": "4"}})), "spec.devices[0].attributes[i].int"),
        (a_slice(a_device(attributes={"i": {"int": 2**63}})), "spec.devices[0].attributes[i].int"),
        (a_slice(a_device(attributes={"i": {"int": 1.5}})), "spec.devices[0].attributes[i].int"),
        (a_slice(pool={"name": "n1", "generation": "1", "resourceSliceCount": 1}), "spec.pool.generation"),
        (a_slice(devices=[None]), "spec.devices[0]"),
        (a_pod(containers="main"), "spec.containers"),
    ],
)
def test_a_value_of_a_wrong_type_is_an_error_at_its_field(obj: dict[str, object], field: str) -> None:
    assert faults(obj) == [field]


@pytest.mark.parametrize("amount", ["4", "1500m", "2Ti", 4, 1.5, "1e3", "Gi"])
def test_a_quantity_is_text_or_a_number(amount: object) -> None:
    assert validate(a_node(status={"allocatable": {"cpu": amount}})) == []


def test_null_is_the_same_as_absent() -> None:
    assert remarks(a_node(spec=None, status={"conditions": None})) == []


def test_a_version_without_a_field_tree_is_taken_as_is() -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "podGroupTemplateRef": {"anything": 1}},
    }
    assert validate(group) == []


def test_free_form_fields_may_hold_anything_but_endless_nesting() -> None:
    nested: object = {}
    for _ in range(150):
        nested = {"a": nested}
    obj = {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "NodeGroup",
        "metadata": {"name": "g"},
        "spec": {"maxSize": 1, "driver": {"type": "simulated", "script": nested}},
    }
    assert faults(obj) == ["spec.driver.script"]
