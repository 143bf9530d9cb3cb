"""What drivers that work through an API server share: its failures as DriverErrors, and reading its JSON."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from muster_kubeapi import AccessInvalid, Expired, Json, KubeError, Refused, Unreachable
from muster_provisioner.domain.messages import ShortfallClass
from muster_provisioner.ports import DriverError, DriverErrorKind

_STOCKOUT_WORDS = (
    "insufficient capacity",
    "insufficientinstancecapacity",
    "insufficientcapacity",
    "out of capacity",
    "no capacity",
    "out of stock",
    "stockout",
    "zone_resource_pool_exhausted",
    "allocationfailed",
    "no valid host",
)
_QUOTA_WORDS = ("quota", "limitexceeded", "limit exceeded")


@contextmanager
def as_driver_errors(subject: str) -> Generator[None]:
    """Turn failures of calls into DriverErrors that name the subject. A refusal is an answer: nothing was changed."""
    try:
        yield
    except (Unreachable, Expired, AccessInvalid) as error:
        raise DriverError(DriverErrorKind.TRANSIENT, f"{subject}: {error}") from error
    except Refused as error:
        quota = error.status == 403 and "quota" in str(error).lower()
        kind = DriverErrorKind.QUOTA if quota else DriverErrorKind.PERMANENT
        raise DriverError(kind, f"{subject}: {error}") from error
    except KubeError as error:
        raise DriverError(DriverErrorKind.TRANSIENT, f"{subject}: {error}") from error


def permanent(message: str) -> DriverError:
    """Nothing was changed, and the same call fails again."""
    return DriverError(DriverErrorKind.PERMANENT, message)


def shortfall_class(text: str) -> ShortfallClass:
    """What a provider's words about a machine that does not come mean; providers have no common vocabulary."""
    lowered = text.lower()
    if any(word in lowered for word in _QUOTA_WORDS):
        return ShortfallClass.QUOTA
    if any(word in lowered for word in _STOCKOUT_WORDS):
        return ShortfallClass.STOCKOUT
    return ShortfallClass.OTHER


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of an object (metav1.Condition, or the older form without reason)."""

    status: str
    reason: str
    message: str
    since: datetime | None

    @property
    def holds(self) -> bool:
        """Whether it is True."""
        return self.status == "True"

    @property
    def text(self) -> str:
        """Reason and message for people."""
        return ": ".join(filter(None, (self.reason, self.message))) or self.status


def conditions_of(obj: Json) -> Mapping[str, Condition]:
    """The conditions of an object's status by type."""
    found: dict[str, Condition] = {}
    for each in items(at(obj, "status").get("conditions")):
        found[text(each.get("type"))] = Condition(
            text(each.get("status")),
            text(each.get("reason")),
            text(each.get("message")),
            moment(each, "lastTransitionTime"),
        )
    return found


def at(obj: Json, *path: str) -> Json:
    """The object below `path`; empty where there is none."""
    for field in path:
        value = obj.get(field)
        obj = cast("Json", value) if isinstance(value, Mapping) else {}
    return obj


def items(value: object) -> Sequence[Json]:
    """The objects of a list; empty when it is none."""
    if not isinstance(value, list):
        return ()
    return [cast("Json", each) for each in cast("list[object]", value) if isinstance(each, Mapping)]


def text(value: object) -> str:
    """A text; empty when it is none."""
    return value if isinstance(value, str) else ""


def whole(value: object, otherwise: int = 0) -> int:
    """An integer, also one written as text, as annotations are."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return otherwise


def moment(obj: Json, field: str) -> datetime | None:
    """A metav1.Time; None when it is missing or none."""
    try:
        parsed = datetime.fromisoformat(text(obj.get(field)).replace("Z", "+00:00"))
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
