"""Facts about the cluster in the claim-matcher's terms."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster_types import ObjectKey


@dataclass(frozen=True, slots=True)
class ObjectSeen:
    """An object as it is now, as Kubernetes JSON."""

    key: ObjectKey
    obj: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ObjectGone:
    """The object is gone, or can no longer be read."""

    key: ObjectKey


@dataclass(frozen=True, slots=True)
class ListCompleted:
    """Everything that the source holds has been reported at least once."""

    source: str


Fact = ObjectSeen | ObjectGone | ListCompleted
