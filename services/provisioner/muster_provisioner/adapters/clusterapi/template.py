"""What a new node would bring, by scale-from-zero annotations and infrastructure template (group-capacity §6.1)."""

from collections.abc import Mapping

from muster_kubeapi import Json
from muster_provisioner.adapters.kube_calls import at, text, whole

JsonObject = dict[str, object]
PREFIX = "capacity.cluster-autoscaler.kubernetes.io/"
_DEFAULT_PODS = "110"


def to_template(sized: Json, infrastructure: Json, default_arch: str) -> JsonObject | None:
    """`spec.template` of a NodeGroup; None when cpu or memory of a new node is not said anywhere.

    Annotations override the infrastructure template's status. A DRA driver gets one slice of devices `gpu-0`, … with
    the attribute `type` alone: that is all these annotations can say, so declare true slices where more matters.
    """
    annotations = at(sized, "metadata", "annotations")
    said = {key.removeprefix(PREFIX): text(value) for key, value in annotations.items() if key.startswith(PREFIX)}
    status = at(infrastructure, "status")
    capacity = {key: str(value) for key, value in at(status, "capacity").items()}
    for field, resource in (("cpu", "cpu"), ("memory", "memory"), ("ephemeral-disk", "ephemeral-storage")):
        if said.get(field):
            capacity[resource] = said[field]
    if not capacity.get("cpu") or not capacity.get("memory"):
        return None
    capacity["pods"] = said.get("maxPods") or capacity.get("pods") or _DEFAULT_PODS
    driver, count = said.get("dra-driver", ""), whole(said.get("gpu-count"))
    if said.get("gpu-type") and count and not driver:
        capacity[said["gpu-type"]] = str(count)
    template: JsonObject = {
        "metadata": {"labels": _labels(said.get("labels", ""), at(status, "nodeInfo"), default_arch)},
        "status": {"capacity": capacity, "allocatable": dict(capacity)},
    }
    taints = [taint for part in said.get("taints", "").split(",") if (taint := _taint(part.strip())) is not None]
    if taints:
        template["spec"] = {"taints": taints}
    if driver and count:
        devices = [{"name": f"gpu-{index}", "attributes": {"type": {"string": "gpu"}}} for index in range(count)]
        template["resourceSlices"] = [{"driver": driver, "pool": {"name": ""}, "devices": devices}]
    return template


def _labels(said: str, node_info: Json, default_arch: str) -> Mapping[str, str]:
    labels = {
        "kubernetes.io/arch": text(node_info.get("architecture")) or default_arch,
        "kubernetes.io/os": text(node_info.get("operatingSystem")) or "linux",
    }
    for part in said.split(","):
        key, found, value = part.strip().partition("=")
        if key and found:
            labels[key] = value
    return dict(sorted(labels.items()))


def _taint(said: str) -> JsonObject | None:
    """`key=value:Effect` or `key:Effect`."""
    left, found, effect = said.rpartition(":")
    key, _, value = left.partition("=")
    if not found or not key or not effect:
        return None
    return {"key": key, "effect": effect, **({"value": value} if value else {})}
