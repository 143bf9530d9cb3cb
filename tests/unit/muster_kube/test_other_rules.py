# ruff: noqa: E501 -- a row of a table stays on its line
"""Rules of claims, classes, taint rules, pods, nodes, requests and groups."""

import pytest

from unit.muster_kube.builders import (
    Json,
    a_claim,
    a_class,
    a_device,
    a_node,
    a_node_group,
    a_pod,
    a_request,
    a_request_for_capacity,
    faults,
    remarks,
)

CEL = {"cel": {"expression": 'device.driver == "gpu.example.com"'}}
FIRST = {"name": "any", "firstAvailable": [{"name": "big", "deviceClassName": "gpu"}]}


def _taint_rule(**selector: object) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "t"},
        "spec": {"deviceSelector": selector, "taint": {"key": "k", "effect": "NoSchedule"}},
    }


def _pod_group(**spec: object) -> Json:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "team"},
        "spec": spec,
    }


def _template(spec: object) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": "t", "namespace": "team"},
        "template": {"metadata": {"labels": {"app": "x"}}, "spec": spec},
    }


def _slice_template(**spec: object) -> Json:
    return {"driver": "gpu.example.com", "devices": [a_device()], **spec}


def _allocated(**result: object) -> Json:
    results = [{"request": "gpu", "driver": "gpu.example.com", "pool": "n1", "device": "gpu-0", **result}]
    return a_claim(status={"allocation": {"devices": {"results": results}}})


@pytest.mark.parametrize(
    "obj",
    [
        a_claim(),
        a_claim(a_request(selectors=[CEL], count=4, tolerations=[{"operator": "Exists"}])),
        a_claim(FIRST, constraints=[{"requests": ["any/big"], "matchAttribute": "gpu.example.com/numa"}]),
        a_claim(
            a_request("a"), a_request("b"), constraints=[{"distinctAttribute": "d/x"}], config=[{"requests": ["a"]}]
        ),
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": {}},
        _allocated(),
        _allocated(request="gpu/big"),
        a_class(selectors=[CEL], extendedResourceName="nvidia.com/gpu"),
        _taint_rule(driver="gpu.example.com", pool="n1", device="gpu-0"),
        _taint_rule(),
        a_pod(resourceClaims=[{"name": "g", "resourceClaimTemplateName": "t"}]),
        a_pod(
            containers=[{"name": "m", "resources": {"requests": {"cpu": 2, "memory": "1Gi"}, "limits": {"cpu": "2"}}}]
        ),
        a_node(spec={"taints": [{"key": "k", "effect": "NoSchedule"}]}, status={"allocatable": {"cpu": "4"}}),
        a_request_for_capacity(),
        a_request_for_capacity(parameters={"k": "v" * 255}),
        _template({"containers": [{"name": "m"}]}),
        _pod_group(schedulingPolicy={"gang": {"minCount": 4}}, schedulingConstraints={"topology": [{"key": "rack"}]}),
        _pod_group(schedulingPolicy={"basic": {}}),
        a_node_group(minSize=0, currentSize=2, pricePerNode=98.32, template={"resourceSlices": [_slice_template()]}),
        a_node_group(driver={"type": "simulated", "bootSeconds": 2, "script": [{"order": 1, "stockoutAfter": 1}]}),
        a_node_group(
            template={
                "resourceSlices": [_slice_template()],
                "attributeBindings": [{"attribute": "resource.kubernetes.io/pcieRoot", "devices": ["gpu-0"]}],
                "uniqueAttributes": ["gpu.example.com/uuid"],
                "daemonPods": [{"metadata": {"name": "d"}, "spec": {"containers": [{"name": "m"}]}}],
            }
        ),
    ],
)
def test_a_sound_object_has_no_problem(obj: Json) -> None:
    assert remarks(obj) == []


