"""What a pending pod needs before any node is asked: its objects, its new claims, and what it waits for."""

from collections.abc import Sequence

from muster_audit.cluster import Cluster
from muster_audit.parts import Json, part, parts, text
from muster_audit.survey import Wanted
from muster_audit.words import Cause
from muster_dra import ClaimSpec
from muster_plan import InvalidGang
from muster_plan.gang import OwnClaim
from muster_types import ObjectKey

_DEFAULT_SCHEDULER = "default-scheduler"


def faults_of(gang: InvalidGang, cluster: Cluster) -> tuple[Cause, str, str]:
    """Cause, sentence and remedy for pods whose objects are absent or cannot be read."""
    if gang.missing:
        absent = ", ".join(f"{_named(key)} not found" for key in gang.missing)
        refused = [each for each in cluster.frame.refused if each.key in gang.missing]
        if refused:
            why = "; ".join(f"{_named(each.key)} was refused: {each.field}: {each.reason}" for each in refused)
            return _refused_cause([each.reason for each in refused]), why, f"mend {_named(refused[0].key)}"
        return Cause.TEMPLATE_MISSING, absent, f"create {', '.join(map(_named, gang.missing))}"
    return Cause.INVALID_OBJECT, "; ".join(gang.faults), "mend what is named"


def _refused_cause(reasons: Sequence[str]) -> Cause:
    limits = any("at most" in reason for reason in reasons)
    return Cause.API_LIMIT if limits else Cause.INVALID_OBJECT


def _named(key: ObjectKey) -> str:
    return f"{key.kind} {key.namespace}/{key.name}" if key.namespace else f"{key.kind} {key.name}"


def own_specs(pod: Wanted) -> list[ClaimSpec]:
    """Claims that are yet to be created for one pod: existing ones were charged when they were."""
    return [entry.spec for entry in pod.kind.pod_set.claims if isinstance(entry, OwnClaim)]


def waiting_for(cluster: Cluster, key: ObjectKey) -> str:
    """Why a pod that fits has not been placed, as far as its object tells."""
    pod = cluster.frame.objects.get(key, {})
    spec = part(pod, "spec")
    gates = [text(each.get("name")) for each in parts(spec, "schedulingGates")]
    if gates:
        return f"it waits for its scheduling gate{'s' if len(gates) > 1 else ''} {', '.join(gates)}"
    scheduler = text(spec.get("schedulerName"))
    if scheduler and scheduler != _DEFAULT_SCHEDULER:
        return f"its scheduler is {scheduler}: check that it runs and knows resource claims"
    unmade = _unmade(pod)
    if unmade:
        return f"claim {unmade} of its template is not created yet (kube-controller-manager makes it)"
    said = _said(pod)
    if said:
        return f"the scheduler last said {said!r}: it has not looked again, or it backs off"
    return "the scheduler has not placed it yet"


def _unmade(pod: Json) -> str:
    """An entry from a template without a claim although the status lists those of others."""
    made = {text(each.get("name")) for each in parts(pod, "status", "resourceClaimStatuses")}
    wanted = [
        text(each.get("name")) for each in parts(pod, "spec", "resourceClaims") if each.get("resourceClaimTemplateName")
    ]
    return next((name for name in wanted if name not in made), "") if made else ""


def _said(pod: Json) -> str:
    for each in parts(pod, "status", "conditions"):
        if text(each.get("type")) == "PodScheduled" and text(each.get("status")) == "False":
            return text(each.get("message"))[:160] or text(each.get("reason"))
    return ""
