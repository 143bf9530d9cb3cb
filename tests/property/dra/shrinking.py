"""A disagreement with everything removed that it does not need."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

Path = tuple[str | int, ...]
_KEPT = {"metadata", "name", "spec", "driver", "pool", "exactly", "deviceClassName", "devices", "cel", "expression"}


def shrunk(row: dict[str, Any], disagrees: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The smallest row that single removals lead to and that still disagrees."""
    progress = True
    while progress:
        progress = False
        for path in _removable(row):
            smaller = deepcopy(row)
            _remove(smaller, path)
            try:
                still = disagrees(smaller)
            except (ValueError, KeyError):
                still = False
            if still:
                row, progress = smaller, True
                break
    return row


def _removable(row: dict[str, Any]) -> list[Path]:
    found: list[Path] = []

    def walk(value: Any, path: Path) -> None:
        if isinstance(value, list):
            for index, item in enumerate(value):
                found.append((*path, index))
                walk(item, (*path, index))
        elif isinstance(value, dict):
            for key, item in value.items():
                if key not in _KEPT:
                    found.append((*path, key))
                walk(item, (*path, key))

    for part in ("nodes", "claims", "slices", "allocated", "taintRules"):
        walk(row.get(part, []), (part,))
    return sorted(found, key=len)


def _remove(row: Any, path: Path) -> None:
    for step in path[:-1]:
        row = row[step]
    del row[path[-1]]