@pytest.mark.parametrize(
    ("obj", "field"),
    [
        (a_claim(*(a_request(f"r{i}") for i in range(33))), "spec.devices.requests"),
        (a_claim(a_request(), a_request()), "spec.devices.requests"),
        (a_claim(a_request("Gpu")), "spec.devices.requests[0].name"),
        (a_claim({"name": "r"}), "spec.devices.requests[0]"),
        (a_claim({**FIRST, **a_request()}), "spec.devices.requests[0]"),
        (a_claim(a_request(deviceClassName="")), "spec.devices.requests[0].exactly.deviceClassName"),
        (a_claim(a_request(allocationMode="Some")), "spec.devices.requests[0].exactly.allocationMode"),
        (a_claim(a_request(count=-1)), "spec.devices.requests[0].exactly.count"),
        (a_claim(a_request(count=2, allocationMode="All")), "spec.devices.requests[0].exactly.count"),
        (a_claim(a_request(selectors=[{}])), "spec.devices.requests[0].exactly.selectors[0].cel.expression"),
        (a_claim(a_request(selectors=[{"cel": {"expression": "x" * 10241}}])), "spec.devices.requests[0].exactly.selectors[0].cel.expression"),
        (a_claim(a_request(selectors=[CEL] * 33)), "spec.devices.requests[0].exactly.selectors"),
        (a_claim(a_request(capacity={"requests": {"a b": "1"}})), "spec.devices.requests[0].exactly.capacity.requests[a b]"),
        (a_claim(a_request(tolerations=[{}])), "spec.devices.requests[0].exactly.tolerations[0].operator"),
        (a_claim({"name": "r", "firstAvailable": FIRST["firstAvailable"] * 9}), "spec.devices.requests[0].firstAvailable"),
        (a_claim(constraints=[{}]), "spec.devices.constraints[0]"),
        (a_claim(constraints=[{"matchAttribute": "numa"}]), "spec.devices.constraints[0].matchAttribute"),
        (a_claim(constraints=[{"requests": ["gou"], "matchAttribute": "d/x"}]), "spec.devices.constraints[0].requests[0]"),
        (a_claim(config=[{"requests": ["x"]}]), "spec.devices.config[0].requests[0]"),
        (_allocated(device="GPU"), "status.allocation.devices.results[0].device"),
        (_allocated(pool=""), "status.allocation.devices.results[0].pool"),
        (a_claim(status={"reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}] * 257}), "status.reservedFor"),
        (a_class(selectors=[{"cel": {"expression": " "}}]), "spec.selectors[0].cel.expression"),
        (a_class(extendedResourceName="a/b/c d"), "spec.extendedResourceName"),
        (_taint_rule(device="A"), "spec.deviceSelector.device"),
        (a_pod(containers=[]), "spec.containers"),
        (a_pod(resourceClaims=[{"name": "g"}]), "spec.resourceClaims[0]"),
        (a_pod(resourceClaims=[{"name": "g", "resourceClaimName": "a", "resourceClaimTemplateName": "b"}]), "spec.resourceClaims[0]"),
        (a_pod(containers=[{"name": "m", "resources": {"claims": [{"name": "x"}]}}]), "spec.containers[0].resources.claims[0].name"),
        (a_pod(containers=[{"name": "m", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}]), "spec.containers[0].resources.requests[cpu]"),
        (a_pod(containers=[{"name": "m", "resources": {"requests": {"cpu": "-2"}}}]), "spec.containers[0].resources.requests[cpu]"),
        (a_pod(nodeSelector={"a b": "c"}), "spec.nodeSelector[a b]"),
        (a_pod(tolerations=[{"key": "k", "operator": "Is"}]), "spec.tolerations[0].operator"),
        (a_pod(topologySpreadConstraints=[{"topologyKey": "z", "maxSkew": 0, "whenUnsatisfiable": "DoNotSchedule"}]), "spec.topologySpreadConstraints[0].maxSkew"),
        (
            a_pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["x"]}]}]}}}),
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values",
        ),
        (a_node(spec={"taints": [{"key": "k", "effect": "Never"}]}), "spec.taints[0].effect"),
        (a_node(status={"allocatable": {"cpu": "-1"}}), "status.allocatable[cpu]"),
        (a_node(metadata={}), "metadata.name"),
        (a_node(metadata={"name": "n", "labels": {"k": "a b"}}), "metadata.labels[k]"),
        (a_request_for_capacity(podSets=[]), "spec.podSets"),
        (a_request_for_capacity(podSets=[{"count": 0, "podTemplateRef": {"name": "t"}}]), "spec.podSets[0].count"),
        (a_request_for_capacity(podSets=[{"count": 1}]), "spec.podSets[0].podTemplateRef.name"),
        (a_request_for_capacity(podSets=[{"count": 1, "podTemplateRef": {"name": "t"}}] * 33), "spec.podSets"),
        (a_request_for_capacity(provisioningClassName=""), "spec.provisioningClassName"),
        (a_request_for_capacity(parameters={"k": "v" * 256}), "spec.parameters[k]"),
        (a_request_for_capacity(parameters={f"k{i}": "" for i in range(101)}), "spec.parameters"),
        (_template({"containers": []}), "template.spec.containers"),
        (_template(None), "template.spec"),
        (_pod_group(), "spec.schedulingPolicy"),
        (_pod_group(schedulingPolicy={"gang": {"minCount": 0}}), "spec.schedulingPolicy.gang.minCount"),
        (_pod_group(schedulingPolicy={"basic": {}, "gang": {"minCount": 1}}), "spec.schedulingPolicy"),
        (_pod_group(schedulingPolicy={"basic": {}}, resourceClaims=[{"name": "a"}]), "spec.resourceClaims[0]"),
        (a_node_group(maxSize=None), "spec.maxSize"),
        (a_node_group(minSize=5), "spec.maxSize"),
        (a_node_group(currentSize=-1), "spec.currentSize"),
        (a_node_group(atomicUnit=0), "spec.atomicUnit"),
        (a_node_group(pricePerNode=-1), "spec.pricePerNode"),
        (a_node_group(template={"resourceSlices": [_slice_template(pool={"resourceSliceCount": 0})]}), "spec.template.resourceSlices[0].pool.resourceSliceCount"),
        (a_node_group(template={"attributeBindings": [{"attribute": "x/y", "devices": ["gpu-9"]}]}), "spec.template.attributeBindings[0].devices[0]"),
        (a_node_group(template={"uniqueAttributes": ["a b"]}), "spec.template.uniqueAttributes[0]"),
        (a_node_group(template={"daemonPods": [{"spec": {}}]}), "spec.template.daemonPods[0].spec.containers"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_told_at_its_field(obj: Json, field: str) -> None:
    assert field in faults(obj)


def test_a_flat_request_of_v1beta1_is_judged_like_an_exact_one() -> None:
    claim = a_claim({"name": "r", "deviceClassName": "gpu", "count": -1})
    claim["apiVersion"] = "resource.k8s.io/v1beta1"
    assert faults(claim) == ["spec.devices.requests[0].count"]


def test_what_has_no_effect_any_more_is_a_remark() -> None:
    assert remarks(a_claim(constraints=[{"matchAttribute": "d/x", "distinctAttribute": "d/y"}])) == [
        "spec.devices.constraints[0].distinctAttribute"
    ]
    rule = _taint_rule(deviceClassName="gpu")
    rule["apiVersion"] = "resource.k8s.io/v1alpha3"
    assert remarks(rule) == ["spec.deviceSelector.deviceClassName"]


def test_a_kind_that_is_not_read_and_an_unknown_version_are_told_apart() -> None:
    assert faults({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}) == ["kind"]
    assert faults({"apiVersion": "resource.k8s.io/v1alpha2", "kind": "ResourceSlice", "metadata": {}}) == ["apiVersion"]
