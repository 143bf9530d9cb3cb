"""What a parser hands on, before anybody asked whether it is a Kubernetes object."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document, or an item of a list, then with the list's own kind and version. `value` is any JSON value."""

    line: int
    document: int
    value: object
    list_kind: str = ""
    list_version: str = ""


@dataclass(frozen=True, slots=True)
class Broken:
    """A document, or an item of one, that does not parse or breaks a limit; `value` is what was read of it."""

    line: int
    document: int
    field: str
    reason: str
    value: Mapping[str, object] | None = None
