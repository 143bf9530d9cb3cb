"""Device names in little room: gpu-0 … gpu-3 instead of each by itself."""

import re
from collections.abc import Iterable, Mapping

_NUMBERED = re.compile(r"^(.*?)(\d+)$")
_SHORTEST_RUN = 3


def devices_line(devices: Mapping[str, Iterable[str]]) -> str:
    """Devices by driver, runs folded: `gpu.nvidia.com: gpu-0…3`."""
    return "  ".join(f"{driver}: {' '.join(folded(names))}" for driver, names in sorted(devices.items()))


def folded(names: Iterable[str]) -> list[str]:
    """Names in natural order; three or more whose numbers follow on one another become `gpu-0…3`."""
    ordered = sorted(names, key=_natural)
    out: list[str] = []
    start = 0
    while start < len(ordered):
        end = start
        while end + 1 < len(ordered) and _follows(ordered[end], ordered[end + 1]):
            end += 1
        if end - start + 1 >= _SHORTEST_RUN:
            out.append(f"{ordered[start]}…{_number(ordered[end])}")
        else:
            out += ordered[start : end + 1]
        start = end + 1
    return out


def _number(name: str) -> str:
    found = _NUMBERED.match(name)
    return found[2] if found else name


def _natural(name: str) -> tuple[str, int, str]:
    found = _NUMBERED.match(name)
    return (found[1], int(found[2]), name) if found else (name, -1, name)


def _follows(left: str, right: str) -> bool:
    (a, m, _), (b, n, _) = _natural(left), _natural(right)
    return a == b and m >= 0 and n == m + 1
