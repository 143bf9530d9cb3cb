"""The facts that the watcher publishes, one subject each."""

from dataclasses import dataclass

from muster_cluster_watcher.domain.facts import Fact, Issue, Origin
from muster_types import ObjectKey


@dataclass(frozen=True, slots=True)
class ObjectObserved:
    """The cluster shows this object in this form."""

    fact: Fact


@dataclass(frozen=True, slots=True)
class ObjectRemoved:
    """The cluster no longer shows this object."""

    key: ObjectKey
    uid: str


@dataclass(frozen=True, slots=True)
class InputRejected:
    """An input could not be read as an object, or was read with a warning."""

    origin: Origin
    issue: Issue


@dataclass(frozen=True, slots=True)
class InputMended:
    """A rejected input was mended or is gone."""

    origin: Origin
    issue: Issue


@dataclass(frozen=True, slots=True)
class SyncCompleted:
    """A whole list was reported before this."""

    origin: Origin
    objects: int
    problems: int


Observation = ObjectObserved | ObjectRemoved | InputRejected | InputMended | SyncCompleted
