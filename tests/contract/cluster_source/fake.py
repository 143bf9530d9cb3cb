"""A source that a test moves by hand."""

import asyncio
from collections.abc import AsyncGenerator, Mapping

from muster_cluster_watcher.domain.facts import Fact, Issue, IssueId, Known, Listed, Origin
from muster_cluster_watcher.ports import Shown
from muster_cluster_watcher.wire.observed import digest_of
from muster_kube import KINDS, object_key, trimmed_json
from muster_types import ObjectKey

FAKE = Origin("fake")


def a_fact(obj: Mapping[str, object]) -> Fact:
    """The fact of an object."""
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    json = trimmed_json(obj)
    return Fact(
        object_key(obj),
        str(obj.get("apiVersion", "")),
        str(metadata.get("uid", "")),
        str(metadata.get("resourceVersion", "")),
        json,
        digest_of(json),
    )


class FakeSource:
    """Shows what it was last told to show, and again after each change."""

    def __init__(self, origin: Origin = FAKE) -> None:
        self.facts: dict[ObjectKey, Fact] = {}
        self.issues: dict[IssueId, Issue] = {}
        self._origin = origin
        self._changed = asyncio.Event()

    def put(self, obj: Mapping[str, object]) -> None:
        """Show an object."""
        fact = a_fact(obj)
        self.facts[fact.key] = fact
        self._changed.set()

    def remove(self, key: ObjectKey) -> None:
        """Show it no more."""
        self.facts.pop(key, None)
        self._changed.set()

    def spoil(self, id: str, reason: str = "malformed") -> None:
        """Show an input that cannot be read."""
        self.issues[IssueId(id)] = Issue(IssueId(id), f"{id}.yaml:1", "", "", reason)
        self._changed.set()

    def mend(self, id: str) -> None:
        """Show it no more."""
        self.issues.pop(IssueId(id), None)
        self._changed.set()

    async def watch(self, known: Known, /) -> AsyncGenerator[Shown]:
        """For ever."""
        del known
        while True:
            self._changed.clear()
            listed = Listed(self._origin, frozenset(KINDS), dict(self.facts), dict(self.issues))
            yield Shown(listed)
            await self._changed.wait()
