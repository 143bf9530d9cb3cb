"""`semver()` and its methods: semantic versions 2.0.0 as `blang/semver` reads them (dra-semantics §4.2)."""

import re
from dataclasses import dataclass
from functools import lru_cache

from muster_dra.cel.values import EvalError, Value, no_such_overload

_NUMBER = re.compile(r"0|[1-9][0-9]*", re.ASCII)
_IDENTIFIER = re.compile(r"[0-9A-Za-z-]+", re.ASCII)
_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_UINT_MAX = 2**64 - 1
_MOST_DIGITS = 20

Rank = tuple[tuple[int, int, str], ...]


@dataclass(frozen=True, slots=True)
class Semver:
    """A semantic version; `order` is what versions are compared by, build metadata not among it."""

    order: tuple[int, int, int, Rank]

    @property
    def text(self) -> str:
        """The version without build metadata."""
        major, minor, patch, rank = self.order
        pre = ".".join(str(number) if kind == 0 else text for kind, number, text in rank)
        return f"{major}.{minor}.{patch}" + (f"-{pre}" if rank != _RELEASE else "")

    @property
    def type_name(self) -> str:
        """The CEL name of the type."""
        return "kubernetes.Semver"

    def equals(self, other: Value) -> bool:
        """Equality without build metadata. Raises EvalError for another type."""
        if isinstance(other, Semver):
            return self.order == other.order
        raise no_such_overload()


_RELEASE: Rank = ((2, 0, ""),)  # after every pre-release


def _number(text: str) -> int | None:
    if len(text) > _MOST_DIGITS or not _NUMBER.fullmatch(text):
        return None
    number = int(text)
    return number if number <= _UINT_MAX else None


def _prerelease(text: str) -> Rank | None:
    ranks: list[tuple[int, int, str]] = []
    for part in text.split("."):
        if not _IDENTIFIER.fullmatch(part):
            return None
        if _DIGITS.fullmatch(part):
            number = _number(part)
            if number is None:
                return None
            ranks.append((0, number, ""))
        else:
            ranks.append((1, 0, part))
    return tuple(ranks)


@lru_cache(4096)
def read_semver(text: str) -> Semver | None:
    """The version, or None if the text is none."""
    parts = text.split(".", 2)
    if len(parts) != 3:
        return None
    major, minor = _number(parts[0]), _number(parts[1])
    rest, plus, build = parts[2].partition("+")
    if plus and not all(_IDENTIFIER.fullmatch(part) for part in build.split(".")):
        return None
    patch_text, dash, pre = rest.partition("-")
    patch = _number(patch_text)
    rank = _prerelease(pre) if dash else _RELEASE
    if major is None or minor is None or patch is None or rank is None:
        return None
    return Semver((major, minor, patch, rank))


def normalize(text: str) -> str | None:
    """The text without a leading `v` and leading zeros, missing parts filled with 0; None if that can't be done."""
    parts = text.removeprefix("v").split(".", 2)
    for at, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[at] = stripped if stripped[:1] and stripped[0] in "0123456789" else "0" + stripped
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            return None
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _read(text: Value, normalized: Value) -> Semver | None:
    if not isinstance(text, str) or not isinstance(normalized, bool):
        raise no_such_overload()
    if not normalized:
        return read_semver(text)
    plain = normalize(text)
    return None if plain is None else read_semver(plain)


def semver(text: Value, normalized: Value = False) -> Value:
    """`semver(text)`, `semver(text, normalize)`."""
    found = _read(text, normalized)
    if found is None:
        raise EvalError(f"invalid semantic version {text!r}")
    return found


def is_semver(text: Value, normalized: Value = False) -> Value:
    """`isSemver(text)`, `isSemver(text, normalize)`."""
    return _read(text, normalized) is not None


def _semver(value: Value) -> Semver:
    if isinstance(value, Semver):
        return value
    raise no_such_overload()


def compare_versions(left: Value, right: Value) -> int:
    """-1, 0 or 1."""
    a, b = _semver(left).order, _semver(right).order
    return (a > b) - (a < b)


def _as_int(number: int) -> int:
    return number - 2**64 if number > 2**63 - 1 else number  # upstream converts without a check


def major(value: Value) -> Value:
    """`v.major()`."""
    return _as_int(_semver(value).order[0])


def minor(value: Value) -> Value:
    """`v.minor()`."""
    return _as_int(_semver(value).order[1])


def patch(value: Value) -> Value:
    """`v.patch()`."""
    return _as_int(_semver(value).order[2])
