"""What several followed resources show together, and what of it is news since it was last taken."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from muster_cluster_watcher.adapters.kubernetes_facts import Unfit
from muster_cluster_watcher.domain.facts import Changed, Fact, Issue, IssueId, Known, Origin
from muster_types import ObjectKey

ORIGIN = Origin("kubernetes")


@dataclass(frozen=True, slots=True)
class News:
    """Changes up to these versions, by kind; a kind that is being listed has none."""

    changed: Changed
    versions: Mapping[str, str]
    empty: bool


class ClusterImage:
    """Keys of all objects of `kinds`, facts only until they are taken. `known`: the objects that were told before."""

    def __init__(self, kinds: Iterable[str], known: Known) -> None:
        self._kinds = frozenset(kinds)
        self._keys: dict[str, set[ObjectKey]] = {kind: set() for kind in self._kinds}
        self._listing: dict[str, set[ObjectKey]] = {}
        self._versions: dict[str, str] = {}
        self._waiting = set(self._kinds)
        self._pending: dict[ObjectKey, Fact | None] = {}
        self._issues: dict[str, dict[IssueId, Issue]] = {}  # by the object they are about, "" for those of files
        self._issues_changed = True
        self._all_issues: dict[IssueId, Issue] = {}
        self._first = True
        self._news = asyncio.Event()
        for key in known.objects:
            if key.kind in self._kinds:
                self._keys[key.kind].add(key)
        for (origin, id), issue in known.issues.items():
            if origin == ORIGIN and issue.object.partition("/")[0] in self._kinds:
                self._issues.setdefault(issue.object, {})[id] = issue

    @property
    def whole(self) -> bool:
        """Every kind was listed, or goes on from what was known."""
        return not self._waiting

    def has(self, kind: str) -> bool:
        """Whether objects of a kind are known."""
        return bool(self._keys[kind])

    def go_on(self, kind: str, version: str) -> None:
        """What is known of a kind holds up to a version."""
        self._versions[kind] = version
        self._listed(kind)

    def page(self, kind: str, found: Sequence[Fact | Unfit], *, first: bool, version: str) -> None:
        """A part of a whole list, the last one when it has a version."""
        if first:
            self._listing[kind] = set()
            self._versions.pop(kind, None)
        listed = self._listing[kind]
        for each in found:
            listed.add(each.key)
            self._show(each)
        if version:
            self._end_list(kind)
            self._versions[kind] = version

    def whole_list(self, kind: str, facts: Iterable[Fact], issues: Mapping[IssueId, Issue]) -> None:
        """All objects of a kind that comes from files, with what is wrong with the files."""
        self._listing[kind] = set()
        for fact in facts:
            self._listing[kind].add(fact.key)
            self._show(fact)
        self._issues[""] = dict(issues)
        self._issues_changed = True
        self._end_list(kind)

    def change(self, kind: str, changes: Iterable[Fact | Unfit | ObjectKey], version: str) -> None:
        """Changes in order; a key alone is an object that is gone. Without changes it is a bookmark."""
        for each in changes:
            if isinstance(each, ObjectKey):
                self._hide(each)
            else:
                self._show(each)
        self._versions[kind] = version
        self._news.set()

    def lack(self, kind: str) -> None:
        """The cluster has no such kind, so it has no objects of it."""
        self._listing[kind] = set()
        self._versions.pop(kind, None)
        self._end_list(kind)

    def wake(self) -> None:
        """Let `wait` return."""
        self._news.set()

    async def wait(self) -> None:
        """Until something was reported since the last call."""
        await self._news.wait()
        self._news.clear()

    def take(self) -> News:
        """Everything since the last call."""
        pending, self._pending = self._pending, {}
        issues_changed, self._issues_changed = self._issues_changed, False
        if issues_changed:
            self._all_issues = {id: issue for of_one in self._issues.values() for id, issue in of_one.items()}
        changed = Changed(
            ORIGIN,
            self._kinds,
            {key: fact for key, fact in pending.items() if fact is not None},
            frozenset(key for key, fact in pending.items() if fact is None),
            self._all_issues,
            sum(map(len, self._keys.values())),
        )
        first, self._first = self._first, False
        return News(changed, dict(self._versions), empty=not (pending or issues_changed or first))

    def _show(self, found: Fact | Unfit) -> None:
        if isinstance(found, Unfit):
            self._hide(found.key)
            self._issues[str(found.key)] = {issue.id: issue for issue in found.issues}
            self._issues_changed = True
            return
        self._mend(found.key)
        self._keys[found.key.kind].add(found.key)
        self._pending[found.key] = found

    def _hide(self, key: ObjectKey) -> None:
        self._mend(key)
        if key in self._keys[key.kind]:
            self._keys[key.kind].discard(key)
            self._pending[key] = None

    def _mend(self, key: ObjectKey) -> None:
        if self._issues and self._issues.pop(str(key), None):
            self._issues_changed = True

    def _end_list(self, kind: str) -> None:
        """What was known and is not in the list is gone; so are the faults of what is not in it."""
        listed = self._listing.pop(kind)
        for key in sorted(self._keys[kind] - listed):
            self._hide(key)
        names = {str(key) for key in listed}
        for about in [about for about in self._issues if about.partition("/")[0] == kind and about not in names]:
            del self._issues[about]
            self._issues_changed = True
        self._listed(kind)

    def _listed(self, kind: str) -> None:
        self._waiting.discard(kind)
        self._news.set()
