"""Slices by what makes them relevant, so that a node finds its own without a scan of the fleet."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from muster_dra.features import Features, Release
from muster_dra.objects.nodes import Node
from muster_dra.objects.slices import PoolId, ResourceSlice
from muster_dra.persistent import PersistentMap


class _Entry(NamedTuple):
    """A slice with its place in the input: the order decides whose slice count is believed (dra-semantics §2.3)."""

    number: int
    slice: ResourceSlice


_Entries = tuple[_Entry, ...]
_Key = str | tuple[str, str] | None
"""A node name, a label with its value, or None: to be asked for every node."""


class SliceIndex:
    """Immutable; `changed` gives a new one and shares what did not change."""

    __slots__ = ("_by_key", "_by_name", "_by_pool", "_features", "_next")

    def __init__(
        self,
        features: Features,
        by_name: PersistentMap[str, _Entries],
        by_pool: PersistentMap[PoolId, _Entries],
        by_key: PersistentMap[_Key, _Entries],
        next_number: int,
    ) -> None:
        self._features, self._by_name, self._by_pool, self._by_key = features, by_name, by_pool, by_key
        self._next = next_number

    @classmethod
    def build(cls, slices: Iterable[ResourceSlice], features: Features) -> "SliceIndex":
        """Two slices of one name both count, as they do upstream when somebody hands them in."""
        by_name: dict[str, list[_Entry]] = {}
        by_pool: dict[PoolId, list[_Entry]] = {}
        by_key: dict[_Key, list[_Entry]] = {}
        number = 0
        for slice_ in slices:
            entry = _Entry(number, slice_)
            number += 1
            by_name.setdefault(slice_.name, []).append(entry)
            by_pool.setdefault(slice_.pool, []).append(entry)
            for key in _keys(slice_, features):
                by_key.setdefault(key, []).append(entry)
        return cls(features, _frozen(by_name), _frozen(by_pool), _frozen(by_key), number)

    def candidates(self, node: Node) -> list[ResourceSlice]:
        """At least the slices that are relevant for the node, in input order."""
        keys: list[_Key] = [None, node.name, *node.labels.items()]
        found = [entries for key in keys if (entries := self._by_key.get(key, ()))]
        if len(found) == 1:  # a list under one key is in input order
            return [entry.slice for entry in found[0]]
        entries = {entry.number: entry.slice for entries in found for entry in entries}
        return [entries[number] for number in sorted(entries)]

    def of_pool(self, pool: PoolId) -> Sequence[ResourceSlice]:
        """All slices of the pool in the cluster, in input order."""
        return [entry.slice for entry in self._by_pool.get(pool, ())]

    def named(self, name: str) -> Sequence[ResourceSlice]:
        return [entry.slice for entry in self._by_name.get(name, ())]

    def slices(self) -> list[ResourceSlice]:
        """All slices in input order."""
        entries = (entry for _, found in self._by_name.items() for entry in found)
        return [entry.slice for entry in sorted(entries, key=lambda entry: entry.number)]

    def nodes_of(self, slice_: ResourceSlice) -> tuple[str, ...] | None:
        """The only nodes that can see a change of the slice; None: any node may."""
        names: set[str] = set()
        for member in (slice_, *self.of_pool(slice_.pool)):
            for key in _keys(member, self._features):
                if not isinstance(key, str):
                    return None
                names.add(key)
        return tuple(sorted(names))

    def changed(self, put: Iterable[ResourceSlice], gone: Iterable[str]) -> "SliceIndex":
        """With slices put in the place of those of their name, or behind all others; and without those named."""
        by_name: dict[str, _Entries] = {}
        by_pool: dict[PoolId, _Entries] = {}
        by_key: dict[_Key, _Entries] = {}
        number = self._next

        def drop(name: str) -> int | None:
            entries = by_name.get(name, self._by_name.get(name, ()))
            for entry in entries:
                pool = entry.slice.pool
                by_pool[pool] = _less(by_pool.get(pool, self._by_pool.get(pool, ())), entry)
                for key in _keys(entry.slice, self._features):
                    by_key[key] = _less(by_key.get(key, self._by_key.get(key, ())), entry)
            by_name[name] = ()
            return entries[0].number if entries else None

        for name in gone:
            drop(name)
        for slice_ in put:
            place = drop(slice_.name)
            entry = _Entry(number if place is None else place, slice_)
            number += place is None
            by_name[slice_.name] = (entry,)
            by_pool[slice_.pool] = _more(by_pool.get(slice_.pool, self._by_pool.get(slice_.pool, ())), entry)
            for key in _keys(slice_, self._features):
                by_key[key] = _more(by_key.get(key, self._by_key.get(key, ())), entry)
        return SliceIndex(
            self._features,
            _merged(self._by_name, by_name),
            _merged(self._by_pool, by_pool),
            _merged(self._by_key, by_key),
            number,
        )


def _keys(slice_: ResourceSlice, features: Features) -> set[_Key]:
    """Where a slice is filed. A selector goes under a label that it requires, one for each of its terms."""
    if slice_.holds_counters and features.release is Release.V1_36:
        return {None}
    place = slice_.place
    if place.node_name:
        return {place.node_name}
    if place.all_nodes:
        return {None}
    if place.selector is not None:
        keys: set[_Key] = set()
        if place.selector.defect() is not None:
            return {None}
        for term in place.selector.terms:
            required = [one for one in term.expressions if one.operator == "In"]
            if not required:
                return {None}
            keys.update((required[0].key, value) for value in required[0].values)
        return keys
    if slice_.per_device_nodes and all(device.place.node_name for device in slice_.devices):
        return {device.place.node_name for device in slice_.devices}
    return {None} if slice_.per_device_nodes else set()


def _less(entries: _Entries, entry: _Entry) -> _Entries:
    return tuple(other for other in entries if other is not entry)


def _more(entries: _Entries, entry: _Entry) -> _Entries:
    return tuple(sorted((*entries, entry), key=lambda each: each.number))


T = TypeVar("T")


def _frozen(found: dict[T, list[_Entry]]) -> PersistentMap[T, _Entries]:
    return PersistentMap.of((key, tuple(entries)) for key, entries in found.items())


def _merged(old: PersistentMap[T, _Entries], changes: dict[T, _Entries]) -> PersistentMap[T, _Entries]:
    return old.updated(
        ((key, entries) for key, entries in changes.items() if entries),
        (key for key, entries in changes.items() if not entries),
    )
