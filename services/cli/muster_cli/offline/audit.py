"""Verdicts on what is pending in a dump, in the words of shared/field: feasible, scale-up, infeasible with a reason."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from muster_kube import Manifest
from muster_plan import (
    CHEAPEST,
    ExistingNode,
    Gang,
    InvalidGang,
    NoPlan,
    NoPlanKind,
    Plan,
    ReasonCode,
    Snapshot,
)
from muster_plan import plan as make_plan
from muster_types import GangId

_POD_NAME_LIMIT = 200
_WORDS: Mapping[ReasonCode, str] = {
    ReasonCode.SHAPE: "topology-mismatch",
    ReasonCode.SELECTOR: "selector-mismatch",
    ReasonCode.TAINT: "taint",
    ReasonCode.NO_NODES: "no-inventory",
    ReasonCode.NO_TEMPLATE: "no-inventory",
    ReasonCode.LIMIT: "limit",
    ReasonCode.CONSUMERS: "api-limit",
    ReasonCode.DOMAIN: "topology-mismatch",
    ReasonCode.INVALID: "policy-violation",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """About one subject. `why` is a sentence; fields that do not apply are empty."""

    subject: str
    verdict: str
    reason: str = ""
    node: str = ""
    devices: tuple[str, ...] = ()
    group: str = ""
    nodes: int = 0
    why: str = ""
    remedy: str = ""


def audit_manifests(manifests: Iterable[Manifest]) -> list[Verdict]:
    """A verdict for each pending pod and each ProvisioningRequest that is not provisioned, by subject."""
    found = {manifest.key: manifest for manifest in manifests}
    snapshot = Snapshot.build(dict(manifest.obj) for manifest in found.values())
    verdicts = [
        _judge(f"Pod/{key.namespace}/{key.name}", _pod_request(manifest.obj), snapshot.put(_pod_template(manifest.obj)))
        for key, manifest in found.items()
        if key.kind == "Pod" and _is_pending(manifest.obj)
    ]
    verdicts += [
        _judge(f"ProvisioningRequest/{key.namespace}/{key.name}", manifest.obj, snapshot)
        for key, manifest in found.items()
        if key.kind == "ProvisioningRequest" and not _is_settled(manifest.obj)
    ]
    return sorted(verdicts, key=lambda verdict: verdict.subject)


def _judge(subject: str, request: Mapping[str, object], snapshot: Snapshot) -> Verdict:
    gang = Gang.from_request(request, snapshot, gang=GangId(subject))
    if isinstance(gang, InvalidGang):
        reason = "template-missing" if gang.missing else "policy-violation"
        return Verdict(subject, "infeasible", reason, why=gang.sentence(), remedy=_create(gang))
    found = make_plan(snapshot, gang, CHEAPEST)
    return _planned(subject, found) if isinstance(found, Plan) else _unplanned(subject, found)


def _create(gang: InvalidGang) -> str:
    return f"create {', '.join(map(str, gang.missing))}" if gang.missing else ""


def _planned(subject: str, plan: Plan) -> Verdict:
    devices = tuple(str(result.device) for each in plan.placements for claim in each.claims for result in claim.results)
    if plan.orders:
        groups = ", ".join(order.group for order in plan.orders)
        count = sum(order.count for order in plan.orders)
        return Verdict(
            subject,
            "scale-up",
            group=groups,
            nodes=count,
            devices=devices,
            why=f"it does not fit what exists; {count} more of {groups} would hold it, at cost {plan.cost:g}",
            remedy=f"add {count} of {groups}",
        )
    nodes = sorted({each.target.name for each in plan.placements if isinstance(each.target, ExistingNode)})
    return Verdict(
        subject,
        "feasible",
        node=", ".join(nodes),
        devices=devices,
        why="it fits now; the scheduler has not placed it yet",
    )


def _unplanned(subject: str, found: NoPlan) -> Verdict:
    first = found.reasons[0] if found.reasons else None
    word = "shortage" if first is None else _WORDS.get(first.code, "shortage")
    if found.kind is NoPlanKind.LIMIT:
        word = "limit"
    helps = "; ".join(each.text for each in found.helps)
    return Verdict(subject, "infeasible", word, why=found.sentence(), remedy=helps)


def _is_pending(pod: Mapping[str, object]) -> bool:
    spec, status = _part(pod, "spec"), _part(pod, "status")
    return not spec.get("nodeName") and status.get("phase", "Pending") == "Pending"


def _is_settled(request: Mapping[str, object]) -> bool:
    conditions = _part(request, "status").get("conditions")
    if not isinstance(conditions, list):
        return False
    return any(
        isinstance(each, Mapping) and each.get("type") in ("Provisioned", "Failed") and each.get("status") == "True"
        for each in conditions
    )


def _template_name(pod: Mapping[str, object]) -> str:
    return f"pod-{_part(pod, 'metadata').get('name')}"[:_POD_NAME_LIMIT]


def _pod_template(pod: Mapping[str, object]) -> Mapping[str, object]:
    metadata = _part(pod, "metadata")
    spec = {name: value for name, value in _part(pod, "spec").items() if name != "schedulingGroup"}
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": _template_name(pod), "namespace": metadata.get("namespace", "default")},
        "template": {
            "metadata": {name: metadata[name] for name in ("labels", "annotations") if name in metadata},
            "spec": spec,
        },
    }


def _pod_request(pod: Mapping[str, object]) -> Mapping[str, object]:
    metadata = _part(pod, "metadata")
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {"name": _template_name(pod), "namespace": metadata.get("namespace", "default")},
        "spec": {
            "provisioningClassName": "audit.muster.dev",
            "podSets": [{"podTemplateRef": {"name": _template_name(pod)}, "count": 1}],
        },
    }


def _part(obj: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = obj.get(name)
    return value if isinstance(value, Mapping) else {}
