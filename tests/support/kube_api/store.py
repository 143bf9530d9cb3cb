"""What etcd is to an API server: objects under one counted revision, a history to watch, and its compaction."""

import asyncio
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import orjson

from support.kube_api.answers import Json, expired

Place = tuple[str, str]  # namespace ("" cluster-scoped), name
TypeId = tuple[str, str]  # group, plural


@dataclass(slots=True)
class Entry:
    """An object at a revision, without apiVersion and kind; never changed in place once stored."""

    obj: Json
    revision: int
    _json: bytes = b""

    @property
    def json(self) -> bytes:
        """As JSON, made once."""
        if not self._json:
            self._json = orjson.dumps(self.obj)
        return self._json

    def named(self, api_version: str, kind: str) -> bytes:
        """As JSON with apiVersion and kind in front."""
        head = b'{"kind":%s,"apiVersion":%s' % (orjson.dumps(kind), orjson.dumps(api_version))
        return head + (b"," + self.json[1:] if len(self.json) > 2 else b"}")


@dataclass(frozen=True, slots=True)
class Event:
    """A write: what was there before, and what is there now."""

    revision: int
    before: Entry | None
    after: Entry | None


@dataclass(slots=True)
class _Shelf:
    entries: dict[Place, Entry] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    revisions: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Snapshot:
    """A list that is read page by page."""

    revision: int
    entries: list[tuple[Place, Entry]]


class Store:
    """All objects of a cluster. `listener` hears of each write before anybody who waits."""

    def __init__(self, revision: int = 1000) -> None:
        self.revision = revision
        self.compacted = 0
        self._shelves: defaultdict[TypeId, _Shelf] = defaultdict(_Shelf)
        self._snapshots: dict[int, Snapshot] = {}
        self._snapshot_ids = 0
        self._changed = asyncio.Event()
        self.listener: Callable[[TypeId, Event], None] | None = None

    def get(self, type_id: TypeId, place: Place) -> Entry | None:
        """The object as it is."""
        return self._shelves[type_id].entries.get(place)

    def all(self, type_id: TypeId) -> list[tuple[Place, Entry]]:
        """Every object of a type in the order of their names."""
        return sorted(self._shelves[type_id].entries.items(), key=lambda item: item[0])

    def next_revision(self) -> int:
        """The revision that the next `put` will have."""
        return self.revision + 1

    def put(self, type_id: TypeId, place: Place, obj: Json) -> Entry:
        """Store an object whose metadata says the next revision."""
        shelf = self._shelves[type_id]
        self.revision += 1
        entry = Entry(obj, self.revision)
        self._tell(type_id, Event(self.revision, shelf.entries.get(place), entry))
        shelf.entries[place] = entry
        return entry

    def remove(self, type_id: TypeId, place: Place, form: Json | None = None) -> Entry:
        """Take an object away; its last form (`form`, if it changed with the removal) at the removal's revision."""
        shelf = self._shelves[type_id]
        self.revision += 1
        before = shelf.entries.pop(place)
        last = form or before.obj
        metadata = {**_metadata(last), "resourceVersion": str(self.revision)}
        gone = Entry({**last, "metadata": metadata}, self.revision)
        self._tell(type_id, Event(self.revision, gone, None))
        return gone

    def after(self, type_id: TypeId, revision: int) -> list[Event]:
        """The writes after a revision. Raises StatusError 410 when they were compacted."""
        if revision < self.compacted:
            raise expired(f"too old resource version: {revision} ({self.compacted})")
        shelf = self._shelves[type_id]
        return shelf.events[bisect_right(shelf.revisions, revision) :]

    def compact(self) -> None:
        """Forget the history up to now, and with it the lists that are being read page by page."""
        self.compacted = self.revision
        for shelf in self._shelves.values():
            shelf.events.clear()
            shelf.revisions.clear()
        self._snapshots.clear()
        self.announce()

    def keep(self, snapshot: Snapshot) -> int:
        """Hold a list for its later pages; its number."""
        self._snapshot_ids += 1
        self._snapshots[self._snapshot_ids] = snapshot
        return self._snapshot_ids

    def kept(self, number: int) -> Snapshot:
        """A held list. Raises StatusError 410 when it was forgotten."""
        found = self._snapshots.get(number)
        if found is None:
            raise expired("The provided continue parameter is too old to display a consistent list result")
        return found

    async def wait(self, seconds: float) -> None:
        """Until something is written or compacted, or `seconds` have passed."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            pass

    def shelves(self) -> Iterator[TypeId]:
        """Types of which something was ever stored."""
        yield from self._shelves

    def _tell(self, type_id: TypeId, event: Event) -> None:
        shelf = self._shelves[type_id]
        if self.listener is not None:
            self.listener(type_id, event)
        shelf.events.append(event)
        shelf.revisions.append(event.revision)
        self.announce()

    def announce(self) -> None:
        """Wake everybody who waits."""
        self._changed.set()
        self._changed = asyncio.Event()


def _metadata(obj: Json) -> Json:
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    return metadata
