"""Node and daemon pods of a new machine, made from the template of its group."""

from collections.abc import Mapping
from datetime import UTC, datetime

from muster_provisioner.adapters.simulated.group_settings import DaemonPod, SimulatedGroup
from muster_provisioner.adapters.simulated.slices import JsonObject
from muster_provisioner.adapters.simulated.state import Machine

GANG = "muster.dev/gang"
ORDER = "muster.dev/order"
NODE_GROUP = "muster.dev/node-group"
ORDINAL = "muster.dev/ordinal"
HOSTNAME = "kubernetes.io/hostname"
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def node_object(group: SimulatedGroup, machine: Machine, *, ready: bool) -> JsonObject:
    """The Node (core/v1) as its kubelet registers it, and as it stands once it is Ready."""
    template = group.spec.template
    taints: list[Mapping[str, object]] = list(template.spec.taints)
    if machine.gang:
        taints.append({"key": GANG, "value": machine.gang, "effect": "NoSchedule"})
    if not ready:
        taints.append(_NOT_READY)
    allocatable = {name: str(amount) for name, amount in template.status.allocatable.items()}
    capacity = {name: str(amount) for name, amount in template.status.capacity.items()} or allocatable
    since = _text(machine.ready_at if ready else machine.register_at)
    condition = {
        "type": "Ready",
        "status": "True" if ready else "False",
        "reason": "KubeletReady" if ready else "KubeletNotReady",
        "message": "kubelet is posting ready status" if ready else "the node is starting",
        "lastTransitionTime": since,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": machine.node,
            "creationTimestamp": _text(machine.register_at),
            "labels": _labels(group, machine),
            **({"annotations": dict(template.metadata.annotations)} if template.metadata.annotations else {}),
        },
        "spec": {"providerID": machine.id, **({"taints": taints} if taints else {})},
        "status": {"capacity": capacity, "allocatable": allocatable, "conditions": [condition]},
    }


def daemon_pods(group: SimulatedGroup, machine: Machine) -> tuple[JsonObject, ...]:
    """The pods that every new node runs, bound to this one. Pods with device claims are left out: a claim that nobody
    allocated would tell the cluster less than the template does."""
    return tuple(
        _daemon_pod(pod, index, machine)
        for index, pod in enumerate(group.spec.template.daemon_pods)
        if not pod.spec.get("resourceClaims")
    )


def _daemon_pod(pod: DaemonPod, index: int, machine: Machine) -> JsonObject:
    base = pod.metadata.name or f"daemon-{index}"
    since = _text(machine.ready_at)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{base}-{machine.node}",
            "namespace": pod.metadata.namespace or "kube-system",
            "creationTimestamp": since,
            "labels": dict(pod.metadata.labels),
            "annotations": dict(pod.metadata.annotations),
        },
        "spec": {**pod.spec, "nodeName": machine.node},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": since}],
        },
    }


def _labels(group: SimulatedGroup, machine: Machine) -> dict[str, str]:
    labels = dict(group.spec.template.metadata.labels)
    if group.spec.domain_label:
        labels[group.spec.domain_label] = f"{machine.node.rpartition('-')[0]}-u{machine.unit}"
    labels |= {HOSTNAME: machine.node, NODE_GROUP: group.name, ORDINAL: str(machine.ordinal)}
    if machine.gang:
        labels[GANG] = machine.gang
    if machine.order:
        labels[ORDER] = machine.order
    return labels


def _text(at: float | None) -> str:
    moment = datetime.fromtimestamp(0.0 if at is None else at, UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
