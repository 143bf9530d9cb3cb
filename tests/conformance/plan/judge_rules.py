"""Single rules of the table "Rich plans", on raw JSON: what a pod asks for, what admits it where."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from muster_types import parse_quantity

Json = Mapping[str, Any]


def effective(spec: Json) -> Counter[str]:
    def requests(container: Json) -> Counter[str]:
        resources = container.get("resources", {})
        merged = {**resources.get("limits", {}), **resources.get("requests", {})}
        return Counter({name: parse_quantity(str(value)) for name, value in merged.items()})

    sidecars: Counter[str] = Counter()
    peak: Counter[str] = Counter()
    for container in spec.get("initContainers", []):
        if container.get("restartPolicy") == "Always":
            sidecars += requests(container)
        else:
            peak |= requests(container) + sidecars
    total = sidecars.copy()
    for container in spec["containers"]:
        total += requests(container)
    total |= peak
    total += Counter({name: parse_quantity(str(value)) for name, value in spec.get("overhead", {}).items()})
    total["pods"] = 10**9
    return total


def tolerates(toleration: Json, taint: Json) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")


def admits(spec: Json, labels: Mapping[str, str], name: str | None) -> bool:
    if any(labels.get(key) != value for key, value in spec.get("nodeSelector", {}).items()):
        return False
    required = spec.get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or selector_matches(required, labels, name)


def selector_matches(selector: Json, labels: Mapping[str, str], name: str | None) -> bool:
    for term in selector["nodeSelectorTerms"]:
        fields, expressions = term.get("matchFields", []), term.get("matchExpressions", [])
        if not fields and not expressions:
            continue
        if fields and name is None:
            continue
        if all(_expression(each, labels) for each in expressions) and all(
            (name in each["values"]) == (each["operator"] == "In") for each in fields
        ):
            return True
    return False


def _expression(each: Json, labels: Mapping[str, str]) -> bool:
    value = labels.get(each["key"])
    match each["operator"]:
        case "In":
            return value in each["values"]
        case "NotIn":
            return value not in each["values"]
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and value.lstrip("-").isdigit() and int(value) > int(each["values"][0])
        case _:
            return value is not None and value.lstrip("-").isdigit() and int(value) < int(each["values"][0])


def labels_match(selector: Json, pod: Json) -> bool:
    labels = pod.get("metadata", {}).get("labels", {})
    if any(labels.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    return all(_expression(each, labels) for each in selector.get("matchExpressions", []))


def anti_affinity(pod: Json) -> list[Json]:
    affinity = pod["spec"].get("affinity", {}).get("podAntiAffinity", {})
    return affinity.get("requiredDuringSchedulingIgnoredDuringExecution", [])


def group_of(pod: Json) -> str | None:
    return pod["spec"].get("schedulingGroup", {}).get("podGroupName")


def advertises(allocatable: Mapping[str, Any], resource: str) -> bool:
    return parse_quantity(str(allocatable.get(resource, "0"))) > 0
