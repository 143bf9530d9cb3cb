"""What a cluster shows, and what the stream says that it shows: values to compare."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NewType

from muster_types import ObjectKey

Digest = NewType("Digest", bytes)  # of an object's JSON without what changes meaninglessly
Origin = NewType("Origin", str)  # who lists: `directory` or `kubernetes`
IssueId = NewType("IssueId", str)


@dataclass(frozen=True, slots=True)
class Fact:
    """An object as it is shown now. `json` is its Kubernetes JSON, trimmed; equal digests mean equal facts."""

    key: ObjectKey
    api_version: str
    uid: str
    resource_version: str
    json: bytes
    digest: Digest


class Severity(Enum):
    """An error takes the input out; a warning leaves the object in."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Issue:
    """What is wrong with an input: where, which object as far as known, which field, why."""

    id: IssueId
    source: str
    object: str
    field: str
    reason: str
    severity: Severity = Severity.ERROR


@dataclass(frozen=True, slots=True)
class Listed:
    """A whole list by one origin. `kinds` is what it covers: an object of these kinds that is not in it is gone."""

    origin: Origin
    kinds: frozenset[str]
    facts: Mapping[ObjectKey, Fact]
    issues: Mapping[IssueId, Issue]


@dataclass(frozen=True, slots=True)
class Changed:
    """What an origin shows now and did not before, and what it no longer shows: of objects of `kinds`, which it alone
    lists. `issues` are all that it has, `objects` is how many it shows; before the first one all of them are told."""

    origin: Origin
    kinds: frozenset[str]
    facts: Mapping[ObjectKey, Fact]
    gone: frozenset[ObjectKey]
    issues: Mapping[IssueId, Issue]
    objects: int


@dataclass(frozen=True, slots=True)
class Told:
    """The newest fact about an object on the stream."""

    uid: str
    digest: Digest


@dataclass(frozen=True, slots=True)
class Synced:
    """What the newest SyncCompleted of an origin said."""

    objects: int
    problems: int


@dataclass(slots=True)
class Known:
    """What the stream says about one cluster; `evolve` keeps it current in place, it may hold 100,000 objects."""

    objects: dict[ObjectKey, Told] = field(default_factory=dict[ObjectKey, Told])
    issues: dict[tuple[Origin, IssueId], Issue] = field(default_factory=dict[tuple[Origin, IssueId], Issue])
    syncs: dict[Origin, Synced] = field(default_factory=dict[Origin, Synced])
