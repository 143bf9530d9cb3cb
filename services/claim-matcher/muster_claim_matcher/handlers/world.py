"""What each cluster shows, as a snapshot that is kept incrementally: a changed slice costs its node, not the fleet."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from muster_claim_matcher.domain.consumption import consumed_request
from muster_claim_matcher.domain.seen import Fact, ListCompleted, ObjectGone, ObjectSeen
from muster_plan import Pod, Snapshot
from muster_types import ClusterId, ObjectKey

_HOLDING = frozenset({"Pod", "ResourceClaim"})
_MOST_PENDING = 1000  # objects that wait to be folded into the snapshot together


class ClusterWorld:
    """One cluster. `listed` tells whether a source has reported all it holds at least once."""

    def __init__(self) -> None:
        self.listed = False
        self._snapshot = Snapshot.build(())
        self._pending: dict[ObjectKey, Mapping[str, object] | None] = {}
        self._consumers: dict[tuple[str, str], set[ObjectKey]] = {}

    def apply(self, fact: Fact) -> None:
        """Take one fact in; it is folded when somebody looks, or when many wait."""
        match fact:
            case ObjectSeen(key, obj):
                self._pending[key] = obj
            case ObjectGone(key):
                self._pending[key] = None
            case ListCompleted():
                self.listed = True
        if len(self._pending) >= _MOST_PENDING:
            self._fold()

    def snapshot(self) -> Snapshot:
        """The cluster up to the newest fact."""
        if self._pending:
            self._fold()
        return self._snapshot

    def pods_of(self, namespace: str, request: str) -> tuple[Pod, ...]:
        """The pods that use the capacity of a request, by name."""
        pods = self.snapshot().tables.pods
        keys = self._consumers.get((namespace, request), set())
        return tuple(pods[key] for key in sorted(keys))

    def _fold(self) -> None:
        pending, self._pending = self._pending, {}
        before = self._snapshot.tables.pods
        put = [obj for obj in pending.values() if obj is not None]
        gone = [key for key, obj in pending.items() if obj is None]
        self._snapshot = self._snapshot.apply(put, gone)
        self._drop_unread(pending)
        after = self._snapshot.tables.pods
        for key in pending:
            if key.kind == "Pod":
                self._index(key, before.get(key), after.get(key))

    def _drop_unread(self, changed: Iterable[ObjectKey]) -> None:
        """What cannot be read any more does not stay as it was, but for pods and claims: they hold something, and what
        they hold must not look free because of a typing error."""
        problems = self._snapshot.problems
        unread = [key for key in changed if key in problems and key.kind not in _HOLDING]
        if unread:
            self._snapshot = replace(self._snapshot.apply((), unread), problems=problems)

    def _index(self, key: ObjectKey, before: Pod | None, after: Pod | None) -> None:
        for pod, present in ((before, False), (after, True)):
            request = "" if pod is None else consumed_request(pod.spec.annotations)
            if not request:
                continue
            keys = self._consumers.setdefault((key.namespace, request), set())
            if present:
                keys.add(key)
            else:
                keys.discard(key)
                if not keys:
                    del self._consumers[key.namespace, request]


class World:
    """All clusters."""

    def __init__(self) -> None:
        self._clusters: dict[ClusterId, ClusterWorld] = {}

    def cluster(self, id: ClusterId) -> ClusterWorld:
        return self._clusters.setdefault(id, ClusterWorld())
