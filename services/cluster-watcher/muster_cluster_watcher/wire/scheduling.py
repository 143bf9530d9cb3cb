"""Workload and PodGroup of scheduling.k8s.io/v1alpha2 (Kubernetes 1.36) in the shape of v1beta1 (group-capacity §3.1).

v1alpha3 has the shape of v1beta1. v1alpha1 is refused, it has no PodGroup objects (N-3.1).
"""

from collections.abc import Mapping

from muster_kube.kinds import SCHEDULING
from muster_kube.parts import at, mapping, sequence, text

Json = Mapping[str, object]

_OLD = f"{SCHEDULING}/v1alpha2"
_CURRENT = f"{SCHEDULING}/v1beta1"
_DISRUPTION: Mapping[str, str] = {"Pod": "single", "PodGroup": "all"}
_CONDITIONS: Mapping[str, str] = {"PodGroupScheduled": "PodGroupInitiallyScheduled"}


def in_current_shape(obj: Json) -> Json:
    """The object itself, unless it is one of v1alpha2; what has no counterpart stays as it is."""
    if obj.get("apiVersion") != _OLD:
        return obj
    match obj.get("kind"):
        case "PodGroup":
            return _pod_group(obj)
        case "Workload":
            spec = dict(mapping(obj.get("spec")))
            if "podGroupTemplates" in spec:
                spec["podGroupTemplates"] = [_disruption(mapping(t)) for t in sequence(spec["podGroupTemplates"])]
            return {**obj, "apiVersion": _CURRENT, "spec": spec}
        case _:
            return obj


def _pod_group(obj: Json) -> Json:
    spec = dict(_disruption(mapping(obj.get("spec"))))
    reference = mapping(at(spec.pop("podGroupTemplateRef", None), "workload"))
    if reference:
        names = {
            "workloadName": reference.get("workloadName"),
            "templateName": reference.get("podGroupTemplateName"),
        }
        spec["workloadRef"] = {name: value for name, value in names.items() if value is not None}
    shaped: dict[str, object] = {**obj, "apiVersion": _CURRENT, "spec": spec}
    status = mapping(obj.get("status"))
    if "conditions" in status:
        conditions = [_condition(mapping(each)) for each in sequence(status["conditions"])]
        shaped["status"] = {**status, "conditions": conditions}
    return shaped


def _disruption(spec: Json) -> Json:
    """The mode as a name became a union of empty objects."""
    mode = text(spec.get("disruptionMode"))
    return {**spec, "disruptionMode": {_DISRUPTION[mode]: {}}} if mode in _DISRUPTION else spec


def _condition(condition: Json) -> Json:
    kind = text(condition.get("type"))
    return {**condition, "type": _CONDITIONS.get(kind, kind)}
