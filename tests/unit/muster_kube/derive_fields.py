"""The field tree of each kind as the installed Kubernetes client knows it, in the form of `muster_kube/fields.json`.

Run as a script to print it after an upgrade of the client; `test_fields.py` fails until the committed file agrees.
"""

import datetime
import sys
import typing

import orjson
from kubernetes.client import models

ROOTS = {
    "v1 Node": "V1Node",
    "v1 Pod": "V1Pod",
    "v1 PodTemplate": "V1PodTemplate",
    "resource.k8s.io/v1 ResourceSlice": "V1ResourceSlice",
    "resource.k8s.io/v1 ResourceClaim": "ResourceV1ResourceClaim",
    "resource.k8s.io/v1 ResourceClaimTemplate": "V1ResourceClaimTemplate",
    "resource.k8s.io/v1 DeviceClass": "V1DeviceClass",
    "resource.k8s.io/v1 DeviceTaintRule": "V1DeviceTaintRule",
    "resource.k8s.io/v1beta2 ResourceSlice": "V1beta2ResourceSlice",
    "resource.k8s.io/v1beta2 ResourceClaim": "V1beta2ResourceClaim",
    "resource.k8s.io/v1beta2 ResourceClaimTemplate": "V1beta2ResourceClaimTemplate",
    "resource.k8s.io/v1beta2 DeviceClass": "V1beta2DeviceClass",
    "resource.k8s.io/v1beta2 DeviceTaintRule": "V1beta2DeviceTaintRule",
    "resource.k8s.io/v1beta1 ResourceSlice": "V1beta1ResourceSlice",
    "resource.k8s.io/v1beta1 ResourceClaim": "V1beta1ResourceClaim",
    "resource.k8s.io/v1beta1 ResourceClaimTemplate": "V1beta1ResourceClaimTemplate",
    "resource.k8s.io/v1beta1 DeviceClass": "V1beta1DeviceClass",
    "resource.k8s.io/v1alpha3 DeviceTaintRule": "V1alpha3DeviceTaintRule",
    "scheduling.k8s.io/v1beta1 PodGroup": "V1beta1PodGroup",
    "scheduling.k8s.io/v1beta1 Workload": "V1beta1Workload",
    "scheduling.k8s.io/v1alpha3 PodGroup": "V1alpha3PodGroup",
    "scheduling.k8s.io/v1alpha3 Workload": "V1alpha3Workload",
}

# The client types a quantity as a string; Kubernetes accepts a number too (dra-semantics §1.1).
QUANTITIES = {
    ("NodeStatus", "allocatable"),
    ("NodeStatus", "capacity"),
    ("ResourceRequirements", "limits"),
    ("ResourceRequirements", "requests"),
    ("VolumeResourceRequirements", "limits"),
    ("VolumeResourceRequirements", "requests"),
    ("PodSpec", "overhead"),
    ("ContainerStatus", "allocatedResources"),
    ("PodStatus", "allocatedResources"),
    ("EmptyDirVolumeSource", "sizeLimit"),
    ("ResourceFieldSelector", "divisor"),
    ("NodeAllocatableMappedResources", "quantity"),
    ("NodeAllocatableOverheadResources", "perContainer"),
    ("NodeAllocatableOverheadResources", "perPod"),
    ("DeviceCapacity", "value"),
    ("CapacityRequestPolicy", "default"),
    ("CapacityRequestPolicy", "validValues"),
    ("CapacityRequestPolicyRange", "max"),
    ("CapacityRequestPolicyRange", "min"),
    ("CapacityRequestPolicyRange", "step"),
    ("Counter", "value"),
    ("NodeAllocatableMapping", "capacityMultiplier"),
    ("NodeAllocatableMapping", "deviceMultiplier"),
    ("NodeAllocatableOverhead", "perContainer"),
    ("NodeAllocatableOverhead", "perPod"),
    ("CapacityRequirements", "requests"),
    ("DeviceRequestAllocationResult", "consumedCapacity"),
}

SCALARS = {str: "text", int: "int", bool: "bool", float: "number", datetime.datetime: "time", typing.Any: "any"}


def derive() -> dict[str, object]:
    types: dict[str, dict[str, str]] = {}
    roots = {root: _form(getattr(models, name), types) for root, name in ROOTS.items()}
    return {"roots": roots, "types": dict(sorted(types.items()))}


def _form(annotation: typing.Any, types: dict[str, dict[str, str]]) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _form(arguments[0], types)
    if origin is typing.Union:
        forms = [_form(each, types) for each in arguments if each is not type(None)]
        return forms[0] if len(set(forms)) == 1 else "int-or-text"
    if origin is list:
        return f"[{_form(arguments[0], types)}]"
    if origin is dict:
        return f"{{{_form(arguments[1], types)}}}"
    if annotation in SCALARS:
        return SCALARS[annotation]
    name: str = annotation.__name__
    if name not in types:
        types[name] = fields = {}
        for attribute, field in sorted(annotation.model_fields.items()):
            json_name = field.serialization_alias or attribute
            form = _form(field.annotation, types)
            if (_unversioned(name), json_name) in QUANTITIES:
                form = form.replace("text", "quantity")
            fields[json_name] = form
        types[name] = dict(sorted(fields.items()))
    return name


def _unversioned(name: str) -> str:
    for prefix in ("V1beta1", "V1beta2", "V1alpha3", "V1"):
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


if __name__ == "__main__":
    sys.stdout.buffer.write(orjson.dumps(derive(), option=orjson.OPT_INDENT_2) + b"\n")
