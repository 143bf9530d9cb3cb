"""Seeded chance by name: a draw depends on the seed and its name alone, never on the draws before it.

So a run from which one fault is taken away stays as alike as it can, which makes failures shrink.
"""

from hashlib import blake2b
from math import log

_UNIT = 2.0**-64


class Chance:
    """Draws for one seed."""

    def __init__(self, seed: int) -> None:
        self._key = seed.to_bytes(8, "big", signed=True)

    def unit(self, name: str) -> float:
        """In [0, 1)."""
        digest = blake2b(name.encode(), digest_size=8, key=self._key).digest()
        return int.from_bytes(digest, "big") * _UNIT

    def between(self, low: float, high: float, name: str) -> float:
        """Evenly spread."""
        return low + (high - low) * self.unit(name)

    def around(self, mean: float, name: str) -> float:
        """Exponentially spread: mostly short, at times long."""
        return -mean * log(1.0 - self.unit(name))

    def index(self, count: int, name: str) -> int:
        """One of 0 .. count - 1."""
        return int(self.unit(name) * count)
