"""What a migration says: each change explained, and each thing that stays as it was with the reason."""

from dataclasses import dataclass
from enum import StrEnum


class Saying(StrEnum):
    """What a remark is about."""

    CHANGED = "changed"
    KEPT = "kept"  # stays on purpose; the meaning is the same with it
    NOTE = "note"  # something to look at before or after
    NO_EQUIVALENT = "no-equivalent"  # stays an integer: there is no claim of the same meaning, or nobody knows it
    INVALID = "invalid"  # the API server would refuse it as it stands


class Cause(StrEnum):
    """Why, for programs."""

    CLAIM = "integer-to-claim"
    ZERO = "zero-request"
    SELECTOR = "label-to-selector"
    REDUNDANT = "label-implied-by-claim"
    TOLERATION = "resource-toleration"
    RAY_GPUS = "ray-num-gpus"
    DEVICE_CLASS = "device-class"
    NO_ATTRIBUTE = "no-attribute"
    CONTRADICTED = "contradicted-by-dump"
    PREFERENCE = "preference"
    ALTERNATIVES = "alternatives-over-nodes"
    NODE_FACT = "node-fact"
    SHARED = "shared-device"
    PARTITION_UNKNOWN = "partition-unknown"
    UNKNOWN_RESOURCE = "unknown-resource"
    UNKNOWN_KIND = "unknown-kind"
    NO_CLAIMS_IN_KIND = "kind-without-claims"
    NETWORK_ATTACHMENT = "network-attachment"
    OWNED = "made-by-another-object"
    RUNNING = "pod-is-bound"
    LIMITS_DIFFER = "limits-differ-from-requests"
    NOT_WHOLE = "not-a-whole-number"
    POD_LEVEL = "pod-level-resource"
    MALFORMED = "malformed"
    QUOTA = "quota"
    VISIBLE_DEVICES = "visible-devices"
    SCHEDULER = "other-scheduler"
    CLASS_MISSING = "class-missing"
    UNPROVEN_SHARING = "sharing-not-visible"


@dataclass(frozen=True, slots=True)
class Remark:
    """One sentence about one field of one object (`Kind/namespace/name`). `remedy` is empty where nothing is to do."""

    subject: str
    saying: Saying
    cause: Cause
    field: str
    text: str
    remedy: str = ""

    def sentence(self) -> str:
        """For a person."""
        place = f"{self.subject}: {self.field}: " if self.field else f"{self.subject}: "
        return f"{place}{self.text}" + (f"; {self.remedy}" if self.remedy else "")
