"""Seeded chance: the same seed and names give the same draw on every machine and in every process."""

from collections.abc import Collection
from hashlib import sha256


def draw(seed: int, *names: str | int) -> float:
    """A number in [0, 1) that only the seed and the names decide."""
    return int.from_bytes(_digest(seed, names)[:7]) / 2**56


def draw_hex(seed: int, digits: int, *names: str | int, taken: Collection[str] = ()) -> str:
    """`digits` (at most 64) hexadecimal digits that only the seed and the names decide, none of `taken`."""
    round = 0
    while (drawn := _digest(seed, (*names, round)).hex()[:digits]) in taken:
        round += 1
    return drawn


def _digest(seed: int, names: tuple[str | int, ...]) -> bytes:
    text = "".join(f"{len(str(name))}:{name}" for name in names)
    return sha256(f"{seed}|{text}".encode()).digest()
