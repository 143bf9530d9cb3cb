"""ResourceSlice rules, row by row of dra-semantics §1.2 to §1.7."""

import pytest

from unit.muster_kube.builders import Json, a_device, a_slice, faults, remarks

COUNTER = {"name": "gpu-0", "counters": {"memory": {"value": "40Gi"}}}
USES = {"counterSet": "gpu-0", "counters": {"memory": {"value": "20Gi"}}}
NODES = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1"]}]}]}


def _devices(count: int, **fields: object) -> list[Json]:
    return [a_device(f"gpu-{index}", **fields) for index in range(count)]


def _capacity(value: object = "8", **policy: object) -> Json:
    capacity: Json = {"value": value, **({"requestPolicy": policy} if policy else {})}
    return a_slice(a_device(capacity={"bandwidth": capacity}, allowMultipleAllocations=True))


@pytest.mark.parametrize(
    "obj",
    [
        a_slice(),
        a_slice(*_devices(128)),
        a_slice(*_devices(64, taints=[{"key": "k", "effect": "NoSchedule"}])),
        a_slice(nodeName=None, allNodes=True),
        a_slice(nodeName=None, nodeSelector=NODES),
        a_slice(a_device(nodeName="n1"), nodeName=None, perDeviceNodeSelection=True),
        a_slice(a_device(allNodes=True), nodeName=None, perDeviceNodeSelection=True),
        a_slice(devices=[], sharedCounters=[COUNTER]),
        a_slice(devices=None, sharedCounters=[{**COUNTER, "name": f"set-{index}"} for index in range(8)]),
        a_slice(a_device(consumesCounters=[USES])),
        a_slice(a_device(attributes={"a.example.com/x": {"version": "1.0.0-rc.1+b.2"}, "y": {"bool": False}})),
        a_slice(a_device(attributes={f"a{index}": {"int": index} for index in range(32)})),
        a_slice(a_device(attributes={"roots": {"strings": ["a", "b"]}})),
        a_slice(pool={"name": "a.b/c", "generation": 0, "resourceSliceCount": 3}),
        a_slice(a_device(bindingConditions=["example.com/ready"], bindingFailureConditions=["a", "b", "c", "d"])),
        _capacity(),
        _capacity("8", default="2", validRange={"min": "2", "max": "6", "step": "2"}),
        _capacity("8", default="1", validValues=["1", "2", "3"]),
        _capacity("8", default="-1", validRange={"min": "-1"}),
    ],
)
def test_a_sound_slice_has_no_problem(obj: Json) -> None:
    assert remarks(obj) == []


