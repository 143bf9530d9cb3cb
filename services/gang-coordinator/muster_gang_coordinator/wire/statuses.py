"""RequestStatus <-> the status of a ProvisioningRequest as Kubernetes JSON (metav1.Condition)."""

from datetime import UTC, datetime

from muster_gang_coordinator.domain.status import TYPES, Condition, RequestStatus
from muster_gang_coordinator.wire.manifests import Json
from muster_kube.parts import mapping, sequence, text


def to_status(status: RequestStatus) -> dict[str, object]:
    """Conditions in a fixed order; times as RFC 3339 in whole seconds, as the API server keeps them."""
    conditions: list[dict[str, object]] = [
        {
            "type": c.type,
            "status": "True" if c.status else "False",
            "reason": c.reason,
            "message": c.message,
            "lastTransitionTime": _stamp(c.changed),
        }
        for c in status.conditions
    ]
    written: dict[str, object] = {"conditions": conditions}
    if status.details:
        written["provisioningClassDetails"] = dict(status.details)
    return written


def from_status(status: Json) -> RequestStatus:
    """The conditions that Muster writes; foreign ones and unreadable ones are left out."""
    read = [_condition(mapping(c)) for c in sequence(status.get("conditions"))]
    known = sorted((c for c in read if c is not None), key=lambda c: TYPES.index(c.type))
    details = {k: text(v) for k, v in mapping(status.get("provisioningClassDetails")).items()}
    return RequestStatus(tuple(known), tuple(sorted(details.items())))


def foreign_conditions(status: Json) -> list[object]:
    """Conditions of other types: whoever wrote them keeps them."""
    return [c for c in sequence(status.get("conditions")) if text(mapping(c).get("type")) not in TYPES]


def _condition(condition: Json) -> Condition | None:
    type_, value = text(condition.get("type")), text(condition.get("status"))
    if type_ not in TYPES or value not in {"True", "False"}:
        return None
    try:
        changed = datetime.fromisoformat(text(condition.get("lastTransitionTime"))).astimezone(UTC)
    except ValueError:
        changed = datetime.fromtimestamp(0, UTC)
    return Condition(type_, value == "True", text(condition.get("reason")), text(condition.get("message")), changed)


def _stamp(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
