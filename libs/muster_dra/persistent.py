"""An immutable map whose changed copies cost a part of it, so that snapshots of a fleet can be kept and compared."""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

_CROWDED = 32
"""Entries per bucket beyond which there will be more buckets."""


class PersistentMap(Generic[K, V]):
    """Keys are spread over buckets by hash; an update copies the list of buckets and those it touches."""

    __slots__ = ("_buckets", "_size")

    def __init__(self, buckets: list[dict[K, V]], size: int) -> None:
        self._buckets, self._size = buckets, size

    @classmethod
    def of(cls, items: Iterable[tuple[K, V]]) -> "PersistentMap[K, V]":
        entries = dict(items)
        count = 1
        while len(entries) > count * _CROWDED // 2:
            count *= 2
        buckets: list[dict[K, V]] = [{} for _ in range(count)]
        for key, value in entries.items():
            buckets[hash(key) % count][key] = value
        return cls(buckets, len(entries))

    def get(self, key: K, default: D) -> V | D:
        buckets = self._buckets
        return buckets[hash(key) % len(buckets)].get(key, default)

    def updated(self, items: Iterable[tuple[K, V]], gone: Iterable[K] = ()) -> "PersistentMap[K, V]":
        """A copy with items put and keys removed; keys that were never there are ignored."""
        buckets, size, copied = list(self._buckets), self._size, set[int]()

        def own(key: K) -> dict[K, V]:
            index = hash(key) % len(buckets)
            if index not in copied:
                copied.add(index)
                buckets[index] = dict(buckets[index])
            return buckets[index]

        for key, value in items:
            bucket = own(key)
            size += key not in bucket
            bucket[key] = value
        for key in gone:
            bucket = own(key)
            size -= key in bucket
            bucket.pop(key, None)
        changed = PersistentMap(buckets, size)
        return PersistentMap.of(changed.items()) if size > len(buckets) * _CROWDED else changed

    def items(self) -> Iterator[tuple[K, V]]:
        """In no promised order: string hashes differ from process to process."""
        for bucket in self._buckets:
            yield from bucket.items()

    def __len__(self) -> int:
        return self._size