@pytest.mark.parametrize(
    ("obj", "field"),
    [
        (a_slice(name="N1"), "metadata.name"),
        (a_slice(driver=""), "spec.driver"),
        (a_slice(driver="gpu_example"), "spec.driver"),
        (a_slice(driver="a" * 64), "spec.driver"),
        (a_slice(pool={"generation": 1, "resourceSliceCount": 1}), "spec.pool.name"),
        (a_slice(pool={"name": "a//b", "generation": 1, "resourceSliceCount": 1}), "spec.pool.name"),
        (a_slice(pool={"name": "n", "generation": -1, "resourceSliceCount": 1}), "spec.pool.generation"),
        (a_slice(pool={"name": "n", "generation": 1, "resourceSliceCount": 0}), "spec.pool.resourceSliceCount"),
        (a_slice(pool={"name": "n", "generation": 1}), "spec.pool.resourceSliceCount"),
        (a_slice(nodeName=None), "spec"),
        (a_slice(allNodes=True), "spec"),
        (a_slice(nodeName="N_1"), "spec.nodeName"),
        (a_slice(nodeName=None, nodeSelector={"nodeSelectorTerms": []}), "spec.nodeSelector.nodeSelectorTerms"),
        (
            a_slice(nodeName=None, nodeSelector={"nodeSelectorTerms": [*NODES["nodeSelectorTerms"]] * 2}),
            "spec.nodeSelector.nodeSelectorTerms",
        ),
        (a_slice(*_devices(129)), "spec.devices"),
        (a_slice(*_devices(65, taints=[{"key": "k", "effect": "NoSchedule"}])), "spec.devices"),
        (a_slice(*_devices(65, consumesCounters=[USES])), "spec.devices"),
        (a_slice(*_devices(65, attributes={"l": {"ints": [1]}})), "spec.devices"),
        (a_slice(sharedCounters=[COUNTER]), "spec.sharedCounters"),
        (
            a_slice(devices=None, sharedCounters=[{**COUNTER, "name": f"set-{index}"} for index in range(9)]),
            "spec.sharedCounters",
        ),
        (a_slice(devices=None, sharedCounters=[COUNTER, COUNTER]), "spec.sharedCounters"),
        (a_slice(devices=None, sharedCounters=[{"name": "s", "counters": {}}]), "spec.sharedCounters[0].counters"),
        (
            a_slice(
                devices=None, sharedCounters=[{"name": "s", "counters": {f"c{i}": {"value": "1"} for i in range(33)}}]
            ),
            "spec.sharedCounters[0].counters",
        ),
        (
            a_slice(devices=None, sharedCounters=[{"name": "s", "counters": {"C": {"value": "1"}}}]),
            "spec.sharedCounters[0].counters[C]",
        ),
        (
            a_slice(devices=None, sharedCounters=[{"name": "s", "counters": {"c": {}}}]),
            "spec.sharedCounters[0].counters[c].value",
        ),
        (a_slice(a_device("gpu_0")), "spec.devices[0].name"),
        (a_slice(a_device(), a_device()), "spec.devices"),
        (a_slice(a_device(attributes={f"a{index}": {"int": index} for index in range(33)})), "spec.devices[0]"),
        (
            a_slice(a_device(attributes={f"a{index}": {"ints": [1, 2, 3, 4, 5]} for index in range(10)})),
            "spec.devices[0].attributes",
        ),
        (a_slice(a_device(attributes={"a-b": {"int": 1}})), "spec.devices[0].attributes[a-b]"),
        (a_slice(a_device(attributes={"a" * 33: {"int": 1}})), f"spec.devices[0].attributes[{'a' * 33}]"),
        (a_slice(a_device(attributes={"A_/x": {"int": 1}})), "spec.devices[0].attributes[A_/x]"),
        (a_slice(a_device(attributes={"x": {}})), "spec.devices[0].attributes[x]"),
        (a_slice(a_device(attributes={"x": {"int": 1, "bool": True}})), "spec.devices[0].attributes[x]"),
        (a_slice(a_device(attributes={"x": {"string": "s" * 65}})), "spec.devices[0].attributes[x].string"),
        (a_slice(a_device(attributes={"x": {"version": "v1.0.0"}})), "spec.devices[0].attributes[x].version"),
        (a_slice(a_device(attributes={"x": {"version": "1.0"}})), "spec.devices[0].attributes[x].version"),
        (a_slice(a_device(attributes={"x": {"version": "6.19.14.314"}})), "spec.devices[0].attributes[x].version"),
        (a_slice(a_device(attributes={"x": {"ints": []}})), "spec.devices[0].attributes[x].ints"),
        (a_slice(a_device(attributes={"x": {"strings": ["a", "b" * 65]}})), "spec.devices[0].attributes[x].strings[1]"),
        (a_slice(a_device(capacity={"memory": {}})), "spec.devices[0].capacity[memory].value"),
        (a_slice(a_device(capacity={"a b": {"value": "1"}})), "spec.devices[0].capacity[a b]"),
        (a_slice(a_device(capacity={"m": {"value": "1K"}})), "spec.devices[0].capacity[m].value"),
        (
            a_slice(a_device(capacity={"m": {"value": "1", "requestPolicy": {"default": "1"}}})),
            "spec.devices[0].capacity[m].requestPolicy",
        ),
        (
            a_slice(a_device(consumesCounters=[{**USES, "counterSet": s} for s in "abc"])),
            "spec.devices[0].consumesCounters",
        ),
        (a_slice(a_device(consumesCounters=[USES, USES])), "spec.devices[0].consumesCounters"),
        (
            a_slice(a_device(consumesCounters=[{"counters": USES["counters"]}])),
            "spec.devices[0].consumesCounters[0].counterSet",
        ),
        (a_slice(a_device(taints=[{"key": f"k{i}", "effect": "None"} for i in range(17)])), "spec.devices[0].taints"),
        (a_slice(a_device(taints=[{"key": "", "effect": "NoSchedule"}])), "spec.devices[0].taints[0].key"),
        (a_slice(a_device(taints=[{"key": "k"}])), "spec.devices[0].taints[0].effect"),
        (a_slice(a_device(bindingConditions=list("abcde"))), "spec.devices[0].bindingConditions"),
        (a_slice(a_device(nodeName="n1")), "spec.devices[0].nodeName"),
        (a_slice(nodeName=None, perDeviceNodeSelection=True), "spec.devices[0]"),
        (a_slice(a_device(nodeName="n", allNodes=True), nodeName=None, perDeviceNodeSelection=True), "spec.devices[0]"),
        (
            _capacity("8", default="2", validValues=["2"], validRange={"min": "2"}),
            "spec.devices[0].capacity[bandwidth].requestPolicy",
        ),
        (_capacity("8", validValues=["2"]), "spec.devices[0].capacity[bandwidth].requestPolicy.default"),
        (
            _capacity("8", default="2", validValues=["3", "2"]),
            "spec.devices[0].capacity[bandwidth].requestPolicy.validValues",
        ),
        (_capacity("8", default="2", validValues=["1"]), "spec.devices[0].capacity[bandwidth].requestPolicy.default"),
        (
            _capacity("8", default="9", validRange={"min": "9"}),
            "spec.devices[0].capacity[bandwidth].requestPolicy.validRange.min",
        ),
        (
            _capacity("8", default="2", validRange={"min": "2", "max": "9"}),
            "spec.devices[0].capacity[bandwidth].requestPolicy.validRange.max",
        ),
        (
            _capacity("8", default="2", validRange={"min": "2", "step": "0"}),
            "spec.devices[0].capacity[bandwidth].requestPolicy.validRange.step",
        ),
        (
            _capacity("8", default="2", validRange={"min": "2", "step": "7"}),
            "spec.devices[0].capacity[bandwidth].requestPolicy.validRange.step",
        ),
        (
            _capacity("8", default="2", validRange={"min": "2", "max": "5", "step": "2"}),
            "spec.devices[0].capacity[bandwidth].requestPolicy.validRange.max",
        ),
        (
            _capacity("8", default="3", validRange={"min": "2", "step": "2"}),
            "spec.devices[0].capacity[bandwidth].requestPolicy.default",
        ),
        (
            _capacity("8", default="1", validRange={"min": "2"}),
            "spec.devices[0].capacity[bandwidth].requestPolicy.default",
        ),
    ],
)
def test_a_broken_rule_is_told_at_its_field(obj: Json, field: str) -> None:
    assert field in faults(obj)


def test_a_taint_effect_of_a_later_release_is_a_remark() -> None:
    assert remarks(a_slice(a_device(taints=[{"key": "k", "effect": "NoSharing"}]))) == [
        "spec.devices[0].taints[0].effect"
    ]


def test_an_attribute_of_a_later_type_is_a_remark_and_kept() -> None:
    assert remarks(a_slice(a_device(attributes={"x": {"duration": "1h"}}))) == [
        "spec.devices[0].attributes[x].duration"
    ]


def test_the_flat_device_of_v1beta1_is_judged_under_basic() -> None:
    device = {"name": "gpu-0", "basic": {"attributes": {"v": {"version": "x"}}}}
    obj = a_slice(device, api_version="resource.k8s.io/v1beta1", allNodes=False)
    assert faults(obj) == ["spec.devices[0].basic.attributes[v].version"]


def test_in_v1beta1_an_empty_node_name_is_the_same_as_none() -> None:
    device = {"name": "gpu-0", "basic": {}}
    assert remarks(a_slice(device, api_version="resource.k8s.io/v1beta1", nodeName="", allNodes=True)) == []
    assert faults(a_slice(nodeName="", allNodes=True)) == ["spec.nodeName"]
