"""What reading a source of manifests gives: objects, refusals, and a count of what was not asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from muster_types import ObjectKey

MIB = 1024 * 1024

Json = Mapping[str, object]


class Severity(Enum):
    """An error takes the object out; a warning leaves it in."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of an object: where in it, what is wrong, and what to do about it."""

    field: str
    reason: str
    severity: Severity = Severity.ERROR


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """Where an object was written. Lines and documents count from 1; 0 means the whole file."""

    file: str
    line: int = 0
    document: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}" + (f" (document {self.document})" if self.document > 1 else "")


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object that passed. `obj` is its Kubernetes JSON with `metadata.namespace` filled in; `warnings` as found."""

    source: Source
    key: ObjectKey
    obj: Json
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejected:
    """Something that could not be read as an object; the rest of its source goes on.

    `object` is Kind/namespace/name as far as known, `field` a path in it ("" for the whole). `obj` is what could be
    parsed, None when nothing could.
    """

    source: Source
    object: str
    field: str
    reason: str
    obj: Json | None = None

    def sentence(self) -> str:
        """The refusal for a person: source, object, field, reason."""
        return ": ".join(part for part in (str(self.source), self.object, self.field, self.reason) if part)


@dataclass(frozen=True, slots=True)
class Skipped:
    """Objects of a kind that Muster does not read; not an error."""

    file: str
    api_version: str
    kind: str
    count: int


Reading = Manifest | Rejected | Skipped


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one source may hold. Defaults take any dump of a real cluster and stop what only an attack has.

    file_bytes: a larger file is refused unread. object_nodes: maps, lists and scalars of one object (the API server
    stores no object over about 3 MB). alias_nodes: how much the YAML aliases of one file may add. depth: nesting.
    documents: in one file.
    problems, file_problems: faults named for each object, refusals for each file; the rest is counted.
    """

    file_bytes: int = 64 * MIB
    object_nodes: int = 500_000
    alias_nodes: int = 100_000
    depth: int = 100
    documents: int = 300_000
    problems: int = 20
    file_problems: int = 1000


DEFAULT_LIMITS = Limits()
