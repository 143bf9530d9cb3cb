"""A cluster directory as a source: dumps that a user loads, and the overlay that stands for the API server."""

from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from hashlib import sha256

import structlog

from muster_cluster_watcher.domain.facts import Fact, Issue, IssueId, Known, Listed, Origin, Severity
from muster_cluster_watcher.ports import Shown
from muster_cluster_watcher.wire.observed import digest_of
from muster_kube import KINDS, ClusterDirectory, Listing, Manifest, Rejected, Source, trimmed_json
from muster_kube.parts import mapping, text
from muster_types import ObjectKey

ORIGIN = Origin("directory")
_WARNINGS = 1000  # named one by one; a dump of a newer cluster may have one in every object
log = structlog.get_logger("muster.watcher")


class DirectorySource:
    """Lists the directory now and after each change; objects of unchanged files cost no second look.

    `fact_bytes`: a larger object does not fit a message of the store and is refused.
    """

    def __init__(self, directory: ClusterDirectory, *, poll_seconds: float, fact_bytes: int) -> None:
        self._directory = directory
        self._poll_seconds = poll_seconds
        self._fact_bytes = fact_bytes
        self._facts: dict[ObjectKey, tuple[Manifest, Fact]] = {}
        self._skipped: Counter[tuple[str, str]] = Counter()

    async def watch(self, known: Known | None = None, /) -> AsyncGenerator[Shown]:
        """For ever, whole lists: a directory has no history to go on in."""
        del known
        async with aclosing(self._directory.changes(poll_seconds=self._poll_seconds)) as listings:
            async for listing in listings:
                yield self._shown(listing)

    def _shown(self, listing: Listing) -> Shown:
        self._facts = {key: (manifest, self._fact(manifest)) for key, manifest in listing.objects.items()}
        facts: dict[ObjectKey, Fact] = {}
        too_large: list[Rejected] = []
        for key, (manifest, fact) in self._facts.items():
            if len(fact.json) <= self._fact_bytes:
                facts[key] = fact
            else:
                too_large.append(self._too_large(manifest, len(fact.json)))
        self._log_skipped(listing)
        refused = [_Fault(each.source, each.object, each.field, each.reason) for each in listing.rejected]
        refused += [_Fault(each.source, each.object, each.field, each.reason) for each in too_large]
        issues = {**_issues(refused, Severity.ERROR), **_issues(_warnings(listing.objects), Severity.WARNING)}
        return Shown(Listed(ORIGIN, frozenset(KINDS), facts, issues))

    def _fact(self, manifest: Manifest) -> Fact:
        before = self._facts.get(manifest.key)
        if before is not None and before[0] is manifest:
            return before[1]
        metadata = mapping(manifest.obj.get("metadata"))
        json = trimmed_json(manifest.obj)
        return Fact(
            manifest.key,
            text(manifest.obj.get("apiVersion")),
            text(metadata.get("uid")),
            text(metadata.get("resourceVersion")),
            json,
            digest_of(json),
        )

    def _too_large(self, manifest: Manifest, size: int) -> Rejected:
        reason = f"it has {size} bytes as JSON, a message holds {self._fact_bytes}; take large annotations out"
        return Rejected(manifest.source, str(manifest.key), "", reason)

    def _log_skipped(self, listing: Listing) -> None:
        skipped: Counter[tuple[str, str]] = Counter()
        for each in listing.skipped:
            skipped[each.api_version, each.kind] += each.count
        if skipped != self._skipped:
            self._skipped = skipped
            for (api_version, kind), count in sorted(skipped.items()):
                log.info("objects of a kind that is not read", api_version=api_version, kind=kind, count=count)


@dataclass(frozen=True, slots=True)
class _Fault:
    source: Source
    object: str
    field: str
    reason: str


def _warnings(objects: Mapping[ObjectKey, Manifest]) -> Iterator[_Fault]:
    """What is odd in objects that are taken all the same; of very many the first ones and their number."""
    odd = sorted(key for key, manifest in objects.items() if manifest.warnings)
    found = [
        _Fault(objects[key].source, str(key), warning.field, warning.reason)
        for key in odd
        for warning in objects[key].warnings
    ]
    yield from found[:_WARNINGS]
    if len(found) > _WARNINGS:
        more = len(found) - _WARNINGS
        yield _Fault(Source(ORIGIN), "", "", f"{more} more warnings about objects are not listed; mend these first")


def _issues(faults: Iterable[_Fault], severity: Severity) -> dict[IssueId, Issue]:
    """Ids stay the same while the fault does, wherever its line moves to in the file."""
    issues: dict[IssueId, Issue] = {}
    seen: Counter[tuple[str, ...]] = Counter()
    for each in faults:
        place = (each.source.file, each.object, each.field)
        seen[place] += 1
        written = "\0".join((*place, str(seen[place]), *(("warning",) if severity is Severity.WARNING else ())))
        id = IssueId(sha256(written.encode(errors="surrogateescape")).hexdigest()[:16])
        source = _clean(str(each.source))
        issues[id] = Issue(id, source, _clean(each.object), _clean(each.field), _clean(each.reason), severity)
    return issues


def _clean(written: str) -> str:
    """Protobuf carries no half characters, which file names and broken texts may hold."""
    return written.encode("utf-8", "replace").decode()
